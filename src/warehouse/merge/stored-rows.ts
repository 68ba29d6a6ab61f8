/**
 * What is stored of some surveys, read into memory in the transaction that is about to write: there it is compared with
 * what the API has answered. A comparison of a few rows of 33 columns in SQL took DuckDB several times as long as to
 * read them.
 */
import type { Cell, Column } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import type { Sql } from '../connection/database.js'
import { idColumns, ofSurveys, selectStored } from './merge-sql.js'
import type { MergedTable, StoredRow } from './merged-tables.js'

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
    keysOnly ? table.storedKey : table.storedRow,
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
