/**
 * Writes a DuckLake catalog without the extension: a DuckDB file with the tables of the format. DuckDB 1.5.2, the first version that reads
 * the format, and every later one attaches it.
 */
import { z } from 'zod'
import { packageVersion } from '../../base/version.js'
import { bigintCell } from '../../warehouse/connection/cells.js'
import { attached, type Database, type Sql } from '../../warehouse/connection/database.js'
import { literal } from '../../warehouse/connection/ddl.js'
import type { CatalogRow, CatalogRows } from './rows.js'
import { CATALOG_TABLES, type CatalogTable } from './tables.js'

interface CatalogWriting {
  /** The connection to which the catalog is attached while it is written. The rows of this database are not used. */
  readonly database: Database
  readonly rows: CatalogRows
  /** The address to which the paths of the files are relative. */
  readonly root: string
  /** The path of the catalog. The file must not exist. */
  readonly file: string
  readonly signal: AbortSignal
}

/** Rejects with the signal's reason, or with the errors of system and DuckDB. */
export const writeCatalog = ({ database, rows, root, file, signal }: CatalogWriting): Promise<void> =>
  database.exclusively(async (sql) => {
    // With smaller blocks a reader of a bucket sends more requests, and with larger ones it reads more bytes.
    await attached(sql, `${literal(file)} AS other (STORAGE_VERSION 'v1.5.0', BLOCK_SIZE 65536)`, () =>
      database.interruptibly(signal, async () => {
        for (const table of tables()) {
          await sql.run(`CREATE TABLE ${named(table)} (${CATALOG_TABLES[table]})`)
          await insert(sql, table, table === 'metadata' ? metadataOf(root) : rows.of(table))
        }
        for (const statement of ['CHECKPOINT other', STATISTICS, 'CHECKPOINT other']) await sql.run(statement)
      }),
    )
    await attached(sql, `${literal(file)} AS other (READ_ONLY)`, () => prove(sql, rows))
  })

const tables = (): readonly CatalogTable[] => Object.keys(CATALOG_TABLES).filter(isTable)
const isTable = (name: string): name is CatalogTable => name in CATALOG_TABLES

const named = (table: CatalogTable): string => `other.main.ducklake_${table}`

const metadataOf = (root: string): readonly CatalogRow[] => [
  { key: 'version', value: '1.0' },
  { key: 'created_by', value: `fieldwork-sync ${packageVersion()}` },
  { key: 'data_path', value: `${root}/` },
  { key: 'encrypted', value: 'false' },
]

const insert = async (sql: Sql, table: CatalogTable, rows: readonly CatalogRow[]): Promise<void> => {
  const shape = CATALOG_TABLES[table].split(', ').map((column) => column.split(' '))
  for (let from = 0; from < rows.length; from += INSERTED_AT_ONCE)
    await sql.run(
      `INSERT INTO ${named(table)} BY NAME SELECT unnest(from_json($1, ${literal(JSON.stringify([Object.fromEntries(shape)]))}), recursive := true)`,
      [JSON.stringify(rows.slice(from, from + INSERTED_AT_ONCE))],
    )
}

/** With 10,000 rows at once, and without the first checkpoint, 33 versions of 11,000 files take 200 MB more. */
const INSERTED_AT_ONCE = 1_000

/**
 * A row for every file and every column of its table, also if nothing is known: DuckDB 1.5.2 and 1.5.3 skip a file without a row for a
 * column that is filtered or joined, and answer with fewer rows.
 */
const STATISTICS = `INSERT INTO ${named('file_column_stats')} BY NAME
  SELECT f.data_file_id, f.table_id, c.column_id FROM ${named('data_file')} f
  JOIN (SELECT DISTINCT table_id, column_id FROM ${named('column')}) c ON c.table_id = f.table_id
  ANTI JOIN ${named('file_column_stats')} s ON s.data_file_id = f.data_file_id AND s.column_id = c.column_id`

const prove = async (sql: Sql, rows: CatalogRows): Promise<void> => {
  const [written] = await sql.rows(
    z.object({ files: bigintCell }),
    `SELECT count(*) AS files FROM ${named('data_file')} WHERE path IS NOT NULL`,
  )
  if (written?.files !== rows.of('data_file').length)
    throw new Error('the catalog that was written lacks files')
}
