/**
 * Converts cells between memory and DuckDB, by column type. Values go through appenders and parameters, never into SQL literals,
 * because a literal loses the last digit of a double.
 */
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  type DuckDBAppender,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api'
import { z } from 'zod'
import type { Cell, Column } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import { quote } from './ddl.js'

/** A value bound to a `$n` of a statement. */
export type Parameter = string | number | boolean | Instant | null | { readonly instant: Instant }

/** Marks a bigint as a TIMESTAMPTZ; a bare bigint is bound as a number. */
export const instant = (at: Instant): { readonly instant: Instant } => ({ instant: at })
export const instantOrNull = (at: Instant | null) => (at === null ? null : instant(at))

export const toDuckDB = (parameter: Parameter): DuckDBValue => {
  if (parameter !== null && typeof parameter === 'object')
    return new DuckDBTimestampTZValue(parameter.instant)
  return typeof parameter === 'number' && Number.isInteger(parameter) ? BigInt(parameter) : parameter
}

/** Appends one cell to the row under way. A cell whose type does not fit its column is a bug and throws. */
export const appendCell = (appender: DuckDBAppender, column: Column, cell: Cell | undefined): void => {
  const { type } = column
  if (cell === undefined || cell === null) appender.appendNull()
  else if (type === 'BIGINT' && typeof cell === 'number') appender.appendBigInt(BigInt(cell))
  else if (type === 'DOUBLE' && typeof cell === 'number') appender.appendDouble(cell)
  else if (type === 'BOOLEAN' && typeof cell === 'boolean') appender.appendBoolean(cell)
  else if (type === 'TIMESTAMPTZ' && typeof cell === 'bigint')
    appender.appendTimestampTZ(new DuckDBTimestampTZValue(cell))
  else if (type === 'DATE' && typeof cell === 'string') appender.appendDate(dateValue(cell))
  else if ((type === 'VARCHAR' || type === 'JSON') && typeof cell === 'string') appender.appendVarchar(cell)
  else throw unfit(column, cell)
}

/** The type of a column in a chunk of rows. */
export const chunkType = ({ type }: Column): DuckDBType => CHUNK_TYPES[type]

const CHUNK_TYPES = { BIGINT, BOOLEAN, DATE, DOUBLE, JSON: VARCHAR, TIMESTAMPTZ, VARCHAR } as const

/** A cell of a chunk of rows. A cell whose type does not fit its column is a bug and throws. */
export const chunkValue = (column: Column, cell: Cell | undefined): DuckDBValue => {
  const { type } = column
  if (cell === undefined || cell === null) return null
  if (type === 'BIGINT' && typeof cell === 'number') return BigInt(cell)
  if (type === 'DOUBLE' && typeof cell === 'number') return cell
  if (type === 'BOOLEAN' && typeof cell === 'boolean') return cell
  if (type === 'TIMESTAMPTZ' && typeof cell === 'bigint') return new DuckDBTimestampTZValue(cell)
  if (type === 'DATE' && typeof cell === 'string') return dateValue(cell)
  if ((type === 'VARCHAR' || type === 'JSON') && typeof cell === 'string') return cell
  throw unfit(column, cell)
}

const unfit = ({ name, type }: Column, cell: Cell): TypeError =>
  new TypeError(`column ${name} is ${type} and cannot hold a ${typeof cell}`)

const dateValue = (day: string): DuckDBDateValue =>
  new DuckDBDateValue(Date.parse(`${day}T00:00:00Z`) / 86_400_000)

/**
 * A value that is read back, as a cell in memory. It is converted here, because a `transform` of its schema takes several times as
 * long (25,000 planned surveys have 450,000 cells).
 */
export const fromDuckDB = (value: DuckDBValue): DuckDBValue => {
  if (typeof value === 'bigint') return Number(value)
  return value instanceof DuckDBTimestampTZValue ? value.micros : value
}

/** Schemas for cells that are read back. Each query combines them in a `z.object`. */
export const bigintCell = z.int()
export const doubleCell = z.number()
export const varcharCell = z.string()
export const booleanCell = z.boolean()
export const timestamptzCell: z.ZodType<Instant> = z.bigint()

/**
 * Selects a declared column for `cellSchema`. DuckDB's client drops a byte order mark at the beginning of a text, so another
 * character is put before it.
 */
export const selectCell = ({ name, type }: Column): string => {
  if (type === 'DATE') return `CAST(${quote(name)} AS VARCHAR) AS ${quote(name)}`
  return isText(type) ? `'.' || ${quote(name)} AS ${quote(name)}` : quote(name)
}

/** The schema of a cell that `selectCell` selects. */
export const cellSchema = (column: Column): z.ZodType<Cell> => {
  const schema = CELL_SCHEMAS[column.type]
  return column.nullable ? schema.nullable() : schema
}

const isText = (type: Column['type']): boolean => type === 'VARCHAR' || type === 'JSON'

const guardedTextCell = z.string().overwrite((text) => text.slice(1))

const CELL_SCHEMAS = {
  BIGINT: bigintCell,
  DOUBLE: doubleCell,
  VARCHAR: guardedTextCell,
  JSON: guardedTextCell,
  BOOLEAN: booleanCell,
  TIMESTAMPTZ: timestamptzCell,
  DATE: varcharCell,
} as const
