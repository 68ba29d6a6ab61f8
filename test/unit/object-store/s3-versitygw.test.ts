/** The client of S3 keeps the contract of the port over a server that is not ours. */
import { describe, expect, test } from 'vitest'
import { createS3Store } from '../../../src/object-store/s3.js'
import { requireConditionalWrites } from '../../../src/storage/bucket/preconditions.js'
import type { Finished } from '../../support/files/temporary.js'
import { NEVER } from '../../support/storage/bucket.js'
import { keysOf, objectStoreContract, textOf } from '../../support/storage/contract.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../support/storage/credentials.js'
import { startVersitygw, VERSITYGW } from '../../support/storage/versitygw.js'
import { SLOW } from '../../support/suite/slow.js'

const open = async (finished: Finished, secret: string = STORAGE_CREDENTIALS.AWS_SECRET_ACCESS_KEY) => {
  withEnvironment(finished, { ...STORAGE_CREDENTIALS, AWS_SECRET_ACCESS_KEY: secret })
  const server = await startVersitygw(finished)
  const options = { ...server, prefix: 'field/work', region: null, pathStyle: true, attemptsMax: 3 }
  const store = await createS3Store(options)
  finished(async () => store[Symbol.asyncDispose]())
  return { server, store, options }
}

describe.skipIf(!SLOW || VERSITYGW === null)('the client over versitygw', () => {
  objectStoreContract({ open: async (finished) => (await open(finished)).store, writersAtOnce: 200 })

  test('its conditional writes hold', async ({ onTestFinished }) => {
    const { store } = await open(onTestFinished)
    await requireConditionalWrites(store, NEVER)
    expect(await keysOf(store, '')).toEqual([])
  })

  test('what was written outlives a SIGKILL of the server', async ({ onTestFinished }) => {
    const { server, store } = await open(onTestFinished)
    await store.putIfAbsent('a', Buffer.from('x'), NEVER)
    await server.kill()
    await expect(store.get('a', NEVER)).rejects.toThrow('cannot be reached (ECONNREFUSED)')
    await server.start()
    expect(await textOf(store, 'a')).toBe('x')
    expect(await store.putIfAbsent('a', Buffer.from('y'), NEVER)).toEqual({ kind: 'lost' })
  })

  test('a wrong secret and a missing bucket are named', async ({ onTestFinished }) => {
    const { store, options } = await open(onTestFinished, 'another-secret-than-that-of-the-server')
    await expect(store.get('a', NEVER)).rejects.toThrow('the credentials were refused')
    withEnvironment(onTestFinished, STORAGE_CREDENTIALS)
    const other = await createS3Store({ ...options, bucket: 'other' })
    await expect(other.get('a', NEVER)).rejects.toThrow('there is no such bucket')
  })
})
