/** A published version as a database: a view a table, for our own statements to read. */
import { join } from 'node:path'
import { type Database, openDatabase } from '../../warehouse/database.js'
import { literal, qualified, quote } from '../../warehouse/ddl.js'
import { WarehouseUnusableError } from '../../warehouse/errors.js'
import { type ManifestTable, manifestFile, readManifest } from './manifest.js'
import { withoutPattern } from './sql.js'

/** Throws what DuckDB throws, or `WarehouseUnusableError` without a manifest. */
export const openParquet = async (version: string): Promise<Database> => {
  const manifest = await readManifest(version)
  if (manifest === null) throw new WarehouseUnusableError(`${manifestFile(version)} cannot be read`)
  const database = await openDatabase(':memory:')
  try {
    await database.transaction(async (sql) => {
      await sql.run('CREATE SCHEMA _sync')
      for (const table of manifest.tables) {
        const columns = table.columns.map(({ name }) => quote(name)).join(', ')
        await sql.run(`CREATE VIEW ${qualified(table)} AS SELECT ${columns} FROM ${rowsOf(version, table)}`)
      }
    })
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The rows of a table as its files hold them: JSON is text. */
export const rowsOf = (version: string, { files }: ManifestTable): string => {
  const paths = files.map(({ path }) => literal(withoutPattern(join(version, path)))).join(', ')
  return files.some(({ account }) => account !== null)
    ? `read_parquet([${paths}], hive_partitioning = true, hive_types = {account: VARCHAR, created_month: VARCHAR})`
    : `read_parquet([${paths}], hive_partitioning = false)`
}
