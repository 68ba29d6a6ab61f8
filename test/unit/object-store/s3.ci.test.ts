/** The client of S3 keeps the contract of the port, over a server of our own, and so does the model of tests and simulation. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../../src/object-store/open.js'
import { NEVER } from '../../support/storage/bucket.js'
import { objectStoreContract } from '../../support/storage/contract.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../support/storage/credentials.js'
import { ModelStore } from '../../support/storage/model-store.js'
import { startS3Server } from '../../support/storage/s3-server.js'

test.each([
  ['the settings', { region: 'eu-west-1', environment: 'eu-central-1' }, 'eu-west-1'],
  ['the environment', { region: null, environment: 'eu-central-1' }, 'eu-central-1'],
  ['AWS, if nobody gives one for an endpoint', { region: null, environment: undefined }, 'us-east-1'],
])('requests are signed for the region of %s', async (_, { region, environment }, expected) => {
  withEnvironment(onTestFinished, { ...STORAGE_CREDENTIALS, AWS_REGION: environment })
  const { endpoint, bucket, requests } = await startS3Server(onTestFinished)
  const store = await openStore({ bucket, prefix: '', endpoint, region, pathStyle: true, azure: null })
  onTestFinished(() => store[Symbol.asyncDispose]())
  expect(store.address).toBe('s3://research')
  await store.putIfAbsent('a', Buffer.from('x'), NEVER)
  expect(requests.map(({ key }) => key)).toEqual(['a'])
  expect(requests[0]?.headers.authorization).toContain(`/${expected}/s3/aws4_request`)
})

test('the age of an object follows the clock of the store, and is never negative', async () => {
  withEnvironment(onTestFinished, STORAGE_CREDENTIALS)
  let nowMs = Date.parse('2001-01-01T00:00:00Z')
  const model = new ModelStore({ nowMs: () => nowMs })
  const { endpoint, bucket } = await startS3Server(onTestFinished, { store: model })
  const store = await openStore({ bucket, prefix: '', endpoint, region: null, pathStyle: true, azure: null })
  onTestFinished(() => store[Symbol.asyncDispose]())
  await store.putIfAbsent('a', Buffer.from('x'), NEVER)
  const ages = async () => {
    const listed: (number | null)[] = []
    for await (const { ageMs } of store.list('', NEVER)) listed.push(ageMs)
    return [(await store.get('a', NEVER))?.ageMs, ...listed]
  }
  expect(await ages()).toEqual([0, 0])
  nowMs += 3_600_000
  expect(await ages()).toEqual([3_600_000, 3_600_000])
  nowMs -= 7_200_000
  expect(await ages()).toEqual([0, 0])
})

describe('the model', () => {
  objectStoreContract({ open: async () => new ModelStore().client(), writersAtOnce: 50 })
})

describe('the client over HTTP', () => {
  let model = new ModelStore()
  objectStoreContract({
    open: async (finished) => {
      withEnvironment(finished, STORAGE_CREDENTIALS)
      model = new ModelStore()
      const { endpoint, bucket } = await startS3Server(finished, { store: model })
      const options = { bucket, prefix: 'field/work', endpoint, region: null, pathStyle: true, azure: null }
      const store = await openStore(options)
      finished(async () => store[Symbol.asyncDispose]())
      return store
    },
    write: (key, body) => model.write(`field/work/${key}`, body),
    writersAtOnce: 20,
  })
})
