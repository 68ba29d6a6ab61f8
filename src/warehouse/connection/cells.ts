/**
 * Converts cells between memory and DuckDB, by column type. Values go through appenders and parameters, never into SQL literals,
 * because a literal loses the last digit of a double.
 */
import type { DuckDBValue } from '@duckdb/node-api'
import { z } from 'zod'
import type { Cell, Column } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import { quote } from './ddl.js'
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  TIMESTAMPTZ,
  VARCHAR,
} from './duckdb.js'

/** A value bound to a `$n` of a statement. */
export type Parameter = string | number | boolean | Instant | null

export const toDuckDB = (parameter: Parameter): DuckDBValue => {
  if (typeof parameter === 'bigint') return new DuckDBTimestampTZValue(parameter)
  return typeof parameter === 'number' && Number.isInteger(parameter) ? BigInt(parameter) : parameter
}

/** The types of appended cells, by the type of their column. */
export const APPENDED_TYPES = { BIGINT, BOOLEAN, DATE, DOUBLE, JSON: VARCHAR, TIMESTAMPTZ, VARCHAR } as const

/** A cell to append. Throws, as for any bug, if its type does not fit the column. */
export const appendedValue = ({ name, type }: Column, cell: Cell = null): DuckDBValue => {
  if (cell === null) return null
  if (type === 'BIGINT' && typeof cell === 'number') return BigInt(cell)
  if (type === 'DOUBLE' && typeof cell === 'number') return cell
  if (type === 'BOOLEAN' && typeof cell === 'boolean') return cell
  if (type === 'TIMESTAMPTZ' && typeof cell === 'bigint') return new DuckDBTimestampTZValue(cell)
  if (type === 'DATE' && typeof cell === 'string')
    return new DuckDBDateValue(Date.parse(`${cell}T00:00:00Z`) / 86_400_000)
  if ((type === 'VARCHAR' || type === 'JSON') && typeof cell === 'string') return cell
  throw new TypeError(`column ${name} is ${type} and cannot hold a ${typeof cell}`)
}

/** Converts a value that is read back to a cell. A `transform` of the schema would take several times as long. */
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
 * Selects a column for `cellSchema`. DuckDB's client drops a byte order mark at the beginning of a text, so a character is put in front of
 * every text.
 */
export const selectCell = ({ name, type }: Column): string => {
  if (type === 'DATE') return `CAST(${quote(name)} AS VARCHAR) AS ${quote(name)}`
  return type === 'VARCHAR' || type === 'JSON' ? `'.' || ${quote(name)} AS ${quote(name)}` : quote(name)
}

/** The schema of a cell that `selectCell` selects. */
export const cellSchema = (column: Column): z.ZodType<Cell> => {
  const schema = CELL_SCHEMAS[column.type]
  return column.nullable ? schema.nullable() : schema
}

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
