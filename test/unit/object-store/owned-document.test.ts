import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { ObjectStoreError } from '../../../src/object-store/object-store.js'
import { putDocument, readDocument } from '../../../src/object-store/owned-document.js'
import { leaseSchema } from '../../../src/storage/bucket/documents.js'
import { NEVER } from '../../support/storage/bucket.js'
import { type ModelFault, type ModelRequest, ModelStore } from '../../support/storage/model-store.js'

const document = { token: 'ours', value: 1 }
const stored = (model: ModelStore) => JSON.parse(model.objects.get('a.json')?.body.toString() ?? 'null')

/** A store whose first requests have these faults. */
const faulty = (model: ModelStore, ...faults: readonly (ModelFault | null)[]) => {
  const left = [...faults]
  return model.client({ fault: () => left.shift() ?? null })
}

const put = (store: ReturnType<ModelStore['client']>, replaces: string | null = null) =>
  putDocument(store, 'a.json', document, replaces, NEVER)

test('a document is created, and replaced by its ETag', async () => {
  const model = new ModelStore()
  const store = model.client()
  const created = await put(store)
  expect(created).toEqual({ kind: 'written', etag: model.objects.get('a.json')?.etag })
  const next = { token: 'next', value: 2 }
  const etag = model.objects.get('a.json')?.etag ?? ''
  expect((await putDocument(store, 'a.json', next, etag, NEVER)).kind).toBe('written')
  expect(stored(model)).toEqual(next)
})

test.each<ModelFault>(['lost_answer', 'repeated'])('a put that happened counts (%s)', async (fault) => {
  const model = new ModelStore()
  expect((await put(faulty(model, fault))).kind).toBe('written')
  const etag = model.write('a.json', '{"token":"theirs"}')
  expect((await put(faulty(model, fault), etag)).kind).toBe('written')
  expect(stored(model)).toEqual(document)
})

test.each<ModelFault>(['refused', 'unreachable'])('a put is repeated after %s', async (fault) => {
  const model = new ModelStore()
  expect((await put(faulty(model, fault))).kind).toBe('written')
  const etag = model.write('a.json', '{"token":"theirs"}')
  expect((await put(faulty(model, fault), etag)).kind).toBe('written')
})

test('the put of somebody else wins, also after a lost answer', async () => {
  const model = new ModelStore()
  model.write('a.json', '{"token":"theirs"}')
  for (const store of [model.client(), faulty(model, 'lost_answer'), faulty(model, 'unreachable')]) {
    const created = await put(store)
    expect(created).toMatchObject({ kind: 'lost', existing: { etag: '"1"' } })
    expect(await put(store, '"0"')).toMatchObject({ kind: 'lost' })
  }
  expect(stored(model)).toEqual({ token: 'theirs' })
})

test('an object that was deleted is lost', async () => {
  expect(await put(new ModelStore().client(), '"1"')).toEqual({ kind: 'lost', existing: null })
})

test('a store that refuses every put ends with its own error', async () => {
  const model = new ModelStore()
  const store = model.client({ fault: ({ verb }) => (verb === 'get' ? null : 'refused') })
  await expect(put(store)).rejects.toThrow('refused (403)')
  expect(model.requests.filter(({ verb }) => verb === 'putIfAbsent')).toHaveLength(3)
})

test('an answer and its check that are both lost end with an error', async () => {
  await expect(put(faulty(new ModelStore(), 'lost_answer', 'unreachable'))).rejects.toThrow(ObjectStoreError)
})

test('a condition that holds but is denied again and again ends with an error', async () => {
  const model = new ModelStore()
  const store = { ...model.client(), putIfAbsent: async () => ({ kind: 'lost' as const }) }
  await expect(put(store)).rejects.toThrow(ObjectStoreError)
})

test('an abort is no lost answer', async () => {
  const model = new ModelStore()
  const abort = new AbortController()
  const seen: ModelRequest[] = []
  const store = model.client({
    fault: (request) => {
      seen.push(request)
      abort.abort(new StoppedError('stop'))
      return null
    },
  })
  await expect(putDocument(store, 'a.json', document, null, abort.signal)).rejects.toThrow(StoppedError)
  expect(seen).toHaveLength(1)
})

test('a damaged document, and one of a newer version, is an error that names it', async () => {
  const model = new ModelStore()
  const read = () => readDocument(model.client(), 'lease.json', leaseSchema, NEVER)
  expect(await read()).toBeNull()
  for (const text of ['', '{"format":1', '{"format":2}', '\u0000']) {
    model.write('lease.json', text)
    await expect(read()).rejects.toMatchObject({ code: 'bucket_damaged' })
    await expect(read()).rejects.toThrow('s3://model/test/lease.json')
  }
})
