/**
 * What is stored of some surveys, read into memory in the transaction that is about to write: there it is compared with
 * what the API has answered. A comparison of a few rows of 33 columns in SQL took DuckDB several times as long as to
 * read them.
 */
import { z } from 'zod'
import type { Cell, Column } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import type { CellRow } from '../../model/warehouse.js'
import { cellSchema, timestamptzCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { idColumns, ofSurveys, selectStored } from './merge-sql.js'
import { MERGED_TABLES, type MergedTable } from './merged-tables.js'

export interface StoredRow {
  /** The key, but for the account, and the values. */
  readonly cells: CellRow
  readonly firstSeenAt: Instant
  /** When this version was read. */
  readonly datedAt: Instant
  readonly missingSince: Instant | null
}

/** Rows by `rowKey`. What is merged meanwhile is noted in it. */
export type StoredRows = Map<string, StoredRow>

/**
 * All rows of these surveys, also the missing ones. `keysOnly` leaves out the values, where nothing is compared; `notBefore`,
 * a day, leaves out those of earlier days.
 */
export const readStored = async (
  sql: Sql,
  table: MergedTable,
  account: string,
  surveyIds: readonly number[],
  { keysOnly = false, notBefore = null }: { keysOnly?: boolean; notBefore?: string | null } = {},
): Promise<StoredRows> => {
  if (surveyIds.length === 0) return new Map()
  const values = keysOnly ? [] : table.values
  const condition = ofSurveys(account, surveyIds)
  const rows = await sql.rows(
    keysOnly ? KEYS[table.name] : ROWS[table.name],
    selectStored(table, values, condition, notBefore),
    condition.parameters,
  )
  return new Map(rows.map((row) => [rowKey(table, row.cells), row]))
}

/** Tells the rows of a table and account apart. */
export const rowKey = (table: MergedTable, row: CellRow): string =>
  idColumns(table)
    .map(({ name }) => String(row[name]))
    .join(' ')

/** Whether any value differs; null equals null. */
export const differs = (values: readonly Column[], fresh: CellRow, stored: CellRow): boolean =>
  values.some(({ name }) => cellOf(fresh, name) !== cellOf(stored, name))

const cellOf = (row: CellRow, name: string): Cell => row[name] ?? null

/** Made once: a schema is compiled when it is first used. */
const schemasOf = (columnsOf: (table: MergedTable) => readonly Column[]) => {
  const [surveys, sources, progress, sourceProgress, days] = MERGED_TABLES
  return {
    surveys: storedRow(columnsOf(surveys)),
    sample_sources: storedRow(columnsOf(sources)),
    survey_progress: storedRow(columnsOf(progress)),
    sample_source_progress: storedRow(columnsOf(sourceProgress)),
    survey_progress_by_day: storedRow(columnsOf(days)),
  }
}

const storedRow = (columns: readonly Column[]): z.ZodType<StoredRow> =>
  z
    .object({
      ...Object.fromEntries(columns.map((column) => [column.name, cellSchema(column)])),
      _first_seen_at: timestamptzCell,
      _dated_at: timestamptzCell,
      _missing_since: timestamptzCell.nullable(),
    })
    .transform((row) => ({
      cells: row,
      firstSeenAt: row._first_seen_at,
      datedAt: row._dated_at,
      missingSince: row._missing_since,
    }))

const ROWS = schemasOf((table) => [...idColumns(table), ...table.values])
const KEYS = schemasOf(idColumns)
