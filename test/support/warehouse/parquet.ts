/** Publishes Parquet and reads it by plain SQL, as readers do who know only the paths. */
import { lstat, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ViewName } from '../../../src/model/publish-formats.js'
import { createLacks } from '../../../src/publish/file-system-lacks.js'
import type { Manifest } from '../../../src/publish/parquet/manifest.js'
import { createParquetPublisher } from '../../../src/publish/parquet/publisher.js'
import { PUBLISHED_TABLES, type PublishedTable, publishedViews } from '../../../src/publish/parquet/tables.js'
import { qualified } from '../../../src/warehouse/connection/ddl.js'
import { NEVER } from '../storage/bucket.js'
import { testClock } from '../time/test-clock.js'
import { copiesOf, type TestWarehouse, testWarehouse } from './warehouse.js'

/** Without views, which take longer than all tables. */
export const publishParquet = (
  { database, directory, log }: TestWarehouse,
  lacks = createLacks(log),
  signal = NEVER,
  views: readonly ViewName[] = [],
) => createParquetPublisher({ database, directory, clock: testClock(), views, log, lacks }).publish(signal)

export const parquetOf = ({ directory }: Pick<TestWarehouse, 'directory'>): string =>
  join(directory, 'parquet')
export const currentOf = (warehouse: Pick<TestWarehouse, 'directory'>): string =>
  join(parquetOf(warehouse), 'current')

export const manifestOf = async (version: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(version, 'manifest.json'), 'utf8'))

/** The SQL that docs/how-to/parquet.md gives for reading a table or view. */
export const readTable = ({ directory, surveyId }: PublishedTable, version: string): string =>
  surveyId === null
    ? `read_parquet('${version}/${directory}/data.parquet')`
    : `read_parquet('${version}/${directory}/**/*.parquet', hive_partitioning = true,
        hive_types = {account: VARCHAR, created_month: VARCHAR})`

/**
 * Names of the tables and views whose published rows or column types differ from the work database. One statement for all tables takes half the
 * CPU of two for each.
 */
export const tablesThatDiffer = async (
  warehouse: Pick<TestWarehouse, 'rows' | 'directory'>,
  version = currentOf(warehouse),
  views: readonly ViewName[] = [],
) => {
  const differences = (table: PublishedTable) => {
    const { declaration } = table
    const columns = declaration.columns.map(({ name }) => `"${name}"`).join(', ')
    // Compared as text, because DuckDB may reject JSON that came from the API.
    const cells = declaration.columns
      .map(({ name, type }) => (type === 'JSON' ? `CAST("${name}" AS VARCHAR) AS "${name}"` : `"${name}"`))
      .join(', ')
    const [stored, published] = [qualified(declaration), readTable(table, version)]
    // Two EXCEPT ALL would say the same in four times the CPU.
    const rows = `SELECT ${columns} FROM (SELECT ${cells}, 1 AS copies FROM ${stored} UNION ALL SELECT ${cells}, -1 FROM ${published})
      GROUP BY ALL HAVING sum(copies) <> 0`
    const types = `SELECT column_name, replace(column_type, 'JSON', 'VARCHAR') FROM (DESCRIBE SELECT ${columns} FROM ${stored})
      EXCEPT SELECT column_name, column_type FROM (DESCRIBE SELECT ${columns} FROM ${published})`
    return [rows, types].map((found) => `SELECT '${declaration.name}' AS name FROM (${found})`)
  }
  const published = publishedViews(views)
  const names = new Set<unknown>()
  // A statement with several views would need more memory than a connection has.
  for (const tables of [PUBLISHED_TABLES, ...published.map((view) => [view])])
    for (const { name } of await warehouse.rows(tables.flatMap(differences).join(' UNION ALL ')))
      names.add(name)
  return [...PUBLISHED_TABLES, ...published]
    .map(({ declaration }) => declaration.name)
    .filter((name) => names.has(name))
}

/** Paths of the data files of a version, each with its inode. */
export const filesOf = async (version: string): Promise<ReadonlyMap<string, number>> => {
  const names = await readdir(version, { recursive: true })
  const files = names.filter((name) => name.endsWith('.parquet')).toSorted()
  return new Map(
    await Promise.all(files.map(async (name) => [name, (await stat(join(version, name))).ino] as const)),
  )
}

/** Files of `after` that were written anew, not linked from `before`. */
export const writtenAnew = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) =>
  [...after].filter(([name, inode]) => before.get(name) !== inode).map(([name]) => name)

export const isLink = async (path: string): Promise<boolean> => (await lstat(path)).isSymbolicLink()

/** Fills and publishes a warehouse once per test file. Every test opens its own copy. */
export const publishedCopies = (
  fill: (warehouse: TestWarehouse) => Promise<void>,
  views: readonly ViewName[] = [],
) => {
  const copy = copiesOf(async (warehouse) => {
    await fill(warehouse)
    await publishParquet(warehouse, createLacks(warehouse.log), NEVER, views)
  })
  return async (): Promise<TestWarehouse> => testWarehouse(await copy())
}
