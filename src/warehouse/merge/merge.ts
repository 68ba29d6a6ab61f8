/**
 * Upserts rows: compares them with the stored rows, and writes only rows that differ, into the table and its history. Reading an equal row
 * writes no data row. Rows are compared in memory, because a comparison in SQL takes several times as long
 * (docs/decisions/warehouse.md#0034-rows-are-compared-in-memory-before-they-are-merged).
 *
 * A version is dated with the server time of its reading, but at least a microsecond after the previous version. So history is strictly
 * monotone and loses no version (docs/decisions/warehouse.md#0033-versions-of-a-row-are-dated-strictly-upwards).
 */
import { bigint, type Column, columnsOf, timestamptz } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import type { RowCounts } from '../../model/run.js'
import type { CellRow } from '../../model/warehouse.js'
import { selectCell } from '../connection/cells.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { literal, qualified, quote } from '../connection/ddl.js'
import type { MergedTable, StoredRow } from './merged-tables.js'

/** A row from the API: the key without the account, and the values. */
export interface ReadRow {
  readonly cells: CellRow
  readonly readAt: Instant
  /** The days of the row in a history of progress. */
  readonly days?: { readonly day: string; readonly day_before: string | null }
}

/** Rows by `rowKey`. */
export type StoredRows = ReadonlyMap<string, StoredRow>

/**
 * Writes the rows that are new, differ in a value, or were missing. No two `rows` have the same key. `storedRows` are the rows of the same
 * surveys in this transaction.
 */
export const upsert = async (
  sql: AccountSql,
  table: MergedTable,
  storedRows: Iterable<StoredRow>,
  rows: readonly ReadRow[],
): Promise<RowCounts> => {
  const { account } = sql
  const stored = new Map(Array.from(storedRows, (row) => [rowKey(table, row.cells), row]))
  const added: CellRow[] = []
  const changed: CellRow[] = []
  const history: CellRow[] = []
  const beginsAt = table.hasVersions ? 'valid_from' : 'observed_at'
  for (const { cells, readAt, days } of rows) {
    const before = stored.get(rowKey(table, cells))
    if (before !== undefined && isCurrent(table, before, cells)) continue
    const datedAt = before === undefined ? readAt : after(readAt, latest(before))
    const firstSeenAt = before?.firstSeenAt ?? readAt
    const row = { ...cells, account, _first_seen_at: firstSeenAt, [table.readAtColumn]: datedAt }
    if (before === undefined) added.push(row)
    else changed.push(row)
    history.push({ ...row, ...days, [beginsAt]: datedAt })
  }
  await removeChanged(sql, table, changed)
  await sql.insert(table.current, [...changed, ...added])
  if (table.history !== null) await sql.insert(table.history, history)
  const unchanged = rows.length - added.length - changed.length
  return { added: added.length, changed: changed.length, unchanged }
}

export const isCurrent = (table: MergedTable, stored: StoredRow, read: CellRow): boolean =>
  stored.missingSince === null && !differs(table.values, read, stored.cells)

/** Whether any value differs; null equals null. */
export const differs = (values: readonly Column[], read: CellRow, stored: CellRow): boolean =>
  values.some(({ name }) => (read[name] ?? null) !== (stored[name] ?? null))

/**
 * Deletes the stored rows that changed; their new versions are appended. An update in place would rewrite all columns of each row group
 * with a changed row, which in a large table are all row groups.
 */
const removeChanged = async (
  sql: AccountSql,
  table: MergedTable,
  rows: readonly CellRow[],
): Promise<void> => {
  if (rows.length === 0) return
  const { current, key, readAtColumn } = table
  const readAt = current.columns.filter(({ name }) => name === readAtColumn)
  await sql.stage('changed_rows', [...key, ...readAt], rows)
  await sql.run(
    `DELETE FROM ${qualified(current)} t USING temp.changed_rows c WHERE ${sameKey(key, 't', 'c')}`,
  )
  await endVersions(sql, table, 'temp.changed_rows', readAtColumn)
}

/** A source that is gone since `at`, or a survey with all of its sources, for which `sample_source_id` is null. */
const GONE_COLUMNS = columnsOf({
  survey_id: bigint(''),
  sample_source_id: bigint.orNull(''),
  at: timestamptz(''),
})

export const stageGone = (sql: AccountSql, gone: readonly CellRow[]): Promise<void> =>
  sql.stage('gone_records', GONE_COLUMNS, gone)

/**
 * Sets `_missing_since` on the rows of the staged records, and returns their number. `sourceIdColumn` has the id of the source in a table
 * of sources.
 */
export const markMissing = async (
  sql: AccountSql,
  table: MergedTable,
  sourceIdColumn?: string,
): Promise<number> => {
  const { current, surveyIdColumn, readAtColumn } = table
  const ofSource = sourceIdColumn === undefined ? '' : `OR g.sample_source_id = t.${sourceIdColumn}`
  const marked = await countOf(
    sql,
    `UPDATE ${qualified(current)} t SET _missing_since = greatest(g."at", t.${readAtColumn} + INTERVAL 1 MICROSECOND)
      FROM temp.gone_records g WHERE t.account = $1 AND t.${surveyIdColumn} = g.survey_id
        AND (g.sample_source_id IS NULL ${ofSource}) AND t._missing_since IS NULL`,
    [sql.account],
  )
  const missing = `(FROM ${qualified(current)} WHERE account = ${literal(sql.account)} AND _missing_since IS NOT NULL
    AND ${surveyIdColumn} IN (SELECT survey_id FROM temp.gone_records))`
  await endVersions(sql, table, missing, '_missing_since')
  return marked
}

/** Ends the current versions of the rows in a relation, each at the time in the relation's column `endsAt`. */
const endVersions = async (
  sql: AccountSql,
  { key, history, hasVersions }: MergedTable,
  relation: string,
  endsAt: string,
): Promise<void> => {
  if (history !== null && hasVersions)
    await sql.run(`UPDATE ${qualified(history)} h SET "valid_to" = c.${quote(endsAt)}
      FROM ${relation} c WHERE ${sameKey(key, 'h', 'c')} AND h."valid_to" IS NULL`)
}

const latest = ({ datedAt, missingSince }: StoredRow): Instant =>
  missingSince !== null && missingSince > datedAt ? missingSince : datedAt

/** `at`, but at least a microsecond after `before`. */
const after = (at: Instant, before: Instant): Instant => (at > before ? at : before + 1n)

/** All rows of these surveys, missing ones included. `notBefore` is a day; rows of earlier days are left out. */
export const readStored = async (
  sql: AccountSql,
  table: MergedTable,
  surveyIds: readonly number[],
  notBefore: string | null = null,
): Promise<StoredRows> => {
  if (surveyIds.length === 0) return new Map()
  const condition = conditionOnSurveys(sql.account, surveyIds)
  const columns = [...table.ids, ...table.values]
  const rows = await sql.rows(
    table.storedRow,
    `SELECT ${columns.map(selectCell).join(', ')}, "_first_seen_at", ${quote(table.readAtColumn)} AS "_dated_at", "_missing_since"
      FROM ${qualified(table.current)} WHERE ${condition.on(table.surveyIdColumn)}
      ${notBefore === null ? '' : `AND "day" >= DATE ${literal(notBefore)}`}`,
    condition.parameters,
  )
  return new Map(rows.map((row) => [rowKey(table, row.cells), row]))
}

/** The key of a row, unique in a table and account. */
export const rowKey = ({ ids }: MergedTable, row: CellRow): string =>
  ids.map(({ name }) => String(row[name])).join(' ')

export const surveyIdsOf = (rows: readonly { readonly surveyId: number }[]): readonly number[] => [
  ...new Set(rows.map(({ surveyId }) => surveyId)),
]

/** Selects rows of some surveys of an account: by a list of constants, which prunes the scan, or by a join for many surveys. */
export const conditionOnSurveys = (account: string, surveyIds: readonly number[]) => {
  const isShort = surveyIds.length <= CONSTANTS_MAX
  const ids = isShort
    ? surveyIds.map((_, index) => `$${index + 2}`).join(', ') || 'NULL'
    : 'SELECT unnest(CAST($2::JSON AS BIGINT[]))'
  return {
    /** The condition on a table with the ids of surveys in `idColumn`. */
    on: (idColumn: string) => `account = $1 AND ${quote(idColumn)} IN (${ids})`,
    parameters: [account, ...(isShort ? surveyIds : [JSON.stringify(surveyIds)])],
  }
}

/** A list of twenty thousand constants takes seconds. */
const CONSTANTS_MAX = 100

const sameKey = (key: readonly Column[], a: string, b: string): string =>
  key
    .map(({ name, nullable }) => {
      const equals = nullable ? 'IS NOT DISTINCT FROM' : '='
      return `${a}.${quote(name)} ${equals} ${b}.${quote(name)}`
    })
    .join(' AND ')
