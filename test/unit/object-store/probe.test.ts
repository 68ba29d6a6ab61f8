/** The probe finds stores that ignore conditions, and leaves nothing behind. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { probeConditionalWrites } from '../../../src/object-store/probe.js'
import { createS3Store } from '../../../src/object-store/s3.js'
import type { Finished } from '../../support/files/temporary.js'
import { NEVER } from '../../support/storage/contract.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../support/storage/credentials.js'
import { type ModelFault, ModelStore } from '../../support/storage/model-store.js'
import {
  type S3Fault,
  type S3Request,
  type S3ServerOptions,
  startS3Server,
} from '../../support/storage/s3-server.js'

const open = async (finished: Finished, options: S3ServerOptions = {}) => {
  withEnvironment(finished, STORAGE_CREDENTIALS)
  const server = await startS3Server(finished, options)
  const { bucket, endpoint } = server
  const store = await createS3Store({ bucket, prefix: 'p', endpoint, region: null, pathStyle: true })
  finished(() => store.close())
  return { server, store }
}

const HOLD = { hold: true, problem: null }

describe('conditional writes', () => {
  test('hold in the model, and nothing stays', async () => {
    const model = new ModelStore()
    expect(await probeConditionalWrites(model.client(), NEVER)).toEqual(HOLD)
    expect(model.objects.size).toBe(0)
    expect(model.requests.every(({ key }) => key.startsWith('check/'))).toBe(true)
  })

  test('hold over HTTP', async ({ onTestFinished }) => {
    const { store, server } = await open(onTestFinished)
    expect(await probeConditionalWrites(store, NEVER)).toEqual(HOLD)
    expect(server.store.objects.size).toBe(0)
  })

  test('hold when the client repeats every put', async () => {
    const fault = ({ verb }: { verb: string }): ModelFault | null =>
      verb.startsWith('put') ? 'repeated' : null
    expect(await probeConditionalWrites(new ModelStore().client({ fault }), NEVER)).toEqual(HOLD)
  })

  const refusing = (header: string) => ({
    fault: ({ headers }: S3Request): S3Fault | null =>
      headers[header] === undefined ? null : { kind: 'refused', status: 412, code: 'PreconditionFailed' },
  })

  test.each([
    ['it ignores If-None-Match', { ignored: ['if-none-match'] }],
    ['it ignores If-Match', { ignored: ['if-match'] }],
    ['it refuses to create an object with If-None-Match', refusing('if-none-match')],
    ['it refuses to replace an object with If-Match', refusing('if-match')],
  ])('do not hold in a store of which the probe says: %s', async (expected, options) => {
    const { store, server } = await open(onTestFinished, options)
    const { hold, problem } = await probeConditionalWrites(store, NEVER)
    expect(hold).toBe(false)
    expect(problem).toContain(`s3://research/p: the store has no reliable conditional writes: ${expected}`)
    expect(server.store.objects.size).toBe(0)
  })

  test('an error of the store is not hidden by the deletion that fails too', async () => {
    const store = new ModelStore().client({
      fault: ({ verb }) => (verb === 'delete' ? 'unreachable' : 'refused'),
    })
    await expect(probeConditionalWrites(store, NEVER)).rejects.toThrow(/putIfAbsent .* refused \(403\)/)
  })
})
