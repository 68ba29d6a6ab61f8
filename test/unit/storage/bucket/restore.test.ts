import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { documentBody } from '../../../../src/object-store/owned-document.js'
import { NOTHING_PUBLISHED, type PointerContents } from '../../../../src/storage/bucket/documents.js'
import { localAction, prepareLocal, readNote, writeNote } from '../../../../src/storage/bucket/restore.js'
import { bucketNoteFile } from '../../../../src/warehouse/lifecycle/files.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { manifestOf, NEVER, namedObject } from '../../../support/storage/bucket.js'
import { type ModelFault, ModelStore } from '../../../support/storage/model-store.js'

/** A bucket with the versions 1 to 3 and a snapshot, each with a database whose text is its name. */
const trial = async () => {
  const directory = await temporaryDirectory()
  const model = new ModelStore()
  const log = testLog()
  const store = (key: string, text: string) => {
    model.write(key, text)
    return namedObject(key, text)
  }
  for (const version of [1, 2, 3]) {
    const database = store(`duckdb/${version}`, `version ${version}`)
    model.write(`versions/${version}`, documentBody(manifestOf(version, database)))
  }
  const pointer: PointerContents = {
    ...NOTHING_PUBLISHED,
    version: 3,
    manifest: 'versions/3',
    database: 'duckdb/3',
    earlier: ['versions/2', 'versions/1'],
  }
  const workDatabase = join(directory, 'work.duckdb')
  const prepare = (given: PointerContents = pointer, fault: ModelFault | null = null) => {
    const client = model.client({ fault: () => fault })
    return prepareLocal({ store: client, pointer: given, directory, log, signal: NEVER })
  }
  const local = () => readFile(workDatabase, 'utf8')
  return { directory, model, log, pointer, workDatabase, prepare, local, store }
}

test('an empty directory gets the newest version, and is kept the next time', async () => {
  const { prepare, local, directory, model, log } = await trial()
  expect(await prepare()).toEqual({ action: 'restore', state: 'versions/3', ledgersOf: null })
  expect(await local()).toBe('version 3')
  expect((await readdir(directory)).toSorted()).toEqual(['bucket.json', 'work.duckdb'])
  const { length } = model.requests
  expect(await prepare()).toMatchObject({ action: 'keep', state: 'versions/3' })
  expect(model.requests).toHaveLength(length)
  expect(log.lines).toEqual([])
})

test('a restore removes what a killed one left behind', async () => {
  const { prepare, directory } = await trial()
  await writeFile(join(directory, '.work.duckdb.4711.publishing'), 'half a download')
  await prepare()
  expect((await readdir(directory)).toSorted()).toEqual(['bucket.json', 'work.duckdb'])
})

test('a snapshot is newer than the version', async () => {
  const { prepare, local, pointer, store } = await trial()
  const snapshot = store('snapshots/4', 'snapshot')
  expect((await prepare({ ...pointer, snapshot })).state).toBe('snapshots/4')
  expect(await local()).toBe('snapshot')
})

test('an older work database is replaced, with its log', async () => {
  const { prepare, local, directory, workDatabase } = await trial()
  await writeFile(workDatabase, 'old')
  await writeFile(`${workDatabase}.wal`, 'old')
  await writeNote(directory, { storage: 's3://model/test', state: 'versions/2', holder: 'a' })
  expect(await prepare()).toEqual({ action: 'restore', state: 'versions/3', ledgersOf: 'a' })
  expect(await local()).toBe('version 3')
  expect((await readdir(directory)).toSorted()).toEqual(['bucket.json', 'work.duckdb'])
  // The ledgers are those of the old holder until they were handed over.
  expect((await readNote(directory))?.holder).toBe('a')
})

test('an empty bucket leaves the local work database, and an emptied one says so', async () => {
  const { prepare, local, directory, workDatabase, log } = await trial()
  expect(await prepare(NOTHING_PUBLISHED)).toMatchObject({ action: 'start', state: 'nothing' })
  await writeFile(workDatabase, 'mine')
  expect(await prepare(NOTHING_PUBLISHED)).toMatchObject({ action: 'keep' })
  expect(log.lines).toEqual([])
  await writeNote(directory, { storage: 's3://model/test', state: 'versions/3', holder: 'a' })
  expect(await prepare(NOTHING_PUBLISHED)).toMatchObject({ action: 'adopt', state: 'nothing' })
  expect(await local()).toBe('mine')
  expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringMatching(/emptied/) }])
})

test('a kill while the work database is replaced leads to another restore', async () => {
  const { prepare, local, directory, workDatabase } = await trial()
  await writeFile(workDatabase, 'half way')
  await writeNote(directory, { storage: 's3://model/test', state: 'replacing', holder: 'a' })
  await writeFile(join(directory, `.work.duckdb.${process.pid}.publishing`), 'leftover')
  expect(await prepare()).toMatchObject({ action: 'restore' })
  expect(await local()).toBe('version 3')
})

test.each([
  ['missing', (model: ModelStore) => model.objects.delete('duckdb/3')],
  ['truncated', (model: ModelStore) => model.write('duckdb/3', 'vers')],
  ['damaged', (model: ModelStore) => model.write('duckdb/3', 'version X')],
  ['without a manifest', (model: ModelStore) => model.objects.delete('versions/3')],
  ['with a damaged manifest', (model: ModelStore) => model.write('versions/3', '{"format":1')],
])('a version that is %s is replaced by the one before, with a warning', async (_, damage) => {
  const { prepare, local, model, log, directory } = await trial()
  damage(model)
  expect((await prepare()).state).toBe('versions/2')
  expect(await local()).toBe('version 2')
  expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'warn'])
  // The next run tries the newest version again: the note names what was restored.
  expect((await readNote(directory))?.state).toBe('versions/2')
  expect((await prepare()).action).toBe('restore')
})

test('without any usable copy nothing is replaced', async () => {
  const { prepare, local, model, directory, workDatabase } = await trial()
  await writeFile(workDatabase, 'old')
  await writeNote(directory, { storage: 's3://model/test', state: 'versions/0', holder: 'a' })
  for (const version of [1, 2, 3]) model.objects.delete(`duckdb/${version}`)
  await expect(prepare()).rejects.toMatchObject({ code: 'bucket_damaged' })
  expect(await local()).toBe('old')
  expect((await readdir(directory)).toSorted()).toEqual(['bucket.json', 'work.duckdb'])
})

test.each<ModelFault>(['unreachable', 'refused'])('a store that is %s is no damage', async (fault) => {
  const { prepare, pointer, directory, log } = await trial()
  await expect(prepare(pointer, fault)).rejects.toThrow('versions/3')
  expect(await readdir(directory)).toEqual([])
  expect(log.lines).toEqual([])
})

test('the warehouse of another bucket is left alone', async () => {
  const { prepare, local, directory, workDatabase } = await trial()
  await writeFile(workDatabase, 'mine')
  await expect(prepare()).rejects.toThrow('a warehouse of its own')
  await writeNote(directory, { storage: 's3://other', state: 'versions/3', holder: 'a' })
  await expect(prepare()).rejects.toThrow('s3://other')
  expect(await local()).toBe('mine')
  expect(await readFile(bucketNoteFile(directory), 'utf8')).toMatch('s3://other')
})

const storage = 's3://model/test'
const published: PointerContents = { ...NOTHING_PUBLISHED, version: 1, manifest: 'versions/1.json' }
const note = (state: string, address = storage) =>
  ({ format: 1, storage: address, state, holder: 'a' }) as const
const action = (noted: ReturnType<typeof note> | null, hasWorkDatabase: boolean, pointer = published) =>
  localAction({ address: storage }, pointer, '/w', noted, hasWorkDatabase)

test('a note is written as a whole, and read again', async () => {
  const directory = await temporaryDirectory()
  expect(await readNote(directory)).toBeNull()
  await writeNote(directory, note('a'))
  await writeNote(directory, note('b'))
  expect(await readNote(directory)).toEqual(note('b'))
  expect(await readdir(directory)).toEqual(['bucket.json'])
  await writeFile(bucketNoteFile(directory), '{"format":1')
  expect(await readNote(directory)).toBeNull()
})

test('a work database is kept only if it is derived from the state of the bucket', () => {
  expect(action(note('versions/1.json'), true)).toBe('keep')
  expect(action(note('versions/0.json'), true)).toBe('restore')
  expect(action(note('nothing'), true)).toBe('restore')
  const snapshot = { key: 'snapshots/1', bytes: 1, sha256: 'a' }
  expect(action(note('versions/1.json'), true, { ...published, snapshot })).toBe('restore')
  expect(action(note('snapshots/1'), true, { ...published, snapshot })).toBe('keep')
  expect(action(note('nothing'), true, NOTHING_PUBLISHED)).toBe('keep')
  expect(action(note('versions/1.json'), true, NOTHING_PUBLISHED)).toBe('adopt')
})

test('an empty directory is filled, whatever its note says', () => {
  for (const noted of [null, note('versions/1.json'), note('x', 's3://other')]) {
    expect(action(noted, false)).toBe('restore')
    expect(action(noted, false, NOTHING_PUBLISHED)).toBe('start')
  }
})

test('a local warehouse moves into an empty bucket, never over another warehouse', () => {
  expect(action(null, true, NOTHING_PUBLISHED)).toBe('adopt')
  const refused = expect.objectContaining({ code: 'other_bucket' })
  expect(() => action(null, true)).toThrow(refused)
  expect(() => action(note('versions/1.json', 's3://other'), true)).toThrow(refused)
  expect(() => action(note('nothing', 's3://other'), true, NOTHING_PUBLISHED)).toThrow(refused)
})
