/**
 * The SQL of a query. DuckDB's own parser must find one SELECT in it, and only harmless table functions: others read and write files, or
 * change the session. The connection is locked as well. See docs/decisions/export-and-sql.md#0048-sql-of-users-is-bounded-twice.
 */
import { z } from 'zod'
import { ExpectedError, messageOf } from '../../base/errors.js'
import { parse } from '../../base/parse.js'
import { varcharCell } from '../../warehouse/connection/cells.js'
import type { NamedParameters, Sql } from '../../warehouse/connection/database.js'
import { quote } from '../../warehouse/connection/ddl.js'
import { faultOnOneLine, isOutOfMemory, isQueryFault } from '../../warehouse/connection/duckdb-error.js'

/** The columns of a result have different names. */
export interface ResultColumn {
  readonly name: string
  /** As DuckDB writes it: `BIGINT`, `TIMESTAMP WITH TIME ZONE`, `VARCHAR[]`. */
  readonly type: string
}

export interface Statement {
  readonly text: string
  readonly columns: readonly ResultColumn[]
  readonly parameters: NamedParameters
}

export const refused = (problem: string): ExpectedError => new ExpectedError('query_refused', problem)

/** The text and its parameters. Throws `query_refused` if it is not one SELECT. */
export const readStatement = async (
  sql: Sql,
  text: string,
): Promise<{ readonly text: string; readonly parameters: ReadonlySet<string> }> => {
  const [row] = await sql.rows(
    z.object({ parsed: varcharCell }),
    'SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR) AS parsed',
    [text],
  )
  const parsed = parse(parsedSchema, JSON.parse(withoutInfinity(row?.parsed ?? '{}')), 'the parsed query')
  if (parsed.error_type === 'parser') throw refused(`the query cannot be read: ${syntaxError(text, parsed)}`)
  if (parsed.statements?.length !== 1)
    throw refused(
      parsed.statements?.length === 0
        ? 'the query is empty. Write one SELECT'
        : 'the query must be one SELECT (or FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE): it only reads, and runs one statement',
    )
  const names: UsedNames = { functions: new Set(), parameters: new Set() }
  collect(parsed.statements, names, 0)
  const foreign = [...names.functions].find((name) => !TABLE_FUNCTIONS.has(name))
  if (foreign !== undefined)
    throw refused(`the query cannot use the table function ${foreign}: it reads the published tables only`)
  return { text: withoutSemicolons(text), parameters: names.parameters }
}

/** DuckDB writes the number 1e400 as `Infinity`, which JSON does not have. The values of numbers are not needed. */
const withoutInfinity = (json: string): string =>
  json.replaceAll(/"(?:[^"\\]|\\.)*"|-?Infinity|-?NaN/gi, (token) => (token.startsWith('"') ? token : '0'))

/** Removes the semicolons after a statement. Semicolons inside texts, names and comments stay. */
const withoutSemicolons = (text: string): string =>
  text.replaceAll(TOKEN, (token) => (token === ';' ? ' ' : token))

const TOKEN =
  /(?<![\w$\x80-\u{10FFFF}])(?:[eE]'(?:[^'\\]|\\[\s\S]|'')*'|\$((?:[a-zA-Z_\x80-\u{10FFFF}][\w\x80-\u{10FFFF}]*)?)\$[\s\S]*?\$\1\$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|;/gu

const parsedSchema = z.object({
  error_type: z.string().optional(),
  error_message: z.string().optional(),
  position: z.coerce.number().optional(),
  statements: z.array(z.unknown()).optional(),
})

const syntaxError = (
  text: string,
  { error_message = '', position }: z.output<typeof parsedSchema>,
): string => {
  const lines = text.slice(0, position ?? 0).split('\n')
  const place =
    position === undefined ? '' : ` (line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1})`
  return `${error_message}${place}`
}

const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  'duckdb_columns',
  'duckdb_schemas',
  'duckdb_tables',
  'duckdb_views',
  'generate_series',
  'json_each',
  'json_tree',
  'range',
  'repeat',
  'repeat_row',
  'unnest',
])

interface UsedNames {
  readonly functions: Set<string>
  readonly parameters: Set<string>
}

const tableFunction = z.object({
  type: z.literal('TABLE_FUNCTION'),
  function: z.object({ function_name: z.string() }),
})
const parameter = z.object({ class: z.literal('PARAMETER'), identifier: z.string() })

/** The table functions and parameters below a node of DuckDB's tree. */
const collect = (node: unknown, names: UsedNames, depth: number): void => {
  if (typeof node !== 'object' || node === null) return
  if (depth > DEPTH_MAX)
    throw refused(
      'the query is nested too deeply: about 120 levels are allowed. Write long chains of operators as a list, such as list_sum([…])',
    )
  const called = tableFunction.safeParse(node)
  if (called.success) names.functions.add(called.data.function.function_name.toLowerCase())
  const named = parameter.safeParse(node)
  if (named.success) names.parameters.add(named.data.identifier)
  for (const part of Object.values(node)) collect(part, names, depth + 1)
}

/** Levels of DuckDB's tree, of which an expression takes two or more. DuckDB needs 0.1 s to plan a sum of 120 terms, and 8 s for 400. */
const DEPTH_MAX = 250

/** The columns of the result. Columns with the same name get different names. */
export const columnsOf = (
  sql: Sql,
  text: string,
  parameters: NamedParameters,
): Promise<readonly ResultColumn[]> =>
  ofStatement(async () => {
    const rows = await sql.rows(
      z.object({ column_name: varcharCell, column_type: varcharCell }),
      `DESCRIBE SELECT * FROM ${rowsOf(text)}`,
      parameters,
    )
    return rows.map(({ column_name, column_type }) => ({ name: column_name, type: column_type }))
  })

/** The line ends keep a comment at the end of the text from hiding what follows it. */
const rowsOf = (text: string): string => `(\n${text}\n)`

/** The rows of a statement as `t`, with the names of its columns. */
export const namedRows = ({ text, columns }: Pick<Statement, 'text' | 'columns'>): string =>
  `${rowsOf(text)} AS t(${columns.map(({ name }) => quote(name)).join(', ')})`

/** Runs SQL that contains the text of a user. Throws `query_refused` with DuckDB's message. */
export const ofStatement = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work()
  } catch (error) {
    throw isQueryFault(error) && !isOutOfMemory(error)
      ? refused(`the query failed: ${faultOnOneLine(error, LINES_ABOVE)}${hintFor(messageOf(error))}`)
      : error
  }
}

/** Throws why a statement failed after its first rows: reads all of its rows again, without keeping them. */
export const throwFailure = async (sql: Sql, statement: Statement): Promise<never> => {
  await ofStatement(() =>
    sql.rows(z.unknown(), `SELECT max(hash(t)) FROM ${namedRows(statement)}`, statement.parameters),
  )
  throw refused('the query failed after its first rows, but not when it ran again. Run it again')
}

const LINES_ABOVE = 1

/** DuckDB takes a text without single quotes for a column. */
const hintFor = (message: string): string => {
  const [, column = '', name] =
    /Referenced column "([^"]*)" not found[\s\S]*(?:=|<>|IN \()\s*("?)\1\2/.exec(message) ?? []
  return name === undefined ? '' : `; a text needs single quotes: '${column}'`
}
