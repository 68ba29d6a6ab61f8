/** The file of a catalog, read as a plain database: what DuckDB 1.5.2 and 1.5.3 need beyond the specification is in it. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CatalogRows } from '../../../../src/publish/ducklake/rows.js'
import { writeCatalog } from '../../../../src/publish/ducklake/write-catalog.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { COLUMNS, manifestWith } from '../../../support/storage/manifests.js'
import { query } from '../../../support/warehouse/duckdb.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

test('a catalog is written without an extension, with a row of statistics for every file and column', async () => {
  const { database, directory } = await testWarehouse()
  const file = join(directory, 'fieldwork.ducklake')
  const catalog = new CatalogRows()
  const title = { name: 'title', type: 'VARCHAR', nullable: true, comment: '' } as const
  catalog.add(manifestWith(1, { files: { 'acme|2026-01|v1': 2, 'b|2026-02|v1': 1 } }))
  catalog.add(manifestWith(2, { files: { 'acme|2026-01|v2': 2 }, columns: [...COLUMNS, title] }))
  await writeCatalog({ database, rows: catalog, root: 's3://research/fieldwork', file, signal: NEVER })
  const one = async (sql: string) => Object.values((await query(file, sql))[0] ?? {})
  expect(
    await one(`SELECT string_agg(value, ' ' ORDER BY key) FROM ducklake_metadata WHERE key != 'created_by'`),
  ).toEqual(['s3://research/fieldwork/ false 1.0'])
  expect(
    await one(
      'SELECT count(*), count(DISTINCT table_name) FROM duckdb_tables() WHERE database_name = current_database()',
    ),
  ).toEqual([28, 28])
  // Three files of four columns, although the first two lack the last column.
  expect(
    await one(`SELECT count(*), count(DISTINCT (data_file_id, column_id)), count(min_value), count(value_count)
      FROM ducklake_file_column_stats`),
  ).toEqual([12, 12, 6, 6])
  expect(
    await one(
      'SELECT (SELECT count(*) FROM ducklake_table_stats) + (SELECT count(*) FROM ducklake_table_column_stats)',
    ),
  ).toEqual([0])
  expect(await one(`SELECT epoch_ms(max(snapshot_time)), max(snapshot_id) FROM ducklake_snapshot`)).toEqual([
    Date.UTC(2026, 2, 2),
    2,
  ])
})
