/** What both test files of duckdb use. */
import { join } from 'node:path'
import { createDuckdbPublisher } from '../../../src/publish/duckdb.js'
import { createLacks } from '../../../src/publish/file-system-lacks.js'
import type { Database } from '../../../src/warehouse/connection/database.js'
import { NEVER } from '../../support/storage/bucket.js'
import { minute } from '../../support/time/instants.js'
import { query } from '../../support/warehouse/duckdb.js'
import { bundle, list, progress, source, survey } from '../../support/warehouse/rows.js'
import { copiesOf, type TestWarehouse, testWarehouse } from '../../support/warehouse/warehouse.js'

export const publish = async ({ database, directory, log }: TestWarehouse, signal = NEVER) => {
  const publisher = createDuckdbPublisher(database, directory, createLacks(log))
  const [report, ...others] = await publisher.publish(signal)
  if (report === undefined || others.length > 0) throw new Error('one format makes one report')
  return report
}

/** The same warehouse, whose database does some steps in another way. */
export const withSteps = (warehouse: TestWarehouse, steps: Partial<Database>): TestWarehouse => ({
  ...warehouse,
  database: { ...warehouse.database, ...steps },
})

export const published = ({ directory }: TestWarehouse): string => join(directory, 'fieldwork.duckdb')

export const titles = (file: string) => query(file, 'SELECT title FROM surveys ORDER BY id')

const fill = async ({ account }: TestWarehouse): Promise<void> => {
  await list(account, [survey(1)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], 'run-1')
}

export const publishedCopy = copiesOf(async (warehouse) => {
  await fill(warehouse)
  await publish(warehouse)
})

/** Opens a copy of a warehouse with one survey and its bundle, which was published once. */
export const publishedOnce = async (): Promise<TestWarehouse> => testWarehouse(await publishedCopy())

export const comments = `SELECT 'table' AS kind, schema_name, table_name AS name, '' AS column_name, comment FROM duckdb_tables()
    WHERE database_name = current_database()
  UNION ALL SELECT 'view', schema_name, view_name, '', comment FROM duckdb_views()
    WHERE database_name = current_database() AND NOT internal
  UNION ALL SELECT 'column', schema_name, table_name, column_name, comment FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name IN ('main', '_sync') AND NOT internal
  ORDER BY ALL`

/** Rows that DuckDB stores uncompressed, deleted again. A later row stands behind the room: DuckDB gives back free blocks at the very end. */
const shrunkenCopy = copiesOf(async (warehouse) => {
  await fill(warehouse)
  await warehouse.run(`INSERT INTO _sync.rejected_rows (account, run_id, rejected_at, endpoint, problem, raw)
    SELECT 'acme', 'run-1', now(), 'surveys', repeat('x', 100_000), '{}' FROM range(60)`)
  await warehouse.run('CHECKPOINT')
  await list(warehouse.account, [survey(2)], minute(5))
  await warehouse.run('CHECKPOINT')
  await warehouse.run('DELETE FROM _sync.rejected_rows')
  await warehouse.run('CHECKPOINT')
})
export const shrunken = async (): Promise<TestWarehouse> => testWarehouse(await shrunkenCopy())
