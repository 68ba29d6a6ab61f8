/** The objects at fixed keys: whoever holds the lease replaces them, whatever happens to answers and to other writers. */
import { describe, expect, test } from 'vitest'
import { ObjectStoreError } from '../../../../src/object-store/object-store.js'
import { NOTHING_PUBLISHED } from '../../../../src/storage/bucket/documents.js'
import { catalogOf, replaceObject } from '../../../../src/storage/bucket/follow-pointer.js'
import { ALWAYS_HELD, manifestOf, NEVER, namedObject } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'

const KEY = 'fieldwork.duckdb'
const COPY = { copyOf: 'duckdb/1', bytes: 3 }

const storeWith = (faults: (ModelFault | null)[] = []) => {
  const model = new ModelStore()
  model.write(COPY.copyOf, 'new')
  const store = model.client({ fault: ({ verb }) => (/^put/.test(verb) ? (faults.shift() ?? null) : null) })
  return { model, store, shown: () => model.objects.get(KEY)?.body.toString() }
}

describe.each([
  ['bytes', Buffer.from('new')],
  ['a copy', COPY],
])('%s', (_, body) => {
  test.each<[string, ModelFault[]]>([
    ['without a fault', []],
    ['after a lost answer', ['lost_answer']],
    ['after a repeated request', ['repeated']],
    ['after a request that did not arrive', ['unreachable']],
  ])('replace an object, and make it, %s', async (__, faults) => {
    for (const before of ['old', null]) {
      const { model, store, shown } = storeWith([...faults])
      if (before !== null) model.write(KEY, before)
      await replaceObject({ store, lease: ALWAYS_HELD, signal: NEVER }, KEY, body)
      expect(shown()).toBe('new')
    }
  })

  test('of a paused run do not replace what a later run wrote', async () => {
    const { model, shown } = storeWith()
    model.write(KEY, 'old')
    let isHeld = true
    const lease = {
      assertHeld: () => {
        if (!isHeld) throw new Error('the lease is lost')
      },
    }
    const paused = model.client({
      fault: ({ verb }) => {
        if (verb !== 'putIfMatch' || !isHeld) return null
        isHeld = false
        model.write(KEY, 'of a later run')
        return null
      },
    })
    await expect(replaceObject({ store: paused, lease, signal: NEVER }, KEY, body)).rejects.toThrow('is lost')
    expect(shown()).toBe('of a later run')
  })
})

test('a late put of the run before does not end the replacement', async () => {
  const { model, shown } = storeWith()
  model.write(KEY, 'old')
  let late = 1
  const store = model.client({
    fault: ({ verb }) => {
      if (verb === 'putIfMatch' && late-- > 0) model.write(KEY, 'of the run before')
      return null
    },
  })
  await replaceObject({ store, lease: ALWAYS_HELD, signal: NEVER }, KEY, COPY)
  expect(shown()).toBe('new')
  late = Number.POSITIVE_INFINITY
  const endless = replaceObject({ store, lease: ALWAYS_HELD, signal: NEVER }, KEY, COPY)
  await expect(endless).rejects.toThrow(ObjectStoreError)
})

test('a catalog has the versions that the pointer shows, and is nothing without the newest', () => {
  const pointer = {
    ...{ ...NOTHING_PUBLISHED, version: 3, manifest: 'c' },
    shown: ['c', 'a'].map((manifest) => ({ manifest, published_at: '2026-03-01T00:00:00.000Z' })),
  }
  const file = namedObject('data/surveys/one.parquet', 'text')
  const { add, rows } = catalogOf(pointer)
  add('a', manifestOf(1, file, [file]))
  add('b', manifestOf(2, file, [file]))
  expect(rows).toThrow('c was damaged or deleted')
  add('c', manifestOf(3, file, [file]))
  expect(
    rows()
      .of('snapshot')
      .map(({ snapshot_id }) => snapshot_id),
  ).toEqual([1, 3])
  const withoutParquet = catalogOf(pointer)
  withoutParquet.add('a', { ...manifestOf(1, file), tables: [] })
  withoutParquet.add('c', manifestOf(3, file, [file]))
  expect(withoutParquet.rows().of('snapshot')).toHaveLength(1)
})
