/** The types and functions that declare tables (docs/decisions/warehouse.md#0026-a-table-is-declared-once). */
import type { Instant } from './instant.js'

/** The type of a cell in memory, by column type. A BIGINT is a number, because the integers of the API are checked to be safe. */
interface CellTypes {
  BIGINT: number
  VARCHAR: string
  DOUBLE: number
  BOOLEAN: boolean
  TIMESTAMPTZ: Instant
  /** `2026-03-01`. */
  DATE: string
  /** JSON text. */
  JSON: string
}

type ColumnType = keyof CellTypes
export type Cell = CellTypes[ColumnType] | null

export interface Field<Type extends ColumnType = ColumnType, Nullable extends boolean = boolean> {
  readonly type: Type
  readonly nullable: Nullable
  readonly comment: string
  /** The expected values. Others are stored as well: the API may know more than its document. */
  readonly values?: readonly string[]
}

export type Fields = Readonly<Record<string, Field>>

/** The row that belongs to a set of fields. */
export type RowOf<Of extends Fields> = {
  readonly [Name in keyof Of]: Of[Name] extends Field<infer Type, infer Nullable>
    ? CellTypes[Type] | (true extends Nullable ? null : never)
    : never
}

export interface Column extends Field {
  readonly name: string
}

export interface TableDeclaration {
  /** `main` holds what analysts read, `_sync` the bookkeeping of the job itself. */
  readonly schema: 'main' | '_sync'
  readonly name: string
  readonly comment: string
  /** Names of the columns that identify a row. The merge keeps them unique; there is no index. */
  readonly key: readonly string[]
  /** Names of the columns by which an export sorts the rows, nulls last; by default the key. */
  readonly sortedBy?: readonly string[]
  readonly columns: readonly Column[]
  /** Rows of other tables that each row belongs to. */
  readonly references?: readonly Reference[]
}

/** The `columns` of a row equal the `to` columns of a row in `table`, in this order. */
export interface Reference {
  readonly columns: readonly string[]
  readonly table: string
  readonly to: readonly string[]
}

const field = <Type extends ColumnType>(type: Type) => {
  const of = (comment: string): Field<Type, false> => ({ type, nullable: false, comment })
  return Object.assign(of, { orNull: (comment: string) => nullable(of(comment)) })
}

/** A field with the same type and comment that may be null. */
export const nullable = <Type extends ColumnType>(of: Field<Type, false>): Field<Type, true> => ({
  ...of,
  nullable: true,
})

export const bigint = field('BIGINT')
export const varchar = field('VARCHAR')
export const double = field('DOUBLE')
export const boolean = field('BOOLEAN')
export const timestamptz = field('TIMESTAMPTZ')
export const date = field('DATE')
export const json = field('JSON')

/** Text with expected values. */
export const varcharOf = (values: readonly string[], comment: string): Field<'VARCHAR', false> => ({
  ...varchar(`${comment}: ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`),
  values,
})

export const columnsOf = (fields: Fields): readonly Column[] =>
  Object.entries(fields).map(([name, declared]) => ({ name, ...declared }))
