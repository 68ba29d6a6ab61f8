/**
 * Upserts: rows are staged in a temporary table, compared with what is stored, and only those that differ are
 * merged, into the table and its history. Reading an equal row again touches no data row.
 */
import { z } from 'zod'
import type { RowCounts } from '../model/run.js'
import type { CellRow } from '../model/warehouse.js'
import { bigintCell } from './cells.js'
import type { Sql } from './database.js'
import { createTemporary, quote } from './ddl.js'
import { goneTable, markGone, mergeChanged, mergeHistory, selectChanged, selectGone } from './merge-sql.js'
import type { MergedTable } from './merged-tables.js'

/** Puts `rows` (key, values and `_read_at`, no two with the same key) where `mergeStaged` finds them. */
export const stage = async (sql: Sql, table: MergedTable, rows: readonly CellRow[]): Promise<void> => {
  await sql.run(createTemporary(table.stage, table.stageColumns))
  await sql.append(table.stage, table.stageColumns, rows)
}

/** Merges what is staged, and tells how many rows were added, changed and left alone. */
export const mergeStaged = async (sql: Sql, table: MergedTable): Promise<RowCounts> => {
  await sql.run(selectChanged(table))
  const [counted] = await sql.rows(
    z.object({ staged: bigintCell, added: bigintCell, differing: bigintCell }),
    `SELECT (SELECT count(*) FROM temp.${quote(table.stage)}) AS staged,
      count(*) FILTER ("_is_new") AS added, count(*) AS differing FROM temp.${quote(table.changed)}`,
  )
  const { staged, added, differing } = counted ?? { staged: 0, added: 0, differing: 0 }
  if (differing > 0) {
    await sql.run(mergeChanged(table))
    for (const statement of mergeHistory(table)) await sql.run(statement)
  }
  return { added, changed: differing - added, unchanged: staged - differing }
}

/** Stages and merges `rows`, and tells how many were added, changed and left alone. */
export const upsert = async (sql: Sql, table: MergedTable, rows: readonly CellRow[]): Promise<RowCounts> => {
  if (rows.length === 0) return NO_ROWS
  await stage(sql, table, rows)
  return mergeStaged(sql, table)
}

/** Sets `_missing_since` on the rows that `condition` finds gone, and tells how many. See `selectGone`. */
export const markMissing = async (
  sql: Sql,
  table: MergedTable,
  join: string,
  condition: string,
): Promise<number> => {
  await sql.run(selectGone(table, join, condition))
  const [counted] = await sql.rows(
    z.object({ gone: bigintCell }),
    `SELECT count(*) AS gone FROM temp.${quote(goneTable(table))}`,
  )
  const gone = counted?.gone ?? 0
  if (gone > 0) for (const statement of markGone(table)) await sql.run(statement)
  return gone
}

export const NO_ROWS: RowCounts = Object.freeze({ added: 0, changed: 0, unchanged: 0 })

export const addCounts = (a: RowCounts, b: RowCounts): RowCounts => ({
  added: a.added + b.added,
  changed: a.changed + b.changed,
  unchanged: a.unchanged + b.unchanged,
})
