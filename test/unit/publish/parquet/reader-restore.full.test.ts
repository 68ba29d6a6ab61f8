/** Rebuilding a lost work database from published Parquet files. */
import { cp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  currentOf,
  manifestOf,
  parquetOf,
  publishParquet,
  tablesThatDiffer,
} from '../../../support/warehouse/parquet.js'
import { plannedSurveys } from '../../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'
import { lose, night, publishDuckdb, publishedOnce, titles, warnings } from './reader-restore-shared.js'

const described = `SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
  WHERE database_name = current_database() AND NOT internal ORDER BY ALL`

describe('a work database rebuilt from a version', () => {
  test('has every row, the queue, the position of the listing, comments, constraints and views, also if a newer version is damaged', async () => {
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
    expect(await rebuilt.rows('SELECT json_valid(raw) AS valid FROM _sync.rejected_rows ORDER BY 1')).toEqual(
      [{ valid: false }, { valid: true }],
    )
    expect(await rebuilt.rows('SELECT title FROM _sync.pending_surveys')).toEqual([{ title: 'waits' }])
    expect(await rebuilt.rows(described)).toEqual(columns)
    expect(await rebuilt.account.position()).toEqual(position)
    expect(await plannedSurveys(rebuilt.account)).toEqual(queue)
    expect(await rebuilt.rows('SELECT id, interviews_count FROM survey_overview ORDER BY id')).toEqual([
      { id: 1, interviews_count: 5 },
      { id: 2, interviews_count: null },
    ])
  })

  test('gets the tables and columns that an older schema lacks', async () => {
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

describe('when fieldwork.duckdb is published too', () => {
  test('the readable one is used when the other cannot be read', async () => {
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

  test('the operating system refuses to read the published file', async () => {
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

  test('the operating system refuses to read the manifest of the newest version; then the newer of both is used', async () => {
    const warehouse = await publishedOnce()
    await night(warehouse, 2)
    await publishDuckdb(warehouse)
    await night(warehouse, 3)
    await publishParquet(warehouse)
    await warehouse.database.close()
    await rm(join(warehouse.directory, 'work.duckdb'))
    const hidden = join(currentOf(warehouse), 'manifest.json')
    const content = await readFile(hidden)
    await rm(hidden)
    await symlink(hidden, hidden)
    await expect(testWarehouse(warehouse.directory)).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringMatching(/000002 now: ELOOP/),
    })
    await rm(hidden)
    await writeFile(hidden, content)
    const rebuilt = await testWarehouse(warehouse.directory)
    expect(await titles(rebuilt)).toEqual(['night 3'])
    expect(warnings(rebuilt).at(-1)?.message).toMatch(/rebuilt from published Parquet files$/)
  })

  test('the versions cannot be listed', async () => {
    const directory = await lostWithBoth()
    await rm(join(directory, 'parquet'), { recursive: true })
    await writeFile(join(directory, 'parquet'), 'not a directory')
    await expect(testWarehouse(directory)).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringMatching(/ now: ENOTDIR/),
    })
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
  await rm(parquetOf(warehouse), { recursive: true })
  expect(await titles(await testWarehouse(warehouse.directory))).toEqual([])
})
