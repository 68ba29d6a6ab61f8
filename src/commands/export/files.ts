/**
 * Writes each table as a Parquet or CSV file of its own. DuckDB writes the rows, so they are never in our memory. The writer of workbooks
 * uses the first part of this file too.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { WarehouseError } from '../../base/errors.js'
import { throwIfAborted } from '../../base/signals.js'
import type { Column } from '../../model/columns.js'
import { tableName } from '../../model/sync-tables.js'
import { checksum } from '../../publish/parquet/manifest.js'
import { metadata, published } from '../../publish/parquet/sql.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { literal, qualified, quote } from '../../warehouse/connection/ddl.js'
import { firstLine, isFileFailure } from '../../warehouse/connection/duckdb-error.js'
import { copyRows, PARQUET } from '../text/copy-rows.js'
import type { Relation } from './relations.js'
import type { ExportManifest } from './target.js'

export interface Writing {
  readonly sql: Sql
  readonly relations: readonly Relation[]
  /** The unfinished directory that gets the files. */
  readonly directory: string
  /** The final path of the directory, for messages. */
  readonly out: string
  readonly signal: AbortSignal
}

export type ExportEntry = ExportManifest['tables'][number]

/** What the manifest says about a written file. */
export const entryOf = async (
  directory: string,
  { table }: Relation,
  file: string,
  rows: number,
  cutTexts = 0,
): Promise<ExportEntry> => {
  const path = join(directory, file)
  const { size: bytes } = await stat(path)
  const written = { table: tableName(table), file, bytes, sha256: await checksum(path), rows }
  return { ...written, cut_texts: cutTexts }
}

/** The error to throw if a table cannot be written: `export_failed`; a stop or a bug stays as it is. */
export const writeError = (error: unknown, { table }: Relation, out: string): unknown => {
  if (!isFileFailure(error)) return error
  const message = `cannot export ${tableName(table)} to ${out}: ${firstLine(error)}`
  return new WarehouseError('export_failed', message, { cause: error })
}

/** Rows are sorted, so equal rows give an equal file. */
export const selectRows = (
  { table, columns }: Relation,
  cell: (column: Column) => string,
  alias = ({ name }: Column): string => name,
): string => {
  const cells = columns.map((column) => `${cell(column)} AS ${quote(alias(column))}`)
  const names = columns.map(({ name }) => name)
  const sorted = table.sortedBy ?? (table.key.length > 0 ? table.key : names)
  const order = sorted.filter((name) => names.includes(name)).map((name) => `t.${quote(name)} NULLS LAST`)
  return `SELECT ${cells.join(', ')} FROM ${qualified(table)} t ORDER BY ${order.join(', ')}`
}

export type FileFormat = 'parquet' | 'csv'

export const writeFiles = async (
  { sql, relations, directory, out, signal }: Writing,
  format: FileFormat,
  bom: boolean,
): Promise<readonly ExportEntry[]> => {
  const entries: ExportEntry[] = []
  for (const relation of relations) {
    throwIfAborted(signal)
    const file = `${tableName(relation.table)}.${format}`
    const options =
      format === 'csv' ? CSV : `${PARQUET}, KV_METADATA ${metadata({ declaration: relation.table })}`
    const copied = copyRows(sql, selectCells(relation, format, bom), join(directory, file), options)
    const rows = await copied.catch((error: unknown) => {
      throw writeError(error, relation, out)
    })
    entries.push(await entryOf(directory, relation, file, rows))
  }
  return entries
}

const selectCells = (rows: Relation, format: FileFormat, bom: boolean): string => {
  const first = rows.columns[0]
  const alias = (column: Column): string => `${bom && column === first ? BYTE_ORDER_MARK : ''}${column.name}`
  return selectRows(rows, format === 'parquet' ? published : bom ? spreadsheetCell : csvCell, alias)
}

/** Excel reads a CSV file as UTF-8 only after this. */
const BYTE_ORDER_MARK = '\ufeff'

/** In CSV, a null has no characters between the commas, and an empty text is "". */
const CSV = `FORMAT csv, HEADER true, DELIMITER ',', QUOTE '"', ESCAPE '"', NULLSTR '', NEW_LINE '\\r\\n'`

/** Instants are formatted from epoch microseconds, so the time zone of the session has no effect. */
const csvCell = (column: Column): string =>
  column.type === 'TIMESTAMPTZ'
    ? `strftime(make_timestamp(epoch_us(t.${quote(column.name)})), '%Y-%m-%dT%H:%M:%S.%fZ')`
    : published(column)

const spreadsheetCell = (column: Column): string =>
  column.type === 'VARCHAR' || column.type === 'JSON' ? guardedText(csvCell(column)) : csvCell(column)

/*
 * Texts of a CSV file must not become formulas and error values in a spreadsheet program. CSV cannot mark a text as a text, so an
 * apostrophe goes before each character that could begin one of them. See
 * docs/decisions/export-and-sql.md#0073-spreadsheets-hold-typed-cells-and-no-formulas.
 */

/** White space, invisible characters and apostrophes, without the separators. */
const SKIPPED = String.raw`[\pZ\p{Cf}\x00-\x08\x0b\x0c\x0e-\x1f\x7f']*`

/**
 * A formula begins with one of `= + - @`, and an error value with `#`, in every language; also in full width. It begins at the start of a
 * text, or after a semicolon, tab or line break, where a program with another separator than the comma divides a text. Apostrophes are
 * skipped, so that taking one away at the same places gives the exact text again.
 */
const FORMULA_BEGINS = String.raw`(^|[;\t\r\n])(${SKIPPED}[=+\-@#＝＋－＠＃])`

/** SQL for the guarded text of `expression`. */
export const guardedText = (expression: string): string =>
  `regexp_replace(${expression}, ${literal(FORMULA_BEGINS)}, ${literal(String.raw`\1'\2`)}, 'g')`
