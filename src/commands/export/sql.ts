/** Builds the SQL statements of an export. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { metadata, published } from '../../publish/parquet/sql.js'
import { literal, qualified, quote } from '../../warehouse/connection/ddl.js'
import { where } from './condition.js'

export type ExportFormat = 'parquet' | 'csv'

export interface CopyTable {
  readonly table: TableDeclaration
  /** The published columns of the table. */
  readonly columns: readonly Column[]
  readonly condition: string | null
  readonly format: ExportFormat
  readonly file: string
}

/** Rows are sorted by key, so equal rows give an equal file. */
export const copyTable = ({ table, columns, condition, format, file }: CopyTable): string => {
  const cell = format === 'csv' ? csvCell : published
  const cells = columns.map((column) => `${cell(column)} AS ${quote(column.name)}`)
  const key = table.key.length > 0 ? table.key : columns.map(({ name }) => name)
  const order = columns.filter(({ name }) => key.includes(name)).map(({ name }) => `t.${quote(name)}`)
  // The subquery hides the statement from the condition, which sees only the columns of the table.
  return `COPY (SELECT ${cells.join(', ')} FROM (SELECT * FROM ${relation(table)} ${where(condition)}) t ORDER BY ${order.join(', ')})
    TO ${literal(file)} (${OPTIONS[format]}, USE_TMP_FILE false${format === 'parquet' ? `, KV_METADATA ${metadata({ declaration: table })}` : ''})`
}

/** A table under its own name, which a condition may use to qualify columns. */
export const relation = (table: TableDeclaration): string => `${qualified(table)} AS ${quote(table.name)}`

/** A whole row group is in memory while it is written, and an export has little memory. */
const ROW_GROUP_ROWS = 30_720

/** In CSV, a null has no characters between the commas, and an empty text is "". */
const OPTIONS: Readonly<Record<ExportFormat, string>> = {
  csv: `FORMAT csv, HEADER true, DELIMITER ',', QUOTE '"', ESCAPE '"', NULLSTR '', NEW_LINE '\\r\\n'`,
  parquet: `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}`,
}

/** Instants are formatted from epoch microseconds, so the time zone of the session has no effect. */
const csvCell = (column: Column): string =>
  column.type === 'TIMESTAMPTZ'
    ? `strftime(make_timestamp(epoch_us(t.${quote(column.name)})), '%Y-%m-%dT%H:%M:%S.%fZ')`
    : published(column)
