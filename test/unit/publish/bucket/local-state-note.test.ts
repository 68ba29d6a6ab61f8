import { readdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { NOTHING_PUBLISHED, type PointerContents } from '../../../../src/publish/bucket/documents.js'
import { localAction, readNote, wasEmptied, writeNote } from '../../../../src/publish/bucket/local-state.js'
import { bucketNoteFile } from '../../../../src/warehouse/lifecycle/files.js'
import { temporaryDirectory } from '../../../support/files/temporary.js'

const storage = 's3://model/test'
const published: PointerContents = { ...NOTHING_PUBLISHED, version: 1, manifest: 'versions/1.json' }
const note = (state: string, address = storage) => ({
  format: 1 as const,
  storage: address,
  state,
  holder: 'a',
})
const action = (noted: ReturnType<typeof note> | null, hasWorkDatabase: boolean, pointer = published) =>
  localAction({ note: noted, hasWorkDatabase, address: storage, directory: '/w', pointer })

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
})

test('an empty directory is filled, whatever its note says', () => {
  for (const noted of [null, note('versions/1.json'), note('x', 's3://other')]) {
    expect(action(noted, false)).toBe('restore')
    expect(action(noted, false, NOTHING_PUBLISHED)).toBe('start')
  }
})

test('a local warehouse moves into an empty bucket, never over another warehouse', () => {
  expect(action(null, true, NOTHING_PUBLISHED)).toBe('adopt')
  expect(() => action(null, true)).toThrow(expect.objectContaining({ code: 'other_bucket' }))
  expect(() => action(note('versions/1.json', 's3://other'), true)).toThrow(
    expect.objectContaining({ code: 'other_bucket' }),
  )
  expect(() => action(note('nothing', 's3://other'), true, NOTHING_PUBLISHED)).toThrow(
    expect.objectContaining({ code: 'other_bucket' }),
  )
})

test('a bucket that was emptied is filled again from the local state', () => {
  expect(action(note('versions/1.json'), true, NOTHING_PUBLISHED)).toBe('adopt')
  expect(wasEmptied(note('versions/1.json'), NOTHING_PUBLISHED)).toBe(true)
  expect(wasEmptied(note('nothing'), NOTHING_PUBLISHED)).toBe(false)
  expect(wasEmptied(note('versions/0.json'), published)).toBe(false)
  expect(wasEmptied(null, NOTHING_PUBLISHED)).toBe(false)
})
