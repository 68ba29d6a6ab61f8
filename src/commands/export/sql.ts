/** Builds the SQL statements of an export. */
import type { Column, TableDeclaration } from '../../model/columns.js'
import { metadata, published } from '../../publish/parquet/sql.js'
import { literal, qualified, quote } from '../../warehouse/connection/ddl.js'
import { where } from './condition.js'
import { guardedText } from './formula-guard.js'

export type FileFormat = 'parquet' | 'csv'

export interface SelectRows {
  readonly table: TableDeclaration
  /** The published columns of the table. */
  readonly columns: readonly Column[]
  readonly condition: string | null
}

export interface CopyTable extends SelectRows {
  readonly format: FileFormat
  /** Whether a CSV file is for spreadsheet programs: it begins with a byte order mark, and no text can become a formula. */
  readonly bom: boolean
  readonly file: string
}

/** Rows are sorted by key, so equal rows give an equal file. */
export const selectRows = (
  { table, columns, condition }: SelectRows,
  cell: (column: Column) => string,
  alias = ({ name }: Column): string => name,
): string => {
  const cells = columns.map((column) => `${cell(column)} AS ${quote(alias(column))}`)
  const key = table.key.length > 0 ? table.key : columns.map(({ name }) => name)
  const order = columns.filter(({ name }) => key.includes(name)).map(({ name }) => `t.${quote(name)}`)
  return `SELECT ${cells.join(', ')} FROM ${chosenRows(table, condition)} ORDER BY ${order.join(', ')}`
}

/** The rows of the condition as `t`. The subquery hides the statement from the condition, which sees only the columns of the table. */
export const chosenRows = (table: TableDeclaration, condition: string | null): string =>
  `(SELECT * FROM ${relation(table)} ${where(condition)}) t`

export const copyTable = ({ format, bom, file, ...rows }: CopyTable): string => {
  const first = rows.columns[0]
  const alias = (column: Column): string => `${bom && column === first ? BYTE_ORDER_MARK : ''}${column.name}`
  const cell = format === 'parquet' ? published : bom ? spreadsheetCell : csvCell
  return `COPY (${selectRows(rows, cell, alias)})
    TO ${literal(file)} (${OPTIONS[format]}, USE_TMP_FILE false${format === 'parquet' ? `, KV_METADATA ${metadata({ declaration: rows.table })}` : ''})`
}

/** A table under its own name, which a condition may use to qualify columns. */
export const relation = (table: TableDeclaration): string => `${qualified(table)} AS ${quote(table.name)}`

/** Excel reads a CSV file as UTF-8 only after this. */
const BYTE_ORDER_MARK = '\ufeff'

/** A whole row group is in memory while it is written, and an export has little memory. */
const ROW_GROUP_ROWS = 30_720

/** In CSV, a null has no characters between the commas, and an empty text is "". */
const OPTIONS: Readonly<Record<FileFormat, string>> = {
  csv: `FORMAT csv, HEADER true, DELIMITER ',', QUOTE '"', ESCAPE '"', NULLSTR '', NEW_LINE '\\r\\n'`,
  parquet: `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}`,
}

/** Instants are formatted from epoch microseconds, so the time zone of the session has no effect. */
const csvCell = (column: Column): string =>
  column.type === 'TIMESTAMPTZ'
    ? `strftime(make_timestamp(epoch_us(t.${quote(column.name)})), '%Y-%m-%dT%H:%M:%S.%fZ')`
    : published(column)

const spreadsheetCell = (column: Column): string =>
  column.type === 'VARCHAR' || column.type === 'JSON' ? guardedText(csvCell(column)) : csvCell(column)
