/**
 * A result as lines of CSV, JSON or Markdown. DuckDB writes each row as one text, so a cell is never in our memory: a million rows of 35
 * columns as JavaScript values take 200 MiB.
 */
import { z } from 'zod'
import type { Sql } from '../../warehouse/connection/database.js'
import { literal, quote } from '../../warehouse/connection/ddl.js'
import { namedRows, ofStatement, type ResultColumn, type Statement } from './statement.js'

/** Where text goes. Resolves to false if nobody reads it any more. */
export type Write = (text: string) => Promise<boolean>

/** The rows of a statement, each as the one text that `row` selects. */
export const selectLines = (
  sql: Sql,
  statement: Statement,
  row: string,
): AsyncIterable<Iterable<readonly string[]>> =>
  sql.batches(z.array(z.string()), `SELECT ${row} FROM ${namedRows(statement)}`, statement.parameters)

/** Returns the number of rows. Nothing is written before the first rows are there. */
export const writeLines = async (
  sql: Sql,
  statement: Statement,
  { head, row, finished = (line) => line, between, end }: LineFormat,
  write: Write,
): Promise<number> =>
  ofStatement(async () => {
    const { columns } = statement
    let [rows, text] = [0, head(columns)]
    for await (const batch of selectLines(sql, statement, row(columns))) {
      for (const [line = ''] of batch) {
        text += `${rows === 0 ? '' : between}${finished(line)}`
        rows += 1
      }
      if (!(await write(text))) return rows
      text = ''
    }
    await write(`${text}${end(rows)}`)
    return rows
  })

export interface LineFormat {
  /** SQL of the line of a row. */
  readonly row: (columns: readonly ResultColumn[]) => string
  readonly head: (columns: readonly ResultColumn[]) => string
  /** Turns the text that `row` selects into the written line; by default it stays as it is. */
  readonly finished?: (line: string) => string
  readonly between: string
  readonly end: (rows: number) => string
}

/** `lineEnd` is `\r\n` in a file, as RFC 4180 says, and `\n` for the programs behind a pipe. */
export const csvLines = (lineEnd: '\r\n' | '\n'): LineFormat => ({
  head: (columns) =>
    `${columns.map(({ name }) => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join(',')}${lineEnd}`,
  row: (columns) =>
    `concat_ws(',', ${columns.map((column) => `coalesce(${csvCell(column)}, '')`).join(', ')})`,
  between: lineEnd,
  end: (rows) => (rows === 0 ? '' : lineEnd),
})

/**
 * A null is nothing, and an empty text is `""`. The SQL of a cell has no AND or OR: with one in each of 1,200 columns, DuckDB plans for 16
 * s.
 */
const csvCell = (column: ResultColumn): string => {
  const text = exact(column)
  return isBare(column)
    ? text
    : `CASE WHEN regexp_matches(${text}, '^$|[",\\r\\n]') THEN concat('"', replace(${text}, '"', '""'), '"') ELSE ${text} END`
}

/** One document: a list with an object for each row. */
export const JSON_LIST: LineFormat = {
  head: () => '[\n',
  row: (columns) =>
    `concat(${columns.map((column, index) => `${literal(`${index === 0 ? '{' : ','}${JSON.stringify(column.name)}:`)}, coalesce(${jsonValue(column)}, 'null')`).join(', ')}, '}')`,
  finished: (line) => (NOT_FINITE.test(line) ? line.replaceAll(TEXT_OR_NOT_FINITE, inQuotes) : line),
  between: ',\n',
  end: (rows) => (rows === 0 ? ']\n' : '\n]\n'),
}

/** DuckDB writes these values inside a list as numbers, which JSON does not have. */
const NOT_FINITE = /NaN|Infinity/
const TEXT_OR_NOT_FINITE = /"(?:[^"\\]|\\.)*"|NaN|-?Infinity/g
const NOT_FINITE_TEXTS: Readonly<Record<string, string>> = {
  NaN: '"nan"',
  Infinity: '"inf"',
  '-Infinity': '"-inf"',
}
const inQuotes = (token: string): string => NOT_FINITE_TEXTS[token] ?? token

const jsonValue = (column: ResultColumn): string => {
  const cell = quote(column.name)
  const asText = `CAST(to_json(${exact(column)}) AS VARCHAR)`
  if (isFloat(column)) return `CASE WHEN isfinite(${cell}) THEN CAST(${cell} AS VARCHAR) ELSE ${asText} END`
  if (isNumber(column) || column.type === 'BOOLEAN' || column.type === 'JSON' || isNested(column))
    return exact(column)
  return isBare(column) ? `concat('"', ${exact(column)}, '"')` : asText
}

export const MARKDOWN: LineFormat = {
  head: (columns) =>
    `| ${columns.map(({ name }) => escapedMarkdown(name)).join(' | ')} |\n|${columns.map((column) => (isNumber(column) ? ' ---: ' : ' --- ')).join('|')}|\n`,
  row: (columns) =>
    `concat('| ', concat_ws(' | ', ${columns.map((column) => `coalesce(${markdownCell(column)}, '')`).join(', ')}), ' |')`,
  between: '\n',
  end: (rows) => (rows === 0 ? '' : '\n'),
}

/** Characters that Markdown or HTML could read as markup. An underscore within a word is not markup. */
const MARKUP = String.raw`([\\\x60*\[\]<>|~&#$]|\b_|_\b)`
const CONTROL = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+`
const markdownCell = (column: ResultColumn): string =>
  isBare(column)
    ? readable(column)
    : `regexp_replace(${onOneLineSql(readable(column))}, '${MARKUP}', '\\\\\\1', 'g')`

/** SQL of a text without line ends and characters that would steer a terminal. */
export const onOneLineSql = (text: string): string => `regexp_replace(${text}, '${CONTROL}', ' ', 'g')`

const escapedMarkdown = (text: string): string =>
  text.replaceAll(new RegExp(CONTROL, 'gu'), ' ').replaceAll(new RegExp(MARKUP, 'g'), '\\$1')

/** A list such as `DOUBLE[]` does not count as its element type. */
const typeIs =
  (types: RegExp) =>
  ({ type }: ResultColumn): boolean =>
    types.test(type)
export const isInteger = typeIs(/^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/)
const isFloat = typeIs(/^(DOUBLE|FLOAT)$/)
export const isTimestamp = typeIs(/^TIMESTAMP(_S|_MS|_NS)?( WITH TIME ZONE)?$/)
const isDecimal = typeIs(/^DECIMAL\(\d+,\d+\)$/)
const isPlain = typeIs(/^(BOOLEAN|DATE|TIME(_NS)?( WITH TIME ZONE)?|UUID)$/)
const isNested = typeIs(/\]$|^(STRUCT|MAP|UNION)\(/)
export const isNumber = (column: ResultColumn): boolean =>
  isInteger(column) || isFloat(column) || isDecimal(column)
/** Whether no cell of the column has a character that a format must escape. */
export const isBare = (column: ResultColumn): boolean =>
  isNumber(column) || isTimestamp(column) || isPlain(column)

/** SQL of a cell as text that holds its value exactly. Times are UTC, whatever the session says. */
export const exact = (column: ResultColumn): string => {
  const cell = quote(column.name)
  const asText = `CAST(${cell} AS VARCHAR)`
  if (isNested(column)) return `CAST(to_json(${cell}) AS VARCHAR)`
  if (!isTimestamp(column)) return asText
  const zone = column.type === ZONED ? 'Z' : ''
  const time = column.type === 'TIMESTAMP_NS' ? cell : `make_timestamp(epoch_us(${cell}))`
  const digits = column.type === 'TIMESTAMP_NS' ? '%n' : '%f'
  return `CASE WHEN isfinite(${cell}) THEN strftime(${time}, '%Y-%m-%dT%H:%M:%S.${digits}${zone}') ELSE ${asText} END`
}

const ZONED = 'TIMESTAMP WITH TIME ZONE'

/** SQL of a cell for people: no microseconds of zero, and at most four decimals. */
export const readable = (column: ResultColumn): string => {
  const cell = quote(column.name)
  if (isFloat(column))
    return `CAST(CASE WHEN abs(${cell}) >= 0.001 THEN round(${cell}, 4) ELSE ${cell} END AS VARCHAR)`
  if (!isTimestamp(column)) return exact(column)
  return `regexp_replace(replace(${exact(column)}, 'T', ' '), '\\.?0+(Z?)$', '\\1')`
}
