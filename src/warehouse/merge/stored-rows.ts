/**
 * Reads the stored rows of some surveys into memory, in the transaction that is about to write, and compares them with answers.
 * In SQL that comparison takes several times as long (docs/decisions/warehouse.md#0034-rows-are-compared-in-memory-before-they-are-merged).
 */
import type { Cell, Column } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import type { Sql } from '../connection/database.js'
import { conditionOnSurveys, idColumns, selectStored } from './merge-sql.js'
import type { MergedTable, StoredRow } from './merged-tables.js'

/** Rows by `rowKey`. */
export type StoredRows = Map<string, StoredRow>

/**
 * All rows of these surveys, also the missing ones. `keysOnly` leaves out the values, if no rows are compared. `notBefore` is a
 * day; rows of earlier days are left out.
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
  const condition = conditionOnSurveys(account, surveyIds)
  const rows = await sql.rows(
    keysOnly ? table.storedKey : table.storedRow,
    selectStored(table, values, condition, notBefore),
    condition.parameters,
  )
  return new Map(rows.map((row) => [rowKey(table, row.cells), row]))
}

/** The key of a row, unique in a table and account. */
export const rowKey = (table: MergedTable, row: CellRow): string =>
  idColumns(table)
    .map(({ name }) => String(row[name]))
    .join(' ')

/** Whether any value differs; null equals null. */
export const differs = (values: readonly Column[], fresh: CellRow, stored: CellRow): boolean =>
  values.some(({ name }) => cellOf(fresh, name) !== cellOf(stored, name))

const cellOf = (row: CellRow, name: string): Cell => row[name] ?? null
