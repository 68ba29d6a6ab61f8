/** The tables and views of an export: which are requested, which the published state has, and which the condition applies to. */

import { z } from 'zod'
import { ExpectedError } from '../../base/errors.js'
import { nearest } from '../../base/suggest.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES, tableName } from '../../model/sync-tables.js'
import { varcharCell } from '../../warehouse/connection/cells.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { isStatementFault } from '../../warehouse/connection/duckdb-error.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { defineView } from '../../warehouse/views/view-declaration.js'
import { appliesTo, bad, requireExpression } from './condition.js'
import { relation } from './sql.js'

/** A table or view with its published columns. */
export interface Relation {
  readonly table: TableDeclaration
  readonly columns: readonly Column[]
  /** Null if none is given, or if the table lacks one of its columns. */
  readonly condition: string | null
}

const VIEWS: readonly TableDeclaration[] = ALL_VIEWS
export const ALL: readonly TableDeclaration[] = [...ALL_TABLES, ...VIEWS]

export const isView = (table: TableDeclaration): boolean => VIEWS.includes(table)

/** The declarations of `names`; of all tables outside `_sync` for null. */
export const requestedTables = (names: readonly string[] | null): readonly TableDeclaration[] => {
  if (names === null) return ALL_TABLES.filter(({ schema }) => schema === 'main')
  const known = ALL.map(tableName)
  const problems = names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known) ?? known.find((full) => full === `_sync.${name}`) ?? null
      return `there is no table ${name}${meant === null ? '' : `: did you mean ${meant}?`}`
    })
  if (problems.length > 0 || names.length === 0)
    throw new ExpectedError(
      'export_request',
      `--tables: ${problems.length > 0 ? problems.join('; ') : 'names no table'} (fieldwork-sync schema lists them)`,
    )
  return ALL.filter((table) => names.includes(tableName(table)))
}

/**
 * Published Parquet holds no views. This creates all, because views read other views. A view that an older state lacks the columns
 * for is left out.
 */
export const createViews = async (sql: Sql): Promise<void> => {
  for (const statement of ALL_VIEWS.map(defineView))
    await sql.run(statement).catch((error: unknown) => {
      if (!isStatementFault(error)) throw error
    })
}

/** The published tables with their published columns. A state of an older version lacks newer tables and columns. */
export const findTables = async (
  sql: Sql,
  requested: readonly TableDeclaration[],
  { tables, source }: { readonly tables: readonly string[] | null; readonly source: string },
): Promise<readonly Omit<Relation, 'condition'>[]> => {
  const rows = await sql.rows(
    z.object({ path: varcharCell }),
    `SELECT concat_ws('.', schema_name, table_name, column_name) AS path FROM duckdb_columns()
      WHERE database_name = current_database() AND NOT internal`,
  )
  const paths = new Set(rows.map(({ path }) => path))
  const found = requested.map((table) => ({
    table,
    columns: table.columns.filter(({ name }) => paths.has(`${table.schema}.${table.name}.${name}`)),
  }))
  const absent = found.find(({ columns }) => columns.length === 0)
  if (tables !== null && absent !== undefined)
    throw new ExpectedError(
      'export_request',
      `--tables: ${tableName(absent.table)} is not in ${source}, which an older fieldwork-sync published. Run fieldwork-sync sync first`,
    )
  return found.filter(({ columns }) => columns.length > 0)
}

/** The same relations, with the condition where they have all of its columns. Throws `export_request` if none has. */
export const withCondition = async (
  sql: Sql,
  found: readonly Omit<Relation, 'condition'>[],
  condition: string | null,
): Promise<readonly Relation[]> => {
  if (condition === null) return found.map((one) => ({ ...one, condition }))
  await requireExpression(sql, condition)
  const relations: Relation[] = []
  for (const one of found)
    relations.push({
      ...one,
      condition: (await appliesTo(sql, relation(one.table), condition)) ? condition : null,
    })
  if (relations.every((one) => one.condition === null))
    throw bad(condition, 'no exported table has all columns of the condition')
  return relations
}
