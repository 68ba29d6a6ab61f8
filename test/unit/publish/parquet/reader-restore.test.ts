/** Rebuilding a lost work database from published Parquet files. */
import { chmod, cp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createDuckdbPublisher } from '../../../../src/publish/duckdb.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { holdOpen } from '../../../support/process/other-process.js'
import { SLOW, slow } from '../../../support/suite/slow.js'
import { minute } from '../../../support/time/instants.js'
import {
  currentOf,
  manifestOf,
  parquetOf,
  publishedCopies,
  publishParquet,
  tablesThatDiffer,
} from '../../../support/warehouse/parquet.js'
import { bundle, list, listingPage, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { plannedSurveys } from '../../../support/warehouse/run-dependencies.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

/** One survey that was read, one that is queued, an interrupted listing, and quarantined rows, one of invalid JSON. */
const publishedOnce = publishedCopies(async ({ account }) => {
  await account.startRun({ runId: RUN, command: 'sync', version: '1.2.3', startedAt: minute(0) })
  await list(account, [survey(1, { _extra: '{"a":"\\ud800"}' }), survey(2)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], RUN)
  const position = { kind: 'incremental', updatedSince: minute(-5), ceiling: minute(2) } as const
  await account.startListing({ ...position, startedAt: minute(2) })
  const ofNobody = { surveyId: null, sampleSourceId: null, rowId: null }
  const rejection = { ...ofNobody, endpoint: 'surveys', problem: 'id: is missing' } as const
  const rejections = ['{"lone":"\\ud800"}', '{"fine":1}'].map((raw) => ({ ...rejection, raw }))
  await account.commitListingPages([
    listingPage([survey(1, { title: 'waits' })], minute(2), {
      ...{ kind: 'incremental', rejections, nextPage: 2, totalCount: 9 },
    }),
  ])
})

/** Removes the work database, and opens the warehouse again. */
const lose = async ({ database, directory }: TestWarehouse): Promise<TestWarehouse> => {
  await database.close()
  await rm(join(directory, 'work.duckdb'))
  return testWarehouse(directory)
}

const night = async (warehouse: TestWarehouse, number: number): Promise<void> => {
  const started = { command: 'sync', version: '1.2.3', startedAt: minute(number * 10) } as const
  await warehouse.account.startRun({ runId: `run-${number}`, ...started })
  await list(warehouse.account, [survey(2, { title: `night ${number}` })], minute(number * 10))
}

const publishDuckdb = ({ database, directory, log }: TestWarehouse) =>
  createDuckdbPublisher(database, directory, createLacks(log)).publish(new AbortController().signal)

const titles = async (warehouse: TestWarehouse) =>
  (await warehouse.rows('SELECT title FROM surveys WHERE id = 2')).map(({ title }) => title)

const warnings = ({ log }: TestWarehouse) => log.lines.filter(({ level }) => level === 'warn')

const described = `SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
  WHERE database_name = current_database() AND NOT internal ORDER BY ALL`

describe('a work database rebuilt from a version', () => {
  slow(
    'has every row, the queue, the position of the listing, comments, constraints and views, also if a newer version is damaged',
    async () => {
      const before = await publishedOnce()
      const columns = await before.rows(described)
      const [position, queue] = [await before.account.position(), await plannedSurveys(before.account)]
      expect(position.listings.incremental ?? position.listings.full).not.toBe(null)
      expect(queue.filter(({ task }) => task !== null)).not.toEqual([])
      await night(before, 2)
      await publishParquet(before)
      const changed = 'surveys/account=acme/created_month=2025-12/data.parquet'
      await writeFile(join(currentOf(before), changed), 'garbage')
      const rebuilt = await lose(before)
      const intact = join(parquetOf(rebuilt), 'versions', '000001')
      expect(warnings(rebuilt)).toMatchObject([
        { fields: { problem: expect.stringContaining(`000002/${changed} differs from its manifest`) } },
        {
          fields: { file: intact },
          message: 'the work database was lost and is rebuilt from published Parquet files',
        },
      ])
      expect(await tablesThatDiffer(rebuilt, intact)).toEqual([])
      expect(
        await rebuilt.rows('SELECT json_valid(raw) AS valid FROM _sync.rejected_rows ORDER BY 1'),
      ).toEqual([{ valid: false }, { valid: true }])
      expect(await rebuilt.rows('SELECT title FROM _sync.pending_surveys')).toEqual([{ title: 'waits' }])
      expect(await rebuilt.rows(described)).toEqual(columns)
      expect(await rebuilt.account.position()).toEqual(position)
      expect(await plannedSurveys(rebuilt.account)).toEqual(queue)
      expect(await rebuilt.rows('SELECT id, interviews_count FROM survey_overview ORDER BY id')).toEqual([
        { id: 1, interviews_count: 5 },
        { id: 2, interviews_count: null },
      ])
    },
  )

  test.skipIf(!SLOW)('gets the tables and columns that an older schema lacks', async () => {
    const before = await publishedOnce()
    const manifest = await manifestOf(currentOf(before))
    const tables = manifest.tables
      .filter(({ name }) => name !== 'drift_events')
      .map((table) =>
        table.name === 'surveys'
          ? { ...table, columns: table.columns.filter(({ name }) => name !== 'project_id') }
          : table,
      )
    await writeFile(join(currentOf(before), 'manifest.json'), JSON.stringify({ ...manifest, tables }))
    const columns = (await before.rows(described)).map(({ column_name }) => column_name)
    const rebuilt = await lose(before)
    const found = (await rebuilt.rows(described)).map(({ column_name }) => column_name)
    expect(found.toSorted()).toEqual(columns.toSorted())
    expect(await titles(rebuilt)).toEqual(['Survey 2'])
  })
})

test('when no version is intact, exits 7 and harms nothing', async () => {
  const warehouse = await publishedOnce()
  const versions = join(parquetOf(warehouse), 'versions')
  await cp(join(versions, '000001'), join(versions, '000002'), { recursive: true })
  await writeFile(join(versions, '000002', '_sync', 'runs', 'data.parquet'), 'garbage')
  await rm(join(versions, '000001', 'manifest.json'))
  await expect(lose(warehouse)).rejects.toMatchObject({
    code: 'warehouse_unusable',
    exitCode: 7,
    message: expect.stringMatching(
      /cannot be rebuilt\. .*manifest\.json cannot be read\. .*000002.* differs from its manifest\. Restore the published state/,
    ),
  })
  expect((await readdir(versions)).toSorted()).toEqual(['000001', '000002'])
  if (!SLOW) return
  await rm(parquetOf(warehouse), { recursive: true })
  expect(await titles(await testWarehouse(warehouse.directory))).toEqual([])
})

describe('when fieldwork.duckdb is published too', () => {
  test.skipIf(!SLOW)('the readable one is used when the other cannot be read', async () => {
    const warehouse = await publishedOnce()
    await writeFile(join(warehouse.directory, 'fieldwork.duckdb'), 'garbage')
    const rebuilt = await lose(warehouse)
    expect(await titles(rebuilt)).toEqual(['Survey 2'])
    expect(warnings(rebuilt).map(({ fields }) => fields)).toMatchObject([
      { file: join(rebuilt.directory, 'fieldwork.duckdb') },
      { file: join(parquetOf(rebuilt), 'versions', '000001') },
    ])
  })
})

describe('a published state that cannot be read now may be the newest: exit 7, and nothing is replaced', () => {
  /** The newest state is in `fieldwork.duckdb`, an older one in a version of Parquet files; the work database is lost. */
  const lostWithBoth = async () => {
    const warehouse = await publishedOnce()
    await night(warehouse, 2)
    await publishDuckdb(warehouse)
    await warehouse.database.close()
    await rm(join(warehouse.directory, 'work.duckdb'))
    return warehouse.directory
  }

  test('another process has the published file open for writing, and the message names it; then the newer of both is used', async () => {
    const directory = await lostWithBoth()
    const [published, versions] = [join(directory, 'fieldwork.duckdb'), join(directory, 'parquet')]
    const before = await readFile(published)
    // The published file may be write-protected.
    await chmod(published, 0o644)
    const other = await holdOpen(published)
    const refused = {
      code: 'warehouse_unusable',
      exitCode: 7,
      message: expect.stringMatching(
        new RegExp(
          `^the work database is lost and cannot be rebuilt from ${published} now: process ${other.pid} \\(.*node.*\\) has it open for writing\\. Nothing was replaced\\. Close it there`,
        ),
      ),
    }
    await expect(testWarehouse(directory)).rejects.toMatchObject(refused)
    // The same when it is the only published state.
    await rename(versions, `${versions}.away`)
    await expect(testWarehouse(directory)).rejects.toMatchObject(refused)
    await rename(`${versions}.away`, versions)
    await other.end()
    expect((await readFile(published)).equals(before)).toBe(true)
    const rebuilt = await testWarehouse(directory)
    expect(await titles(rebuilt)).toEqual(['night 2'])
    expect(warnings(rebuilt).at(-1)?.message).toMatch(/rebuilt from the published file$/)
  })

  test.runIf(SLOW)('the operating system refuses to read the published file', async () => {
    const directory = await lostWithBoth()
    const published = join(directory, 'fieldwork.duckdb')
    await rm(published)
    // A link to itself cannot be followed, not even by root.
    await symlink(published, published)
    await expect(testWarehouse(directory)).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringMatching(/fieldwork\.duckdb now: ELOOP/),
    })
  })

  test.runIf(SLOW)(
    'the operating system refuses to read the manifest or a file of the newest version; then the newer of both is used',
    async () => {
      const warehouse = await publishedOnce()
      await night(warehouse, 2)
      await publishDuckdb(warehouse)
      await night(warehouse, 3)
      await publishParquet(warehouse)
      await warehouse.database.close()
      await rm(join(warehouse.directory, 'work.duckdb'))
      for (const path of ['manifest.json', 'surveys/account=acme/created_month=2025-12/data.parquet']) {
        const hidden = join(currentOf(warehouse), path)
        const content = await readFile(hidden)
        await rm(hidden)
        await symlink(hidden, hidden)
        await expect(testWarehouse(warehouse.directory), path).rejects.toMatchObject({
          exitCode: 7,
          message: expect.stringMatching(/000002 now: ELOOP/),
        })
        await rm(hidden)
        await writeFile(hidden, content)
      }
      const rebuilt = await testWarehouse(warehouse.directory)
      expect(await titles(rebuilt)).toEqual(['night 3'])
      expect(warnings(rebuilt).at(-1)?.message).toMatch(/rebuilt from published Parquet files$/)
    },
  )

  test.runIf(SLOW)('the versions cannot be listed', async () => {
    const directory = await lostWithBoth()
    await rm(join(directory, 'parquet'), { recursive: true })
    await writeFile(join(directory, 'parquet'), 'not a directory')
    await expect(testWarehouse(directory)).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringMatching(/ now: ENOTDIR/),
    })
  })
})
