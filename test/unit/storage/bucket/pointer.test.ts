import { describe, expect, test } from 'vitest'
import { stateOf } from '../../../../src/storage/bucket/documents.js'
import { fencePointer, LostPublishError, readPointer } from '../../../../src/storage/bucket/pointer.js'
import { ALWAYS_HELD, NEVER } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'

const fence = (store: ReturnType<ModelStore['client']>, lease = ALWAYS_HELD) =>
  fencePointer({ store, lease, signal: NEVER })

const version = (number: number, run: string) => ({
  version: number,
  manifest: `versions/${number}-${run}.json`,
  database: `duckdb/${number}-${run}.duckdb`,
  run,
  published_at: '2026-03-01T00:00:00.000Z',
})

const snapshot = (number: number) => ({ key: `snapshots/${number}.duckdb`, bytes: 1, sha256: 'a' })

/** A client whose puts have these faults, one after the other. */
const faulty = (model: ModelStore, faults: (ModelFault | null)[]) =>
  model.client({ fault: ({ verb }) => (verb === 'get' || verb === 'list' ? null : (faults.shift() ?? null)) })

describe('the pointer', () => {
  test('of a new bucket names nothing', async () => {
    const model = new ModelStore()
    expect(await readPointer(model.client(), NEVER)).toBeNull()
    const pointer = await fence(model.client())
    expect(pointer.contents).toMatchObject({ version: 0, manifest: null, snapshot: null })
    expect(stateOf(pointer.contents)).toBe('nothing')
    expect(await readPointer(model.client(), NEVER)).toEqual(pointer.contents)
  })

  test.each([
    ['a version of no number', { version: 1.5 }],
    ['a version below 0', { version: -1 }],
    ['a version beyond all numbers', { version: 2 ** 53, manifest: `versions/${2 ** 53}-a.json` }],
    ['a version of ten digits', { version: 1_000_000_000, manifest: 'versions/1000000000-a.json' }],
    ['a jump', { version: 900_000, manifest: 'versions/000002-a.json' }],
    ['a version without its manifest', { version: 2, manifest: null }],
  ])('with %s is damaged, and nothing is written', async (_, wrong) => {
    const model = new ModelStore()
    const pointer = await fence(model.client())
    await pointer.commitVersion(version(1, 'a'), NEVER)
    const before = JSON.parse(model.objects.get('current.json')?.body.toString() ?? '{}')
    model.write('current.json', JSON.stringify({ ...before, ...wrong }))
    const written = model.objects.get('current.json')?.body
    await expect(readPointer(model.client(), NEVER)).rejects.toMatchObject({ code: 'bucket_damaged' })
    await expect(fence(model.client())).rejects.toMatchObject({ code: 'bucket_damaged' })
    expect(model.objects.get('current.json')?.body).toBe(written)
  })

  test('names the version that was committed, two earlier ones, and no snapshot', async () => {
    const model = new ModelStore()
    const pointer = await fence(model.client())
    await pointer.commitSnapshot(snapshot(1), NEVER)
    expect(stateOf(pointer.contents)).toBe('snapshots/1.duckdb')
    for (const number of [1, 2, 3, 4]) await pointer.commitVersion(version(number, 'a'), NEVER)
    expect(await readPointer(model.client(), NEVER)).toEqual({
      ...{ version: 4, manifest: 'versions/4-a.json', database: 'duckdb/4-a.duckdb' },
      earlier: ['versions/3-a.json', 'versions/2-a.json'],
      ...{ run: 'a', published_at: '2026-03-01T00:00:00.000Z', snapshot: null },
      shown: [4, 3, 2].map((number) => ({
        manifest: `versions/${number}-a.json`,
        published_at: '2026-03-01T00:00:00.000Z',
      })),
    })
  })

  test('shows the newest three versions, and the last of each day for a month', async () => {
    const model = new ModelStore()
    const pointer = await fence(model.client())
    for (let number = 1; number <= 80; number += 1) {
      const published_at = new Date(Date.UTC(2026, 2, 1, 12 * number)).toISOString()
      await pointer.commitVersion({ ...version(number, 'a'), published_at }, NEVER)
    }
    const shown = (await readPointer(model.client(), NEVER))?.shown.map(({ manifest }) =>
      Number(/\d+/.exec(manifest)),
    )
    expect(shown?.slice(0, 6)).toEqual([80, 79, 78, 77, 75, 73])
    expect(shown).toHaveLength(32)
  })

  test('of an older program shows what it publishes from now on', async () => {
    const model = new ModelStore()
    await (await fence(model.client())).commitVersion(version(1, 'a'), NEVER)
    const { shown, ...older } = JSON.parse(String(model.objects.get('current.json')?.body))
    model.write('current.json', JSON.stringify(older))
    const pointer = await fence(model.client())
    await pointer.commitVersion(version(2, 'b'), NEVER)
    expect(pointer.contents.shown.map(({ manifest }) => manifest)).toEqual(['versions/2-b.json'])
    expect(shown).toHaveLength(1)
  })

  test('with a fence of another run refuses the writer before it', async () => {
    const model = new ModelStore()
    const first = await fence(model.client())
    const second = await fence(model.client())
    await expect(first.commitVersion(version(1, 'a'), NEVER)).rejects.toThrow(LostPublishError)
    await expect(first.commitSnapshot(snapshot(1), NEVER)).rejects.toThrow(LostPublishError)
    await second.commitVersion(version(1, 'b'), NEVER)
    expect((await readPointer(model.client(), NEVER))?.run).toBe('b')
  })

  test('that was deleted refuses the writer', async () => {
    const model = new ModelStore()
    const pointer = await fence(model.client())
    model.objects.clear()
    await expect(pointer.commitVersion(version(1, 'a'), NEVER)).rejects.toThrow(LostPublishError)
    expect(model.objects.size).toBe(0)
  })

  test('that is missing where there are versions is an error, never an empty bucket', async () => {
    const model = new ModelStore()
    for (const key of ['versions/', 'versions/notes.txt']) model.write(key, '')
    expect(await readPointer(model.client(), NEVER)).toBeNull()
    model.write('versions/000001-20260301T000000Z-0000ab.json', '{}')
    await expect(fence(model.client())).rejects.toMatchObject({ code: 'bucket_damaged' })
    await expect(readPointer(model.client(), NEVER)).rejects.toMatchObject({ code: 'bucket_damaged' })
    expect(model.objects.has('current.json')).toBe(false)
  })

  test('that is damaged is an error and stays as it is', async () => {
    const model = new ModelStore()
    model.write('current.json', '{"format":')
    await expect(fence(model.client())).rejects.toMatchObject({ code: 'bucket_damaged' })
    expect(model.objects.get('current.json')?.etag).toBe('"1"')
  })

  test('is not written without the lease', async () => {
    const model = new ModelStore()
    let isHeld = false
    const lease = {
      assertHeld: () => {
        if (!isHeld) throw new Error('lost')
      },
    }
    await expect(fence(model.client(), lease)).rejects.toThrow('lost')
    expect(model.objects.size).toBe(0)
    isHeld = true
    const pointer = await fence(model.client(), lease)
    isHeld = false
    await expect(pointer.commitVersion(version(1, 'a'), NEVER)).rejects.toThrow('lost')
    expect((await readPointer(model.client(), NEVER))?.version).toBe(0)
  })
})

describe('a lost answer', () => {
  test.each<ModelFault>(['lost_answer', 'repeated', 'unreachable'])('to any put: %s', async (fault) => {
    const model = new ModelStore()
    const pointer = await fence(faulty(model, [fault, null, fault, null, fault]))
    await pointer.commitVersion(version(1, 'a'), NEVER)
    await pointer.commitSnapshot(snapshot(2), NEVER)
    expect(await readPointer(model.client(), NEVER)).toMatchObject({ version: 1, snapshot: snapshot(2) })
  })

  test('whose check fails as well leaves the outcome open: the next commit starts from what is stored', async () => {
    const model = new ModelStore()
    const faults: (ModelFault | null)[] = []
    const pointer = await fence(model.client({ fault: () => faults.shift() ?? null }))
    faults.push('lost_answer', 'unreachable')
    await expect(pointer.commitVersion(version(1, 'a'), NEVER)).rejects.toThrow('no answer')
    await pointer.commitVersion(version(1, 'a'), NEVER)
    expect(pointer.contents.version).toBe(1)
    faults.push('lost_answer', 'unreachable')
    await expect(pointer.commitSnapshot(snapshot(2), NEVER)).rejects.toThrow('no answer')
    await pointer.commitVersion(version(2, 'a'), NEVER)
    const committed = { version: 2, earlier: ['versions/1-a.json'], snapshot: null }
    expect(await readPointer(model.client(), NEVER)).toMatchObject(committed)
  })

  test('is a commit even if another run fenced before the check', async () => {
    const model = new ModelStore()
    let fenced: Promise<unknown> | null = null
    const store = model.client({
      fault: async ({ verb }) => {
        if (fenced === null) return null
        if (verb === 'putIfMatch') return 'lost_answer'
        await fence(model.client())
        return null
      },
    })
    const pointer = await fence(store)
    fenced = Promise.resolve()
    await pointer.commitVersion(version(1, 'a'), NEVER)
    expect(await readPointer(model.client(), NEVER)).toMatchObject({ version: 1, run: 'a' })
    fenced = null
    await expect(pointer.commitVersion(version(2, 'a'), NEVER)).rejects.toThrow(LostPublishError)
  })
})
