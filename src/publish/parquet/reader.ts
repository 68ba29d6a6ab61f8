/** Opens a published version as a database in memory with one view per table, for our own statements. */
import { join } from 'node:path'
import { groups } from 'd3-array'
import { type Database, type OpenOptions, openDatabase } from '../../warehouse/connection/database.js'
import { literal, qualified, quote } from '../../warehouse/connection/ddl.js'
import { defineView, type ViewDeclaration } from '../../warehouse/views/view-declaration.js'
import { type ManifestTable, requireManifest, storedTables } from './manifest.js'
import { withoutPattern } from './sql.js'

/** It also has `views`, by their SQL: published files of views are not read. Throws the error of DuckDB, or `WarehouseUnusableError` without a manifest. */
export const openParquet = async (
  version: string,
  options: OpenOptions = {},
  views: readonly ViewDeclaration[] = [],
): Promise<Database> => {
  const manifest = await requireManifest(version)
  const database = await openDatabase(':memory:', options)
  try {
    await database.transaction(async (sql) => {
      await sql.run('CREATE SCHEMA _sync')
      for (const table of storedTables(manifest)) {
        const columns = table.columns.map(({ name }) => quote(name)).join(', ')
        await sql.run(`CREATE VIEW ${qualified(table)} AS SELECT ${columns} FROM ${rowsOf(version, table)}`)
      }
      for (const view of views) await sql.run(defineView(view))
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
export const rowsOf = (version: string, { files }: ManifestTable): string => {
  const parts = groups(files, ({ account }) => account).map(([account, ofAccount]) => {
    const paths = ofAccount.map(({ path }) => literal(withoutPattern(join(version, path))))
    const columns = account === null ? '*' : `*, ${literal(account)} AS account`
    return `SELECT ${columns} FROM read_parquet([${paths.join(', ')}], hive_partitioning = false)`
  })
  return `(${parts.join(' UNION ALL ')})`
}
