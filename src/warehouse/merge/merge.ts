/**
 * Upserts rows: compares them with the stored rows, and writes only rows that differ, into the table and its history. Reading an
 * equal row writes no data row (docs/decisions/warehouse.md#0034-rows-are-compared-in-memory-before-they-are-merged).
 *
 * A version is dated with the server time of its reading, but at least a microsecond after the previous version. So history is
 * strictly monotone and loses no version (docs/decisions/warehouse.md#0033-versions-of-a-row-are-dated-strictly-upwards).
 */
import type { Instant } from '../../model/instant.js'
import type { RowCounts } from '../../model/run.js'
import type { CellRow } from '../../model/warehouse.js'
import type { Sql } from '../connection/database.js'
import { deleteChanged, endVersions, markGone } from './merge-sql.js'
import type { MergedTable, StoredRow } from './merged-tables.js'
import { differs, rowKey, type StoredRows } from './stored-rows.js'

/** A row that was read: key without the account, and values. */
export interface FreshRow {
  readonly cells: CellRow
  readonly readAt: Instant
}

/**
 * Writes the rows that are new, differ in a value, or were missing, and returns the counts of added, changed and unchanged rows.
 * No two `rows` have the same key. `stored` has the rows of their surveys that the transaction sees.
 */
export const upsert = async (
  sql: Sql,
  table: MergedTable,
  account: string,
  { stored, rows }: { readonly stored: StoredRows; readonly rows: readonly FreshRow[] },
): Promise<RowCounts> => {
  const added: CellRow[] = []
  const changed: CellRow[] = []
  for (const { cells, readAt } of rows) {
    const before = stored.get(rowKey(table, cells))
    if (before !== undefined && isCurrent(table, before, cells)) continue
    const datedAt = before === undefined ? readAt : after(readAt, latest(before))
    const firstSeenAt = before?.firstSeenAt ?? readAt
    const row = { ...cells, account, _first_seen_at: firstSeenAt, [table.readAtColumn]: datedAt }
    if (before === undefined) added.push(row)
    else changed.push(row)
  }
  await removeChanged(sql, table, changed)
  await sql.insert(table.current, [...changed, ...added])
  if (table.history !== null) {
    const { kind, table: history } = table.history
    const beginsAt = kind === 'versions' ? 'valid_from' : 'observed_at'
    await sql.insert(history, [...changed, ...added], { [beginsAt]: table.readAtColumn })
  }
  return {
    added: added.length,
    changed: changed.length,
    unchanged: rows.length - added.length - changed.length,
  }
}

/** Whether the stored row equals the row that was read, and is not missing. */
export const isCurrent = (table: MergedTable, stored: StoredRow, fresh: CellRow): boolean =>
  stored.missingSince === null && !differs(table.values, fresh, stored.cells)

const removeChanged = async (sql: Sql, table: MergedTable, changed: readonly CellRow[]): Promise<void> => {
  if (changed.length === 0) return
  await sql.stage(table.changed, table.changedColumns, changed)
  await sql.run(deleteChanged(table))
  await endVersionsOf(sql, table, table.changed, table.readAtColumn)
}

/** Sets `_missing_since` on the stored rows for which `readAtOfGone` returns a time, and returns their number. */
export const markMissing = async (
  sql: Sql,
  table: MergedTable,
  account: string,
  stored: StoredRows,
  readAtOfGone: (row: CellRow) => Instant | null,
): Promise<number> => {
  const gone: CellRow[] = []
  for (const row of stored.values()) {
    const readAt = row.missingSince === null ? readAtOfGone(row.cells) : null
    if (readAt !== null) gone.push({ ...row.cells, account, _missing_since: after(readAt, row.datedAt) })
  }
  if (gone.length === 0) return 0
  await sql.stage(table.gone, table.goneColumns, gone)
  await sql.run(markGone(table))
  await endVersionsOf(sql, table, table.gone, '_missing_since')
  return gone.length
}

const endVersionsOf = async (
  sql: Sql,
  { key, history }: MergedTable,
  temporaryTable: string,
  endsAt: string,
): Promise<void> => {
  if (history?.kind === 'versions') await sql.run(endVersions(history.table, key, temporaryTable, endsAt))
}

const latest = ({ datedAt, missingSince }: StoredRow): Instant =>
  missingSince !== null && missingSince > datedAt ? missingSince : datedAt

/** `at`, but at least a microsecond after `before`. */
const after = (at: Instant, before: Instant): Instant => (at > before ? at : before + 1n)
