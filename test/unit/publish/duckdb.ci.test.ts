/** Publishing `fieldwork.duckdb`: what readers see while it is replaced, and afterwards. */
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import type { Database } from '../../../src/warehouse/connection/database.js'
import { scribbleBlock } from '../../support/files/damage.js'
import { openElsewhere } from '../../support/process/other-process.js'
import { minute } from '../../support/time/instants.js'
import { openReader, query } from '../../support/warehouse/duckdb.js'
import { list, survey } from '../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../support/warehouse/warehouse.js'
import {
  comments,
  publish,
  published,
  publishedCopy,
  publishedOnce,
  shrunken,
  titles,
  withSteps,
} from './duckdb-shared.js'

/** A copy after which something happens to its file. */
const afterCopy = ({ database }: TestWarehouse, then: (copy: string) => unknown): Partial<Database> => ({
  copyTo: async (target, signal) => {
    await database.copyTo(target, signal)
    await then(target)
  },
})

/** Nothing half-made is left. */
const hiddenIn = async ({ directory }: TestWarehouse) =>
  (await readdir(directory)).filter((name) => name.startsWith('.'))

/** The same before its first publish. */
const filled = async (): Promise<TestWarehouse> => {
  const warehouse = await publishedOnce()
  await rm(published(warehouse))
  return warehouse
}

/** What DuckDB 0.10 to 1.1 write. */
const READ_BY_0_10 = 64n

/** Bytes 12 to 19 of a DuckDB file, behind a checksum and `DUCK`. */
const storageVersion = async (file: string): Promise<bigint> => {
  const header = (await readFile(file)).subarray(0, 20)
  expect(header.subarray(8, 12).toString()).toBe('DUCK')
  return header.readBigUInt64LE(12)
}

/** A work database in the newest format, as a DuckDB with another default would create it. */
const inNewestFormat = async (): Promise<TestWarehouse> => {
  const directory = await publishedCopy()
  const [work, newest] = ['work.duckdb', 'newest.duckdb'].map((name) => join(directory, name))
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run(`ATTACH '${work}' AS old; ATTACH '${newest}' AS newest (STORAGE_VERSION 'latest')`)
  await connection.run('COPY FROM DATABASE old TO newest')
  connection.closeSync()
  instance.closeSync()
  await rename(String(newest), String(work))
  expect(await storageVersion(String(work))).toBeGreaterThan(READ_BY_0_10)
  return testWarehouse(directory)
}

describe('the published file', () => {
  test('holds the committed state with its bookkeeping, and the report has its path and size', async () => {
    const warehouse = await filled()
    const report = await publish(warehouse)
    const { size: bytes } = await stat(published(warehouse))
    expect(report).toEqual({ format: 'duckdb', path: published(warehouse), bytes })
    const overview = 'SELECT id, interviews_count, sample_sources_count FROM survey_overview'
    const row = { id: 1, interviews_count: 5, sample_sources_count: 1 }
    expect(await query(report.path, overview)).toEqual([row])
    expect(await query(report.path, 'SELECT account, updated_since FROM _sync.cursors')).toEqual([
      { account: 'acme', updated_since: '2026-02-28T23:55:00Z' },
    ])
    expect(await storageVersion(report.path)).toBe(READ_BY_0_10)
  })

  test('is alone, without a log, temporary or spill file, and only it is write-protected', async () => {
    const warehouse = await publishedOnce()
    await publish(warehouse)
    const names = (await readdir(warehouse.directory)).filter((name) => !name.startsWith('work.'))
    expect(names).toEqual(['fieldwork.duckdb'])
    const files = [published(warehouse), join(warehouse.directory, 'work.duckdb')]
    const modes = await Promise.all(files.map(async (file) => (await stat(file)).mode))
    expect(modes.map((mode) => (mode & 0o222) !== 0)).toEqual([false, true])
  })

  test('is replaced, not written to: a reader of the old file keeps the old state', async () => {
    const warehouse = await publishedOnce()
    const before = (await stat(published(warehouse))).ino
    using reader = await openReader(published(warehouse))
    await list(warehouse.account, [survey(2)], minute(3))
    await publish(warehouse)
    expect((await stat(published(warehouse))).ino).not.toBe(before)
    expect(await titles(published(warehouse))).toEqual([{ title: 'Survey 1' }, { title: 'Survey 2' }])
    expect(await reader.query('SELECT title FROM surveys')).toEqual([{ title: 'Survey 1' }])
  })
})

test('the next publish removes the files that a killed one left behind', async () => {
  const warehouse = await publishedOnce()
  for (const name of ['.fieldwork.duckdb.4711.publishing', '.fieldwork.duckdb.4711.publishing.wal'])
    await writeFile(join(warehouse.directory, name), 'half a copy')
  await writeFile(join(warehouse.directory, '.fieldwork.duckdb.notes'), 'of another program')
  await publish(warehouse)
  expect(await hiddenIn(warehouse)).toEqual(['.fieldwork.duckdb.notes'])
})

describe('a work database that has lost most of its rows', () => {
  test('is published as a compacted copy with every row, view and comment', async () => {
    const warehouse = await shrunken()
    const { bytes, path } = await publish(warehouse)
    const work = await stat(join(warehouse.directory, 'work.duckdb'))
    expect(work.size).toBeGreaterThan(2 * bytes)
    expect(await storageVersion(path)).toBe(READ_BY_0_10)
    expect(await query(path, comments)).toEqual(await warehouse.rows(comments))
    expect(await query(path, 'SELECT title, interviews_count FROM survey_overview ORDER BY id')).toEqual([
      { title: 'Survey 1', interviews_count: 5 },
      { title: 'Survey 2', interviews_count: null },
    ])
  })
})

test('a directory in the place of the file prevents the publish, and nothing is harmed', async () => {
  const warehouse = await filled()
  await mkdir(published(warehouse))
  await writeFile(join(published(warehouse), 'precious'), 'data')
  await expect(publish(warehouse)).rejects.toMatchObject({
    code: 'warehouse_unusable',
    exitCode: 7,
    message: expect.stringContaining(`cannot publish ${published(warehouse)}`),
  })
  expect(await readFile(join(published(warehouse), 'precious'), 'utf8')).toBe('data')
  expect(await hiddenIn(warehouse)).toEqual([])
  expect(await warehouse.rows('SELECT title FROM surveys')).toEqual([{ title: 'Survey 1' }])
})

test('a work database in a newer format is published in the one that every DuckDB since 0.10 opens', async () => {
  const warehouse = await inNewestFormat()
  const { path } = await publish(warehouse)
  expect(await storageVersion(path)).toBe(READ_BY_0_10)
  expect(await titles(path)).toEqual([{ title: 'Survey 1' }])
})

/** A query that takes days. */
const ENDLESS = 'SELECT count(*) AS id FROM range(1_000_000_000_000) t(i) WHERE hash(i) = 7'

/** The blocks of a DuckDB file follow its headers. */
const HEADERS_BYTES = 12_288
const BLOCK_BYTES = 262_144

test('a copy that differs from the work database is not published, and the next publish is intact', async () => {
  /** Writes into every block, because some blocks are free. */
  const write = async (file: string, bytes: Buffer) => {
    const content = await readFile(file)
    for (let block = HEADERS_BYTES; block < content.length; block += BLOCK_BYTES) bytes.copy(content, block)
    await writeFile(file, content)
  }
  const lastBlock = async (file: string) => (await stat(file)).size - BLOCK_BYTES
  const harms: Readonly<Record<string, (copy: string) => Promise<void>>> = {
    'by a byte of each block': (copy) => write(copy, Buffer.from([7])),
    'by blocks of zeros': (copy) => write(copy, Buffer.alloc(BLOCK_BYTES)),
    'because its last block is missing': async (copy) => truncate(copy, await lastBlock(copy)),
    'because it ends within a block': async (copy) => truncate(copy, (await lastBlock(copy)) + 1_000),
  }
  const warehouse = await publishedOnce()
  const before = await readFile(published(warehouse))
  for (const [why, harm] of Object.entries(harms)) {
    const torn = withSteps(warehouse, afterCopy(warehouse, harm))
    await expect(publish(torn), why).rejects.toMatchObject({ exitCode: 7 })
    expect((await readFile(published(warehouse))).equals(before), why).toBe(true)
    expect(await hiddenIn(warehouse), why).toEqual([])
  }
  await list(warehouse.account, [survey(2)], minute(3))
  await publish(warehouse)
  expect(await titles(published(warehouse))).toEqual([{ title: 'Survey 1' }, { title: 'Survey 2' }])
})

test('damage of the work database in a block that the run does not read is not published', async () => {
  const warehouse = await publishedOnce()
  const before = await readFile(published(warehouse))
  const file = join(warehouse.directory, 'work.duckdb')
  const [segment] = await warehouse.rows(
    "SELECT block_id FROM pragma_storage_info('survey_progress_history') WHERE persistent",
  )
  await warehouse.database.close()
  await scribbleBlock(file, Number(segment?.block_id))
  const damaged = await testWarehouse(warehouse.directory)
  const message = expect.stringContaining('damaged')
  await expect(publish(damaged)).rejects.toMatchObject({ exitCode: 7, message })
  expect((await readFile(published(warehouse))).equals(before)).toBe(true)
})

test('a block that DuckDB does not use is no damage', async () => {
  const warehouse = await publishedOnce()
  const longer = afterCopy(warehouse, (copy) => appendFile(copy, Buffer.alloc(BLOCK_BYTES)))
  await publish(withSteps(warehouse, longer))
  expect(await titles(published(warehouse))).toEqual([{ title: 'Survey 1' }])
})

describe('a publish that a signal stops', () => {
  const stopped = new StoppedError('stopped by SIGTERM')

  interface Stop {
    readonly when: string
    /** Replaces the view that the proof reads. */
    readonly overview?: string
    /** Either steps of the database that stop the publish, or a promise that stops it at the right moment. */
    readonly at: (warehouse: TestWarehouse, stop: () => void) => Partial<Database> | Promise<void>
  }

  const STOPS: readonly Stop[] = [
    { when: 'before it begins', at: async (_, stop) => stop() },
    {
      when: 'during the copy of the file',
      at: ({ database }, stop) => ({
        copyTo: (target, signal) => {
          const copied = database.copyTo(target, signal)
          stop()
          return copied
        },
      }),
    },
    { when: 'before the check of the copy', at: afterCopy },
    {
      when: 'during an endless query of the proof',
      overview: ENDLESS,
      at: (warehouse, stop) => afterCopy(warehouse, async () => void setTimeout(stop, 100)),
    },
  ]

  test('ends at once, readers keep the previous file, and nothing is left behind', async () => {
    const warehouse = await publishedOnce()
    const before = await readFile(published(warehouse))
    await list(warehouse.account, [survey(2)], minute(3))
    for (const { when, overview = 'SELECT id FROM surveys', at } of STOPS) {
      await warehouse.run(`CREATE OR REPLACE VIEW survey_overview AS ${overview}`)
      const controller = new AbortController()
      const stopping = at(warehouse, () => controller.abort(stopped))
      const given = withSteps(warehouse, stopping instanceof Promise ? {} : stopping)
      await expect(publish(given, controller.signal), when).rejects.toBe(stopped)
      await stopping
      expect((await readFile(published(warehouse))).equals(before), when).toBe(true)
      expect(await hiddenIn(warehouse), when).toEqual([])
      // We still hold the lock, which the first closed descriptor of the file would release.
      if (when !== STOPS[1]?.when) continue
      const { told } = await openElsewhere(warehouse.directory, 'leave')
      expect(told).toMatchObject({ code: 'warehouse_is_held' })
    }
    await warehouse.run('CREATE OR REPLACE VIEW survey_overview AS SELECT id FROM surveys')
    await publish(warehouse)
    expect(await titles(published(warehouse))).toEqual([{ title: 'Survey 1' }, { title: 'Survey 2' }])
  })
})
