/** The schema version of a state. A newer one is refused before anything in it is changed, removed or called damaged. */

import { z } from 'zod'
import { WarehouseError } from '../../base/errors.js'
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import { varcharCell } from '../connection/cells.js'
import { countOf, type Sql } from '../connection/database.js'

/**
 * For every reader and writer of a state: a newer version may have given a column another meaning. Throws `warehouse_is_newer`, which names
 * `place`.
 */
export const refuseNewer = (
  place: string,
  version: number,
  known = SCHEMA_VERSION,
  what = 'schema version',
): void => {
  if (version <= known) return
  throw new WarehouseError(
    'warehouse_is_newer',
    `${place} has ${what} ${version}, but this version of fieldwork-sync supports only up to ${known}. Use the fieldwork-sync that wrote it, or a newer one`,
  )
}

export const isNewer = (error: unknown): error is WarehouseError =>
  error instanceof WarehouseError && error.code === 'warehouse_is_newer'

const VERSIONS = '_sync.schema_version'

/** 0 for a database without our tables. In a published Parquet version they are views. */
export const schemaVersion = async (sql: Sql): Promise<number> => {
  const columns = await countOf(
    sql,
    `SELECT count(*) AS "Count" FROM duckdb_columns()
      WHERE database_name = current_database() AND schema_name = '_sync' AND table_name = 'schema_version'`,
  )
  return columns === 0 ? 0 : await countOf(sql, `SELECT max(version) AS "Count" FROM ${VERSIONS}`)
}

/**
 * For a database that another program may have written: nothing of it runs, because the version is read only from a plain column of a table,
 * and without a function. Anything else is refused later. `catalog` is SQL for the name of the database, `prefix` stands before a schema.
 */
export const refuseNewerDatabase = async (
  sql: Sql,
  { catalog, prefix }: { readonly catalog: string; readonly prefix: string },
  place: string,
): Promise<void> => {
  const plain = await sql.rows(
    z.object({ column_name: varcharCell }),
    `SELECT column_name FROM system.main.duckdb_columns()
      SEMI JOIN system.main.duckdb_tables() USING (database_name, schema_name, table_name)
      WHERE database_name = ${catalog} AND schema_name = '_sync' AND table_name = 'schema_version' AND column_name = 'version'
        AND data_type = 'BIGINT' AND column_default IS NULL`,
  )
  if (plain.length === 0) return
  const newest = `SELECT version AS "Count" FROM ${prefix}${VERSIONS} ORDER BY version DESC NULLS LAST LIMIT 1`
  refuseNewer(place, await countOf(sql, newest))
}
