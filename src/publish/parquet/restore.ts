/**
 * Fills an empty work database from a published version. First the files are checked against the manifest's checksums. Tables are
 * created with the columns that they had then, and migrated like those of any older database.
 */
import { join } from 'node:path'
import { z } from 'zod'
import type { TableDeclaration } from '../../model/columns.js'
import { cellSchema, selectCell } from '../../warehouse/connection/cells.js'
import { countOf, type Database, type Sql } from '../../warehouse/connection/database.js'
import { createTable, qualified, quote } from '../../warehouse/connection/ddl.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import type { PublishedState } from '../../warehouse/lifecycle/rebuild.js'
import { isIntact, type ManifestTable, requireManifest, storedTables } from './manifest.js'
import { rowsOf } from './reader.js'
import { allVersions, parquetDirectory } from './versions.js'

/** Every version is a state of its own. If the newest is damaged, the previous one is used. */
export const findPublishedParquet = async (
  directory: string,
  database: Database,
): Promise<readonly PublishedState[]> => {
  const versions = await allVersions(parquetDirectory(directory))
  return versions.map(({ directory: path }) => ({
    path,
    what: 'published Parquet files',
    countRuns: async () => (await requireManifest(path)).runs,
    fill: async () => {
      const tables = storedTables(await requireManifest(path))
      for (const file of tables.flatMap(({ files }) => files))
        if (!(await isIntact(path, file)))
          throw new WarehouseUnusableError(`${join(path, file.path)} differs from its manifest`)
      await database.transaction((sql) => fill(sql, path, tables))
    },
  }))
}

const fill = async (sql: Sql, directory: string, tables: readonly ManifestTable[]): Promise<void> => {
  await sql.run('CREATE SCHEMA IF NOT EXISTS _sync')
  for (const table of tables) {
    const declaration: TableDeclaration = { ...table, key: [] }
    await sql.run(createTable(declaration))
    await insert(sql, declaration, rowsOf(directory, table))
    const rows = await countOf(sql, `SELECT count(*) AS "Count" FROM ${qualified(declaration)}`)
    if (rows !== table.rows)
      throw new WarehouseUnusableError(`${directory} holds ${rows} of ${table.rows} rows of ${table.name}`)
  }
  // The files hold no comments and no views. Without the digest they are created again.
  await sql.run('UPDATE _sync.schema_version SET descriptions_digest = NULL')
}

/**
 * JSON was published as text. DuckDB cannot parse all JSON of the API, such as half a surrogate pair. Rows with such text go
 * through an appender, as they did when they were read.
 */
const insert = async (sql: Sql, declaration: TableDeclaration, files: string): Promise<void> => {
  const { columns } = declaration
  const names = columns.map(({ name }) => quote(name)).join(', ')
  const json = columns.filter(({ type }) => type === 'JSON').map(({ name }) => quote(name))
  const isJson = ['true', ...json.map((name) => `(${name} IS NULL OR json_valid(${name}))`)].join(' AND ')
  await sql.run(
    `INSERT INTO ${qualified(declaration)} (${names}) SELECT ${names} FROM ${files} WHERE ${isJson}`,
  )
  if (json.length === 0) return
  const odd = await sql.rows(
    z.object(Object.fromEntries(columns.map((column) => [column.name, cellSchema(column)]))),
    `SELECT ${columns.map(selectCell).join(', ')} FROM ${files} WHERE NOT (${isJson})`,
  )
  if (odd.length === 0) return
  await sql.stage(ODD_ROWS, columns, odd)
  await sql.run(`INSERT INTO ${qualified(declaration)} (${names}) SELECT ${names} FROM temp.${ODD_ROWS}`)
  await sql.run(`DROP TABLE temp.${ODD_ROWS}`)
}

const ODD_ROWS = 'odd_rows'
