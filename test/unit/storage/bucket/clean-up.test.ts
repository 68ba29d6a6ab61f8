import { expect, test } from 'vitest'
import type { PublishFormat } from '../../../../src/model/publish-formats.js'
import type { ObjectStore } from '../../../../src/object-store/object-store.js'
import { documentBody } from '../../../../src/object-store/owned-document.js'
import { dataKey } from '../../../../src/publish/parquet/write-version.js'
import { cleanUp } from '../../../../src/storage/bucket/clean-up.js'
import {
  databaseKey,
  manifestKey,
  NOTHING_PUBLISHED,
  type PointerContents,
  snapshotKey,
} from '../../../../src/storage/bucket/documents.js'
import { testLog } from '../../../support/log/test-log.js'
import { ALWAYS_HELD, LOST_LEASE, manifestOf, NEVER, namedObject } from '../../../support/storage/bucket.js'
import { ModelStore } from '../../../support/storage/model-store.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const RUN = '20260301T000000Z-0000ab'
/** A run whose objects nothing names. */
const KILLED = '20260301T000000Z-dead00'
const manifest = (version: number, run = RUN) => manifestKey(version, run)
const database = (version: number, run = RUN) => databaseKey(version, run)
const data = (version: number, run = RUN) =>
  dataKey('surveys/account=a/created_month=2026-03', version, run, 'f'.repeat(64))
const ALWAYS = data(0)
const ORPHAN = data(1, KILLED)

/** A bucket that published one version a day for `days` days; the file `ALWAYS` is in each of them. */
const trial = (days: number) => {
  let nowMs = 0
  const model = new ModelStore({ nowMs: () => nowMs })
  const log = testLog()
  const always = namedObject(ALWAYS, 'always')
  model.write(always.key, 'always')
  const manifests: string[] = []
  for (let version = 1; version <= days; version += 1) {
    const daily = namedObject(data(version), 'daily')
    const copy = namedObject(database(version), 'database')
    for (const { key } of [daily, copy]) model.write(key, 'text')
    manifests.unshift(manifest(version))
    model.write(manifest(version), documentBody(manifestOf(version, copy, [always, daily])))
    if (version < days) nowMs += DAY_MS
  }
  const pointer: PointerContents = {
    ...NOTHING_PUBLISHED,
    version: days,
    manifest: manifests[0] ?? null,
    database: database(days),
    earlier: manifests.slice(1, 3),
  }
  const sweep = (
    given = pointer,
    store: ObjectStore = model.client(),
    lease = ALWAYS_HELD,
    formats: readonly PublishFormat[] = [],
  ) =>
    cleanUp({
      ...{ store, lease, pointer: given, log, signal: NEVER, formats, followed: new Set() },
      readLog: (directory) => Promise.reject(new Error(`${directory} has a Delta log`)),
    })
  const pass = (ms: number) => {
    nowMs += ms
  }
  const keys = () => [...model.objects.keys()].toSorted()
  return { model, log, pointer, sweep, pass, keys }
}

test('versions of 30 days stay with their files, three of them with their database', async () => {
  const { sweep, model, keys } = trial(40)
  expect(await sweep()).toBe(10 + 10 + 37)
  expect(keys().filter((key) => key.startsWith('versions/'))).toHaveLength(30)
  expect(keys().filter((key) => key.startsWith('duckdb/'))).toEqual([38, 39, 40].map((day) => database(day)))
  expect(model.objects.has(ALWAYS)).toBe(true)
  expect(model.objects.has(data(11))).toBe(true)
  expect(model.objects.has(data(10))).toBe(false)
  expect(await sweep()).toBe(0)
})

test('after a year without a publish the newest three versions are whole', async () => {
  const { sweep, pass, keys } = trial(10)
  pass(365 * DAY_MS)
  await sweep()
  expect(keys()).toEqual(
    [ALWAYS, ...[10, 8, 9].flatMap((day) => [data(day), database(day), manifest(day)])].toSorted(),
  )
})

test('orphans stay for two days', async () => {
  const { sweep, model, pass } = trial(3)
  const orphans = [manifest(4, KILLED), data(4, KILLED), database(4, KILLED), snapshotKey(4, KILLED, 1)]
  for (const key of orphans.slice(1)) model.write(key, 'text')
  model.write(manifest(4, KILLED), documentBody(manifestOf(4, namedObject(database(4, KILLED), 'text'))))
  pass(48 * HOUR_MS - 1)
  expect(await sweep()).toBe(0)
  pass(1)
  // The manifest that was never published is as young as a version that is kept.
  expect(await sweep()).toBe(3)
  pass(30 * DAY_MS)
  await sweep()
  expect(orphans.filter((key) => model.objects.has(key))).toEqual([])
})

test('versions that were never published do not count among the newest three', async () => {
  const { sweep, model, pass, keys } = trial(3)
  for (const run of ['b', 'c', 'd'].map((digit) => `20260301T000000Z-${digit.repeat(6)}`))
    model.write(manifest(3, run), documentBody(manifestOf(3, namedObject(database(3, run), 'text'))))
  pass(100 * DAY_MS)
  expect(await sweep()).toBe(3)
  expect(keys().filter((key) => key.startsWith('duckdb/'))).toHaveLength(3)
})

test('the snapshot that the pointer names stays, however old, and other prefixes are not touched', async () => {
  const { sweep, model, pointer, pass } = trial(1)
  const [unnamed, named] = [snapshotKey(2, RUN, 1), snapshotKey(2, RUN, 2)]
  const others = ['current.json', 'lease.json', 'ledger/a', 'x']
  for (const key of [...others, unnamed, named]) model.write(key, 'text')
  pass(365 * DAY_MS)
  await sweep({ ...pointer, snapshot: namedObject(named, 'text') })
  expect(model.objects.has(unnamed)).toBe(false)
  for (const key of [...others, named]) expect(model.objects.has(key)).toBe(true)
})

test('what no run wrote is no version, stays for ever and stops no clean-up', async () => {
  const { sweep, model, pass, log } = trial(3)
  const folders = ['versions/', 'data/', 'data/surveys/', 'duckdb/', 'snapshots/']
  const copies = [`${manifest(1)}.bak`, `${snapshotKey(1, RUN, 1)}.old`, 'duckdb/copy of mine.duckdb']
  const notes = ['versions/notes.txt', 'versions/readme.json', 'data/surveys/notes.parquet']
  const foreign = [...folders, ...copies, ...notes, manifest(1).replace('versions/', 'versions/old/')]
  for (const key of foreign) model.write(key, '')
  model.write(ORPHAN, 'text')
  pass(365 * DAY_MS)
  expect(await sweep()).toBe(1)
  for (const key of foreign) expect(model.objects.has(key)).toBe(true)
  expect(log.lines).toEqual([])
})

test('an object of unknown age stays', async () => {
  const { sweep, model, pass, pointer } = trial(1)
  model.write(ORPHAN, 'text')
  pass(365 * DAY_MS)
  const client = model.client()
  const store: ObjectStore = {
    ...client,
    list: async function* (prefix, signal) {
      for await (const object of client.list(prefix, signal)) yield { ...object, ageMs: null }
    },
  }
  expect(await sweep(pointer, store)).toBe(0)
  expect(await sweep()).toBe(1)
})

test.each([
  ['the current manifest is missing', (model: ModelStore) => model.objects.delete(manifest(3))],
  ['the current manifest is damaged', (model: ModelStore) => model.write(manifest(3), '{')],
  ['a kept manifest is damaged', (model: ModelStore) => model.write(manifest(1), '')],
])('nothing is removed if %s', async (_, damage) => {
  const { sweep, model, pass, log } = trial(3)
  model.write(ORPHAN, 'text')
  pass(50 * HOUR_MS)
  damage(model)
  expect(await sweep()).toBe(0)
  expect(model.objects.has(ORPHAN)).toBe(true)
  const message = expect.stringMatching(/nothing was cleaned up/)
  expect(log.lines).toMatchObject([{ level: 'warn', message }])
})

test('an earlier manifest that was deleted does not stop the clean-up', async () => {
  const { sweep, model, pass } = trial(3)
  model.objects.delete(manifest(1))
  pass(50 * HOUR_MS)
  expect(await sweep()).toBe(2)
  expect(model.objects.has(data(1))).toBe(false)
})

test('the address of a format that is no longer published goes after two days, and others stay', async () => {
  const { sweep, model, pass, pointer } = trial(3)
  for (const key of ['fieldwork.duckdb', 'fieldwork.ducklake', 'fieldwork.notes']) model.write(key, 'text')
  const swept = async () => await sweep(pointer, model.client(), ALWAYS_HELD, ['parquet', 'ducklake'])
  pass(47 * HOUR_MS)
  await swept()
  expect(model.objects.has('fieldwork.duckdb')).toBe(true)
  pass(HOUR_MS)
  await swept()
  expect([...model.objects.keys()].filter((key) => key.startsWith('fieldwork.'))).toEqual([
    'fieldwork.ducklake',
    'fieldwork.notes',
  ])
})

test('nothing is removed without the lease', async () => {
  const { sweep, model, keys, pointer } = trial(60)
  const before = keys()
  await expect(sweep(pointer, model.client(), LOST_LEASE)).rejects.toThrow('lost')
  expect(keys()).toEqual(before)
})

test('manifests are removed before their files', async () => {
  const { sweep, model } = trial(60)
  await sweep()
  const deletes = model.requests.filter(({ verb }) => verb === 'delete')
  expect(deletes.map(({ key }) => /versions\//.test(key))).toEqual([true, false])
})
