/**
 * The condition of `--where` is one expression. DuckDB's own parser checks that, so SQL behind an early closing bracket
 * or a semicolon never runs. The connection limits the files that the expression can read (`confine` in
 * `export-tables.ts`). See docs/decisions/export-and-sql.md#0048-a-condition-of-an-export-is-bounded-twice.
 */

import { z } from 'zod'
import { ExpectedError } from '../../base/errors.js'
import { parse } from '../../base/parse.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { literal } from '../../warehouse/connection/ddl.js'
import { firstLine, isStatementFault, isUnknownName } from '../../warehouse/connection/duckdb-error.js'

/** The line ends keep a comment in the condition from hiding the rest of the statement. */
export const where = (condition: string | null): string =>
  condition === null ? '' : `WHERE (\n${condition}\n)`

const parsedSchema = z.object({
  error_type: z.string().optional(),
  error_message: z.string().optional(),
  statements: z
    .array(
      z.object({
        node: z.object({
          type: z.string(),
          modifiers: z.array(z.unknown()),
          group_expressions: z.array(z.unknown()).optional(),
          having: z.unknown().optional(),
          qualify: z.unknown().optional(),
          sample: z.unknown().optional(),
        }),
      }),
    )
    .optional(),
})

/** Throws `export_request` unless it is one expression. */
export const requireExpression = async (sql: Sql, condition: string): Promise<void> => {
  const [row] = await sql.rows(
    z.object({ parsed: z.string() }),
    `SELECT json_serialize_sql(${literal(`SELECT 1 ${where(condition)}`)})::VARCHAR AS parsed`,
  )
  const {
    error_type,
    error_message,
    statements = [],
  } = parse(parsedSchema, JSON.parse(row?.parsed ?? '{}'), 'the parsed condition')
  // Any other error type means that the text is no SELECT, or has several statements.
  if (error_type === 'parser') throw bad(condition, error_message ?? 'it cannot be parsed')
  const [statement, ...others] = statements
  const node = statement?.node
  const isOne =
    node?.type === 'SELECT_NODE' &&
    others.length === 0 &&
    node.modifiers.length === 0 &&
    (node.group_expressions ?? []).length === 0 &&
    [node.having, node.qualify, node.sample].every((part) => part === null || part === undefined)
  if (!isOne) throw bad(condition, 'it must be one condition as in a WHERE clause, and nothing else')
}

/** Whether the relation has all columns of the condition. Throws if the condition is wrong in another way. */
export const appliesTo = async (sql: Sql, relation: string, condition: string): Promise<boolean> => {
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

export const bad = (condition: string, problem: string): ExpectedError =>
  new ExpectedError('export_request', `--where ${JSON.stringify(condition)} cannot be used: ${problem}`)
