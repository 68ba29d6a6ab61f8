/**
 * A database that another program may have written is data, not a program. A view with the name of a table, a macro with the name of a
 * function, or a computed column would run in our statements. So tables must be plain, and everything else is refused or removed
 * (docs/decisions/warehouse.md#0090-a-database-is-data-not-a-program).
 */
import { groups } from 'd3-array'
import { z } from 'zod'
import type { Log } from '../../base/log.js'
import type { TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES } from '../../model/sync-tables.js'
import { booleanCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { literal, qualified, quote } from '../connection/ddl.js'
import { WarehouseUnusableError } from '../connection/errors.js'
import { ALL_VIEWS } from '../views/all.js'
import { refuseNewerDatabase } from './version.js'

const TYPES = ['BIGINT', 'BOOLEAN', 'DATE', 'DOUBLE', 'JSON', 'TIMESTAMPTZ', 'VARCHAR'] as const
/** The type of a column. DuckDB has a longer name for TIMESTAMPTZ. */
const TYPE = `CASE data_type WHEN 'TIMESTAMP WITH TIME ZONE' THEN 'TIMESTAMPTZ' ELSE data_type END`

const columnRow = z.object({
  schema: z.enum(['main', '_sync']),
  table: varcharCell,
  name: varcharCell,
  type: z.enum(TYPES),
  nullable: booleanCell,
  comment: varcharCell,
})

const partRow = z.object({ kind: varcharCell, schema: varcharCell, name: varcharCell })
type Part = z.output<typeof partRow>

// A macro can have the name of any function or operator, also of the ones in these statements. So each function is named with its schema,
// and the only operators here are comparisons.

/** The open database, in contrast to an attached one. */
const CURRENT = { catalog: 'system.main.current_database()', prefix: '' }
const ATTACHED = { catalog: `'other'`, prefix: 'other.' }

/** Everything that is neither a table nor a view, in an order in which it can be dropped. */
const otherParts = (of: string): string => `
  SELECT 'INDEX' AS kind, schema_name AS schema, index_name AS name FROM system.main.duckdb_indexes() WHERE database_name = ${of}
  UNION ALL SELECT DISTINCT CASE function_type WHEN 'table_macro' THEN 'MACRO TABLE' ELSE 'MACRO' END, schema_name, function_name
    FROM system.main.duckdb_functions() WHERE database_name = ${of} AND NOT internal
  UNION ALL SELECT 'SCHEMA', schema_name, schema_name FROM system.main.duckdb_schemas()
    WHERE database_name = ${of} AND NOT internal AND schema_name NOT IN ('main', '_sync')
  UNION ALL SELECT 'SEQUENCE', schema_name, sequence_name FROM system.main.duckdb_sequences() WHERE database_name = ${of}
  UNION ALL SELECT 'TYPE', schema_name, type_name FROM system.main.duckdb_types() WHERE database_name = ${of} AND NOT internal`

/** Tables that compute: a view that has the name of one, and columns and constraints with an expression. */
const computingTables = (of: string): string => `
  FROM (WITH stored AS MATERIALIZED (
      SELECT schema_name, table_name, column_name, ${TYPE} AS type, column_default FROM system.main.duckdb_columns() WHERE database_name = ${of}),
    tables AS MATERIALIZED (SELECT schema_name, table_name FROM system.main.duckdb_tables() WHERE database_name = ${of}),
    declared(schema, name, column_name, declared_type) AS MATERIALIZED (VALUES ${DECLARED})
  SELECT DISTINCT 'VIEW in place of the table' AS kind, schema_name AS schema, table_name AS name FROM stored
    SEMI JOIN declared ON schema = schema_name AND name = table_name ANTI JOIN tables USING (schema_name, table_name)
  UNION ALL SELECT 'TABLE in place of the view', schema_name, table_name FROM tables
    WHERE schema_name = 'main' AND table_name IN (${VIEWS})
  UNION ALL SELECT DISTINCT 'computed column in the table', schema_name, table_name FROM stored WHERE column_default IS NOT NULL
  UNION ALL SELECT DISTINCT 'column of another type in the table', schema_name, table_name FROM stored
    SEMI JOIN tables USING (schema_name, table_name)
    LEFT JOIN declared d ON schema = schema_name AND name = table_name AND d.column_name = stored.column_name
    WHERE type NOT IN (${TYPES.map(literal).join(', ')}) OR type <> declared_type
  UNION ALL SELECT DISTINCT 'constraint of the table', schema_name, table_name FROM system.main.duckdb_constraints()
    WHERE database_name = ${of} AND constraint_type <> 'NOT NULL')`

const DECLARED = ALL_TABLES.flatMap(({ schema, name, columns }) =>
  columns.map((column) => `(${[schema, name, column.name, column.type].map(literal).join(', ')})`),
).join(', ')
const VIEWS = ALL_VIEWS.map(({ name }) => literal(name)).join(', ')

/**
 * For a read-only database. Throws `WarehouseUnusableError` if anything in it could run in our statements, and `warehouse_is_newer`, which
 * names `place`. Its views are no problem, because our temporary views hide them (`withTemporaryViews`).
 */
export const requirePlainData = (sql: Sql, place: string): Promise<void> => requirePlain(sql, CURRENT, place)

const requirePlain = async (sql: Sql, of: typeof CURRENT, place: string): Promise<void> => {
  await refuseNewerDatabase(sql, of, place)
  refuse(await sql.rows(partRow, `${computingTables(of.catalog)} UNION ALL ${otherParts(of.catalog)}`))
}

const refuse = ([first]: readonly Part[]): void => {
  if (first === undefined) return
  const article = /^[aeiou]/i.test(first.kind) ? 'an' : 'a'
  throw new WarehouseUnusableError(
    `it holds ${article} ${first.kind.toLowerCase()} ${nameOf(first)}, which fieldwork-sync did not write`,
  )
}

const nameOf = ({ kind, schema, name }: Part): string => (kind === 'SCHEMA' ? name : `${schema}.${name}`)

/** The tables of the database that is attached as `other`, with the columns that they have there. Throws like `requirePlainData`. */
export const plainTablesOfOther = async (sql: Sql, place: string): Promise<readonly TableDeclaration[]> => {
  await requirePlain(sql, ATTACHED, place)
  const columns = await sql.rows(
    columnRow,
    `SELECT schema_name AS schema, table_name AS "table", column_name AS name, ${TYPE} AS type, is_nullable AS nullable, '' AS comment
      FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (database_name, schema_name, table_name)
      WHERE database_name = ${ATTACHED.catalog} ORDER BY schema_name, table_name, column_index`,
  )
  return groups(
    columns,
    ({ schema }) => schema,
    ({ table }) => table,
  ).flatMap(([schema, tables]) =>
    tables.map(([name, columns]) => ({ schema, name, comment: '', key: [], columns })),
  )
}

/**
 * For the work database, before any other statement: drops everything that could run in our statements. A table that computes is not
 * dropped, because of its rows: this throws `WarehouseUnusableError` instead. Throws `warehouse_is_newer`, which names `place`, and drops
 * nothing of a newer version.
 */
export const keepPlainData = async (sql: Sql, place: string, log: Log): Promise<void> => {
  await refuseNewerDatabase(sql, CURRENT, place)
  refuse(await sql.rows(partRow, computingTables(CURRENT.catalog)))
  for (const part of await sql.rows(partRow, otherParts(CURRENT.catalog))) {
    const { kind, schema, name } = part
    const dropped = kind === 'SCHEMA' ? `${quote(name)} CASCADE` : qualified({ schema, name })
    await sql.run(`DROP ${kind} IF EXISTS ${dropped}`)
    log.warn({ kind, name: nameOf(part) }, 'fieldwork-sync did not write this, so it was removed')
  }
}

/** Drops the stored views that differ from the views of this version. Returns whether our views have to be created again. */
export const dropOtherViews = async (sql: Sql): Promise<boolean> => {
  const different = await differentViews(sql)
  for (const view of different) await sql.run(`DROP VIEW IF EXISTS ${qualified(view)}`)
  return different.length > 0
}

const viewRow = partRow.pick({ schema: true, name: true })

/**
 * The views that are stored with other SQL than in this version, are missing, or are not declared. Runs no view. Do not call it in the
 * session that creates a view, in which DuckDB still has another text.
 */
export const differentViews = (sql: Sql) =>
  sql.rows(
    viewRow,
    `WITH stored AS (SELECT schema_name AS schema, view_name AS name, sql FROM duckdb_views()
      WHERE database_name = current_database() AND NOT internal),
    declared(name, sql) AS (VALUES ${ALL_VIEWS.map((view) => `(${literal(view.name)}, ${literal(view.sql)})`).join(', ')})
    SELECT coalesce(stored.schema, 'main') AS schema, name FROM stored FULL JOIN declared USING (name)
    WHERE stored.schema IS DISTINCT FROM 'main'
      OR stored.sql IS DISTINCT FROM concat('CREATE VIEW ', name, ' AS ', ${asStored('declared.sql')}, ';')`,
  )

/**
 * The SQL of a view as DuckDB stores it, after parsing. Sets in a parsed statement have no order, so no view of ours excludes or replaces two columns
 * of a star.
 */
const asStored = (sql: string): string => `json_deserialize_sql(json_serialize_sql(${sql}))`
