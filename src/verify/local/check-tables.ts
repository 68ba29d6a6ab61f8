/** Checks every rule of tables and views in an open published state. */
import { z } from 'zod'
import { throwIfAborted } from '../../base/clock.js'
import { ALL_TABLES, SCHEMA_VERSION } from '../../model/sync-tables.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Database, Sql } from '../../warehouse/connection/database.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import type { Problem } from './problem.js'
import type { Rule } from './rule.js'
import { ALL_RULES } from './rules/all.js'

export interface CheckedTables {
  /** Rules that were checked. */
  readonly checks: number
  readonly problems: readonly Problem[]
}

export interface OpenState {
  /** Its path, for people. */
  readonly state: string
  readonly database: Database
  readonly signal: AbortSignal
}

/** Throws the errors of DuckDB, and a `WarehouseUnusableError` if another version published the state. */
export const checkTables = async ({ state, database, signal }: OpenState): Promise<CheckedTables> => {
  await database.exclusively((sql) => requireDeclaredColumns(sql, state))
  const problems: Problem[] = []
  for (const rule of ALL_RULES) {
    throwIfAborted(signal)
    const broken = await database.exclusively((sql) => database.interruptibly(signal, () => check(sql, rule)))
    if (broken !== null) problems.push({ ...broken, state })
  }
  return { checks: ALL_RULES.length, problems }
}

const resultRow = z.object({ count: bigintCell, example: varcharCell.nullable() })

const check = async (
  sql: Sql,
  { rule, where, says, sql: broken }: Rule,
): Promise<Omit<Problem, 'state'> | null> => {
  const [row] = await sql.rows(
    resultRow,
    `SELECT count(*) AS count, min(example) AS example FROM (${broken})`,
  )
  if (row === undefined || row.count === 0) return null
  return { rule, where, says, count: row.count, example: row.example ?? '', advice: PUBLISH_AGAIN }
}

/** The work database is the source of every published state. */
export const PUBLISH_AGAIN =
  'Run fieldwork-sync sync, which publishes anew from the work database. If it stays, restore a backup, and report it'

/** Older versions published other columns, which the rules do not know. */
const requireDeclaredColumns = async (sql: Sql, state: string): Promise<void> => {
  const found = await sql.rows(
    z.object({ path: varcharCell }),
    `SELECT concat_ws('.', schema_name, table_name, column_name) AS path FROM duckdb_columns()
      WHERE database_name = current_database() AND NOT internal`,
  )
  const paths = new Set(found.map(({ path }) => path))
  const lacking = ALL_TABLES.flatMap(({ schema, name, columns }) =>
    columns.map((column) => `${schema}.${name}.${column.name}`),
  ).filter((path) => !paths.has(path))
  if (lacking.length > 0)
    throw new WarehouseUnusableError(
      `${state} has no column ${lacking[0]}: another version of fieldwork-sync published it (this one has schema version ${SCHEMA_VERSION}). Run fieldwork-sync sync once, then fieldwork-sync verify`,
    )
}
