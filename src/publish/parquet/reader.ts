/**
 * Opens a published version as a database in memory with one view per table, for our own statements, or fills an empty work database from
 * it. To fill a database, the files are first checked against the checksums of the manifest. Then the tables are created with the columns
 * of that version, and migrated like the tables of any older database.
 */
import { join } from 'node:path'
import { groups } from 'd3-array'
import { z } from 'zod'
import type { TableDeclaration } from '../../model/columns.js'
import { cellSchema, selectCell } from '../../warehouse/connection/cells.js'
import {
  countOf,
  type Database,
  type OpenOptions,
  openDatabase,
  type Sql,
} from '../../warehouse/connection/database.js'
import { createTable, literal, qualified, quote, withoutPattern } from '../../warehouse/connection/ddl.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import type { PublishedState } from '../../warehouse/lifecycle/rebuild.js'
import { isIntact, type ManifestTable, requireManifest, storedTables } from './manifest.js'
import { allVersions, parquetDirectory } from './versions.js'

/**
 * The database has no views: published files of views are not read. Throws the error of DuckDB, `WarehouseUnusableError` without a manifest,
 * or `warehouse_is_newer`.
 */
export const openParquet = async (version: string, options: OpenOptions = {}): Promise<Database> => {
  const manifest = await requireManifest(version)
  const directories = [version, ...(options.directories ?? [])]
  const database = await openDatabase(':memory:', { ...options, directories })
  try {
    await database.transaction(async (sql) => {
      await sql.run('CREATE SCHEMA _sync')
      for (const table of storedTables(manifest)) {
        const columns = table.columns.map(({ name }) => quote(name)).join(', ')
        await sql.run(
          `CREATE OR REPLACE VIEW ${qualified(table)} AS SELECT ${columns} FROM ${rowsOf(version, table)}`,
        )
      }
    })
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/**
 * SQL for the rows of a table as they are in its files: JSON is text. The account comes from the manifest. DuckDB would take it
 * from the path, where a directory `account=…` above the warehouse could come first.
 */
const rowsOf = (version: string, { files }: ManifestTable): string => {
  const parts = groups(files, ({ account }) => account).map(([account, ofAccount]) => {
    const paths = ofAccount.map(({ path }) => literal(withoutPattern(join(version, path))))
    const columns = account === null ? '*' : `*, ${literal(account)} AS account`
    return `SELECT ${columns} FROM read_parquet([${paths.join(', ')}], hive_partitioning = false)`
  })
  return `(${parts.join(' UNION ALL ')})`
}

/** Every version is a whole state. If the newest is damaged, the previous version is used. */
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
  // The files hold no comments and no views. Without this digest, the next open creates both again.
  await sql.run('UPDATE _sync.schema_version SET descriptions_digest = NULL')
}

/**
 * JSON was published as text. DuckDB cannot parse all JSON of the API, for example half a surrogate pair. Rows with such text are written
 * by an appender, as when they were first read.
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
