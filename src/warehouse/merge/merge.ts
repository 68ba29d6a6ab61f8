/**
 * Upserts rows: compares them with the stored rows, and writes only rows that differ, into the table and its history. Reading an
 * equal row writes no data row. Rows are compared in memory: in SQL that takes several times as long
 * (docs/decisions/warehouse.md#0034-rows-are-compared-in-memory-before-they-are-merged).
 *
 * A version is dated with the server time of its reading, but at least a microsecond after the previous version. So history is
 * strictly monotone and loses no version (docs/decisions/warehouse.md#0033-versions-of-a-row-are-dated-strictly-upwards).
 */
import type { Cell, Column, TableDeclaration } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import type { RowCounts } from '../../model/run.js'
import type { CellRow } from '../../model/warehouse.js'
import { selectCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { literal, qualified, quote } from '../connection/ddl.js'
import type { MergedTable, StoredRow } from './merged-tables.js'

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

/** Selects the stored rows of the surveys in `condition`. */
export const selectStored = (
  table: MergedTable,
  values: readonly Column[],
  condition: SurveyCondition,
  notBefore: string | null = null,
): string =>
  `SELECT ${[...idColumns(table), ...values].map(selectCell).join(', ')},
      "_first_seen_at", ${quote(table.readAtColumn)} AS "_dated_at", "_missing_since"
    FROM ${qualified(table.current)} WHERE ${condition.on(surveyIdColumn(table))}
      ${notBefore === null ? '' : `AND "day" >= DATE ${literal(notBefore)}`}`

/** The columns of the key without the account. */
export const idColumns = (table: MergedTable): readonly Column[] =>
  table.key.filter(({ name }) => name !== 'account')

const surveyIdColumn = (table: MergedTable): string =>
  table.key.some(({ name }) => name === 'survey_id') ? 'survey_id' : 'id'

export interface SurveyCondition {
  /** The condition on a table with the ids of surveys in `idColumn`. */
  on(idColumn: string): string
  readonly parameters: readonly (string | number)[]
}

/** Selects rows of some surveys of an account: by a list of constants, which prunes the scan, or by a join for many surveys. */
export const conditionOnSurveys = (account: string, surveyIds: readonly number[]): SurveyCondition => {
  const isShort = surveyIds.length <= CONSTANTS_MAX
  const ids = isShort
    ? surveyIds.map((_, place) => `$${place + 2}`).join(', ')
    : 'SELECT unnest(CAST($2::JSON AS BIGINT[]))'
  return {
    on: (idColumn) => `account = $1 AND ${quote(idColumn)} IN (${ids})`,
    parameters: [account, ...(isShort ? surveyIds : [JSON.stringify(surveyIds)])],
  }
}

/** A list of twenty thousand constants takes seconds. */
const CONSTANTS_MAX = 100

/**
 * Deletes the stored rows that changed; their new versions are appended. An update in place would write all columns of each row
 * group anew that holds a changed row, which are all row groups of a large table.
 */
export const deleteChanged = (table: MergedTable): string =>
  `DELETE FROM ${qualified(table.current)} t USING temp.${quote(table.changed)} c WHERE ${sameKey(table.key, 't', 'c')}`

export const markGone = (table: MergedTable): string =>
  `UPDATE ${qualified(table.current)} t SET "_missing_since" = g."_missing_since"
    FROM temp.${quote(table.gone)} g WHERE ${sameKey(table.key, 't', 'g')}`

/** Ends the current versions of the rows in a temporary table, at the time in its column `endsAt`. */
export const endVersions = (
  history: TableDeclaration,
  key: readonly Column[],
  temporaryTable: string,
  endsAt: string,
): string =>
  `UPDATE ${qualified(history)} h SET "valid_to" = c.${quote(endsAt)}
    FROM temp.${quote(temporaryTable)} c WHERE ${sameKey(key, 'h', 'c')} AND h."valid_to" IS NULL`

const sameKey = (key: readonly Column[], a: string, b: string): string =>
  key
    .map(
      ({ name, nullable }) =>
        `${a}.${quote(name)} ${nullable ? 'IS NOT DISTINCT FROM' : '='} ${b}.${quote(name)}`,
    )
    .join(' AND ')
