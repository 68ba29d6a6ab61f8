/**
 * The tables and views of an export: which are requested, which the published state has, and which the condition applies to.
 *
 * The condition of `--where` is one expression. DuckDB's own parser checks that, so SQL behind an early closing bracket or a semicolon
 * never runs. The connection limits the files that the expression can read (`confine` in `src/commands/export.ts`). See
 * docs/decisions/export-and-sql.md#0048-a-condition-of-an-export-is-bounded-twice.
 */
import { z } from 'zod'
import { ExpectedError } from '../../base/errors.js'
import { parse } from '../../base/parse.js'
import { nearest } from '../../base/suggest.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES, tableName } from '../../model/sync-tables.js'
import { columnPaths, type Sql } from '../../warehouse/connection/database.js'
import { literal, qualified, quote } from '../../warehouse/connection/ddl.js'
import { firstLine, isStatementFault, isUnknownName } from '../../warehouse/connection/duckdb-error.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { needsAction } from '../../warehouse/views/needs-action.js'
import { surveysToday } from '../../warehouse/views/overviews.js'
import { defineView } from '../../warehouse/views/view-declaration.js'

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

/** With what people want to see first, a workbook begins. */
const FIRST_SHEETS: readonly TableDeclaration[] = [surveysToday, needsAction]

/** The declarations of `names`, in their order; for null, of all tables outside `_sync`. */
export const requestedTables = (
  names: readonly string[] | null,
  isWorkbook: boolean,
): readonly TableDeclaration[] => {
  if (names === null)
    return [...(isWorkbook ? FIRST_SHEETS : []), ...ALL_TABLES.filter(({ schema }) => schema === 'main')]
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
  return [...new Set(names)].flatMap((name) => ALL.filter((table) => tableName(table) === name))
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
  const paths = await columnPaths(sql)
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
  for (const one of found) {
    const applies = await appliesTo(sql, relation(one.table), condition)
    relations.push({ ...one, condition: applies ? condition : null })
  }
  if (relations.every((one) => one.condition === null))
    throw bad(condition, 'no exported table has all columns of the condition')
  return relations
}

/** The rows of the condition as `t`. The subquery hides the statement from the condition, which sees only the columns of the table. */
export const chosenRows = (table: TableDeclaration, condition: string | null): string =>
  `(SELECT * FROM ${relation(table)} ${where(condition)}) t`

/** A table under its own name, which a condition may use to qualify columns. */
const relation = (table: TableDeclaration): string => `${qualified(table)} AS ${quote(table.name)}`

/** The line ends keep a comment in the condition from hiding the rest of the statement. */
const where = (condition: string | null): string => (condition === null ? '' : `WHERE (\n${condition}\n)`)

const nothing = z.null().optional()
/** How DuckDB's parser describes a SELECT whose WHERE clause is one expression, and that has nothing else. */
const oneCondition = z.tuple([
  z.object({
    node: z.object({
      type: z.literal('SELECT_NODE'),
      modifiers: z.tuple([]),
      group_expressions: z.tuple([]).optional(),
      having: nothing,
      qualify: nothing,
      sample: nothing,
    }),
  }),
])
const parsedSchema = z.object({
  error_type: z.string().optional(),
  error_message: z.string().optional(),
  statements: z.unknown().optional(),
})

/** Throws `export_request` unless it is one expression. */
const requireExpression = async (sql: Sql, condition: string): Promise<void> => {
  const [row] = await sql.rows(
    z.object({ parsed: z.string() }),
    `SELECT json_serialize_sql(${literal(`SELECT 1 ${where(condition)}`)})::VARCHAR AS parsed`,
  )
  const parsed = parse(parsedSchema, JSON.parse(row?.parsed ?? '{}'), 'the parsed condition')
  // Any other error type means that the text is no SELECT, or has several statements.
  if (parsed.error_type === 'parser') throw bad(condition, parsed.error_message ?? 'it cannot be parsed')
  if (!oneCondition.safeParse(parsed.statements).success)
    throw bad(condition, 'it must be one condition as in a WHERE clause, and nothing else')
}

/** Whether the relation has all columns of the condition. Throws if the condition is wrong in another way. */
const appliesTo = async (sql: Sql, relation: string, condition: string): Promise<boolean> => {
  try {
    await sql.run(`EXPLAIN SELECT 1 FROM ${relation} ${where(condition)}`)
    return true
  } catch (error) {
    if (isUnknownName(error)) return false
    throw conditionError(error, condition)
  }
}

/** An error `export_request` if the condition caused `error`, else `error` itself. */
export const conditionError = (error: unknown, condition: string | null): unknown =>
  condition !== null && isStatementFault(error) ? bad(condition, firstLine(error)) : error

const bad = (condition: string, problem: string): ExpectedError =>
  new ExpectedError('export_request', `--where ${JSON.stringify(condition)} cannot be used: ${problem}`)
