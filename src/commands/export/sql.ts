/** The statements of an export, as text. Pure. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { metadata, published } from '../../publish/parquet/sql.js'
import { literal, qualified, quote } from '../../warehouse/connection/ddl.js'
import { where } from './condition.js'

export type ExportFormat = 'parquet' | 'csv'

export interface CopyTable {
  readonly table: TableDeclaration
  /** Those of its columns that are there. */
  readonly columns: readonly Column[]
  readonly condition: string | null
  readonly format: ExportFormat
  readonly file: string
}

/** The rows by key, so that equal rows make an equal file. */
export const copyTable = ({ table, columns, condition, format, file }: CopyTable): string => {
  const cell = format === 'csv' ? csvCell : published
  const cells = columns.map((column) => `${cell(column)} AS ${quote(column.name)}`)
  const key = table.key.length > 0 ? table.key : columns.map(({ name }) => name)
  const order = columns.filter(({ name }) => key.includes(name)).map(({ name }) => `t.${quote(name)}`)
  // The condition names columns, and nothing of the statement around it.
  return `COPY (SELECT ${cells.join(', ')} FROM (SELECT * FROM ${relation(table)} ${where(condition)}) t ORDER BY ${order.join(', ')})
    TO ${literal(file)} (${OPTIONS[format]}, USE_TMP_FILE false${format === 'parquet' ? `, KV_METADATA ${metadata({ declaration: table })}` : ''})`
}

/** A table under its own name, by which a condition may call it. */
export const relation = (table: TableDeclaration): string => `${qualified(table)} AS ${quote(table.name)}`

/** A row group is in memory as a whole while it is written, and an export has little. */
const ROW_GROUP_ROWS = 30_720

/** A null is nothing between two commas, a text without characters is "". */
const OPTIONS: Readonly<Record<ExportFormat, string>> = {
  csv: `FORMAT csv, HEADER true, DELIMITER ',', QUOTE '"', ESCAPE '"', NULLSTR '', NEW_LINE '\\r\\n'`,
  parquet: `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}`,
}

/** Moments are cut from microseconds by arithmetic: the same in any session. */
const csvCell = (column: Column): string =>
  column.type === 'TIMESTAMPTZ'
    ? `strftime(make_timestamp(epoch_us(t.${quote(column.name)})), '%Y-%m-%dT%H:%M:%S.%fZ')`
    : published(column)
