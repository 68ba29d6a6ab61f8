/** A Delta table that is switched off: at every moment its log names only files that exist, or it is gone. */

import { beforeAll, expect, test } from 'vitest'
import { documentBody } from '../../../../src/object-store/owned-document.js'
import { commitDelta } from '../../../../src/publish/delta/commit.js'
import { listLog, nextNumber, readState } from '../../../../src/publish/delta/read-log.js'
import { dataKey } from '../../../../src/publish/parquet/write-version.js'
import { cleanUp } from '../../../../src/storage/bucket/clean-up.js'
import {
  databaseKey,
  manifestKey,
  NOTHING_PUBLISHED,
  type PointerContents,
} from '../../../../src/storage/bucket/documents.js'
import { readManifest } from '../../../../src/storage/bucket/restore.js'
import { type Database, openDatabase } from '../../../../src/warehouse/connection/database.js'
import { TEMPORARY_ROOT, temporaryDirectory } from '../../../support/files/temporary.js'
import { testLog } from '../../../support/log/test-log.js'
import { ALWAYS_HELD, manifestOf, NEVER, namedObject } from '../../../support/storage/bucket.js'
import { type ModelFault, type ModelRequest, ModelStore } from '../../../support/storage/model-store.js'
import { some } from '../../../support/suite/cases.js'
import { testClock } from '../../../support/time/test-clock.js'

const DAY_MS = 24 * 3_600_000
const RUN = '20260301T000000Z-0000ab'
const SURVEYS = 'data/surveys'

interface Night {
  /** Whether `publish` has `delta`. */
  readonly delta: boolean
  readonly tables?: readonly string[]
  /** Tables whose commit fails, so that nothing is cleaned up. */
  readonly behind?: readonly string[]
  readonly days?: number
}

/** Writes and reads checkpoints, and keeps nothing of them. */
let database: Database
beforeAll(async () => {
  database = await openDatabase(':memory:', { directories: [TEMPORARY_ROOT] })
  return () => database.close()
})

const trial = async () => {
  const clock = testClock()
  const model = new ModelStore({ nowMs: clock.nowMs })
  const scratch = await temporaryDirectory()
  const log = testLog()
  const decide: { fault: (request: ModelRequest) => ModelFault | null } = { fault: () => null }
  const store = model.client({ fault: (request) => decide.fault(request) })
  const reading = { store, database, scratch, signal: NEVER }
  let pointer: PointerContents = NOTHING_PUBLISHED

  /** Of each table, January never changes, and February changes in every version. */
  const filesOf = (table: string, version: number) =>
    [dataKey(`${table}/account=a b/created_month=2026-01`, 1, RUN, 'f'.repeat(64))].concat(
      dataKey(`${table}/account=a b/created_month=2026-02`, version, RUN, 'f'.repeat(64)),
    )

  const night = async ({ delta, tables = ['surveys'], behind = [], days = 1 }: Night) => {
    clock.advance(days * DAY_MS)
    const version = pointer.version + 1
    const copy = namedObject(databaseKey(version, RUN), 'database')
    const empty = manifestOf(version, copy)
    const manifest = {
      ...empty,
      tables: tables.map((name) => {
        const files = filesOf(name, version).map((key) => namedObject(key, key))
        return { ...manifestOf(version, copy, files).tables[0], name }
      }),
    } as typeof empty
    for (const { path } of manifest.tables.flatMap(({ files }) => files))
      if (!model.objects.has(path)) model.write(path, path)
    model.write(copy.key, 'database')
    const key = manifestKey(version, RUN)
    model.write(key, documentBody(manifest))
    const earlier = [pointer.manifest, ...pointer.earlier].filter((one) => one !== null).slice(0, 2)
    pointer = { ...pointer, version, manifest: key, database: copy.key, earlier }
    if (delta) {
      const followed = { ...manifest, tables: manifest.tables.filter(({ name }) => !behind.includes(name)) }
      const read = async (other: string) => {
        const found = await readManifest(store, other, NEVER)
        return typeof found === 'string' ? null : found
      }
      await commitDelta({ ...reading, manifest: followed, manifestKey: key, readManifest: read, clock, log })
      if (behind.length > 0) return
    }
    await sweep(delta ? tables : [])
  }

  const sweep = (followed: readonly string[]) =>
    cleanUp({
      ...{ store, lease: ALWAYS_HELD, pointer, log, signal: NEVER, formats: [] },
      followed: new Set(followed.map((name) => `data/${name}`)),
      readLog: (directory, files) => readState(reading, directory, files, nextNumber(files) - 1),
    })

  const nights = async (count: number, given: Night) => {
    for (let left = count; left > 0; left -= 1) {
      await night(given)
      for (const table of ['surveys', 'other']) expect(await missing(`data/${table}`)).toEqual([])
    }
  }

  /** The files that a reader of the log looks for in vain. */
  const missing = async (directory = SURVEYS) => {
    const files = await listLog(reading, directory)
    if (nextNumber(files) === 0) return []
    const state = await readState(reading, directory, files, nextNumber(files) - 1)
    return [...state.files.keys()].filter((path) => !model.objects.has(`${directory}/${decodeURI(path)}`))
  }
  const logOf = (directory = SURVEYS) =>
    [...model.objects.keys()].filter((key) => key.startsWith(`${directory}/_delta_log/`))
  return { model, log, decide, clock, night, nights, sweep, missing, logOf }
}

const lines = ({ lines: all }: ReturnType<typeof testLog>) =>
  all.map(({ level, message, ...rest }) => `${level} ${message} ${JSON.stringify(rest)}`)

test('a Delta table that is switched off stays for 30 days, and its log goes with a line before its files', async () => {
  const { nights, logOf, log, model } = await trial()
  await nights(12, { delta: true })
  await nights(1, { delta: false })
  await nights(4, { delta: false, days: 7 })
  expect(logOf().length).toBeGreaterThan(10)
  expect(lines(log)).toEqual([])
  await nights(1, { delta: false })
  expect(logOf()).toEqual([])
  expect(lines(log)).toEqual([expect.stringMatching(/^info the Delta logs of tables .*"data\/surveys"/)])
  expect(
    model.objects.has(`${SURVEYS}/account=a b/created_month=2026-02/v12-${RUN}-${'f'.repeat(16)}.parquet`),
  ).toBe(false)
  await nights(3, { delta: false })
  expect(lines(log)).toHaveLength(1)
})

test.each([
  ['before its log goes', 5, 14],
  ['after its log went', 10, 3],
])('a Delta table that is switched on again %s goes on rightly', async (_, off, on) => {
  const { nights, logOf } = await trial()
  await nights(5, { delta: true })
  await nights(off, { delta: false, days: 4 })
  await nights(on, { delta: true, days: 3 })
  expect(logOf()).toContain(`${SURVEYS}/_delta_log/${String(on === 3 ? 2 : 18).padStart(20, '0')}.json`)
})

test('the log of a table that no longer exists goes, and those of the other tables stay', async () => {
  const { nights, logOf, log } = await trial()
  await nights(3, { delta: true, tables: ['surveys', 'other'] })
  await nights(10, { delta: true, days: 4 })
  expect(logOf('data/other')).toEqual([])
  expect(logOf()).not.toEqual([])
  expect(lines(log)).toHaveLength(1)
})

test('a log that was behind for weeks goes at once, and the others stay for 30 days', async () => {
  const { nights, night, logOf } = await trial()
  const tables = ['surveys', 'other']
  await nights(3, { delta: true, tables })
  for (let left = 10; left > 0; left -= 1) await night({ delta: true, tables, behind: ['other'], days: 4 })
  await nights(1, { delta: false, tables })
  expect(logOf('data/other')).toEqual([])
  await nights(4, { delta: false, tables, days: 7 })
  expect(logOf()).not.toEqual([])
  await nights(2, { delta: false, tables })
  expect(logOf()).toEqual([])
})

test('without Parquet the logs go before all files', async () => {
  const { nights, logOf, model } = await trial()
  await nights(3, { delta: true })
  await nights(10, { delta: false, tables: [], days: 4 })
  expect([...model.objects.keys()].filter((key) => key.startsWith('data/'))).toEqual([])
  expect(logOf()).toEqual([])
})

/** Deletions before the kill. */
const KILLS = some([1, 10, 2, 3], 2)
test.each(KILLS)('a removal killed after %i requests is ended by the next run', async (kills) => {
  for (const delta of [true, false]) {
    const { nights, night, logOf, decide, missing } = await trial()
    await nights(12, { delta: true })
    let deletes = 0
    decide.fault = ({ verb, key }) => {
      if (verb !== 'delete' || !key.includes('_delta_log')) return null
      deletes += 1
      return deletes > kills ? 'unreachable' : null
    }
    await expect(night({ delta: false, days: 31 })).rejects.toThrow()
    expect(logOf()).not.toEqual([])
    decide.fault = () => null
    await night({ delta })
    expect(await missing()).toEqual([])
    if (delta) expect(logOf()).not.toEqual([])
    else expect(logOf()).toEqual([])
  }
})

test('a log whose files were removed by an earlier release, and files of others for it, go', async () => {
  const { nights, logOf, model } = await trial()
  await nights(2, { delta: true })
  const log = `${SURVEYS}/_delta_log/`
  for (const name of ['.00000000000000000001.crc', 'notes.txt', '']) model.write(`${log}${name}`, '')
  model.write(`${log}00000000000000000001.crc`, '')
  model.objects.delete(`${SURVEYS}/account=a b/created_month=2026-02/v2-${RUN}-${'f'.repeat(16)}.parquet`)
  await nights(1, { delta: false })
  expect(
    logOf()
      .map((key) => key.slice(log.length))
      .toSorted(),
  ).toEqual(['', '.00000000000000000001.crc', 'notes.txt'])
})

test("a person's own Delta table in the bucket stays, and stops nothing", async () => {
  const { nights, logOf, model, log } = await trial()
  for (const directory of ['data/mine', 'data'])
    model.write(`${directory}/_delta_log/00000000000000000000.json`, 'no commit of ours')
  await nights(2, { delta: true })
  await nights(10, { delta: false, days: 4 })
  for (const directory of ['data/mine', 'data']) expect(logOf(directory)).toHaveLength(1)
  expect(logOf()).toEqual([])
  expect(lines(log)).toHaveLength(1)
})

test.each([
  [
    'a commit is missing',
    (model: ModelStore) => void model.objects.delete(`${SURVEYS}/_delta_log/${'0'.repeat(20)}.json`),
  ],
  [
    'its last commit is no commit',
    (model: ModelStore) => {
      const last = [...model.objects.keys()]
        .filter((key) => key.startsWith(`${SURVEYS}/_delta_log/`))
        .toSorted()
        .at(-1)
      model.write(last ?? '', '{')
    },
  ],
])('a left log that cannot be read (%s) goes at once, and does not stop the clean-up', async (_, damage) => {
  const { model, log, nights, night, logOf } = await trial()
  await nights(3, { delta: true, tables: ['surveys', 'other'] })
  damage(model)
  // The other table is published for ever, so the last commit never grows old.
  await night({ delta: true, tables: ['other'] })
  expect(logOf()).toEqual([])
  expect(logOf('data/other')).not.toEqual([])
  expect(lines(log).join()).toContain('data/surveys')
})

test('a left log that cannot be reached now stays, and nothing is removed', async () => {
  const { decide, nights, night, logOf } = await trial()
  await nights(3, { delta: true, tables: ['surveys', 'other'] })
  const before = logOf()
  decide.fault = ({ verb, key }) =>
    verb === 'get' && key.startsWith(`${SURVEYS}/_delta_log/`) ? 'unreachable' : null
  await expect(night({ delta: true, tables: ['other'] })).rejects.toThrow('no answer')
  expect(logOf()).toEqual(before)
})
