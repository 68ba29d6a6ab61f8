/**
 * Compacts old progress history: the last observation of each record and UTC day stays. `progress_daily` shows this observation, so its
 * days look the same before and after. The time of day at which earlier indicators ended is lost, and the views of periods do not claim to
 * know it: `_sync.compactions` has the time up to which history is compacted.
 */
import type { TableDeclaration } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import { compactions } from '../../model/sync-tables.js'
import { sampleSourceProgressHistory, surveyProgressHistory } from '../../model/tables.js'
import type { Stamp } from '../../model/warehouse.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'

/** `before` is a midnight of UTC. Returns the number of removed observations. */
export const compactProgress = async (
  sql: AccountSql,
  before: Instant,
  { runId, at }: Stamp,
): Promise<number> => {
  let removed = 0
  for (const history of [surveyProgressHistory, sampleSourceProgressHistory])
    removed += await thinOut(sql, history, before)
  if (removed === 0) return 0
  await sql.run(
    `MERGE INTO ${qualified(compactions)} c USING (SELECT $1 AS account) s ON c.account = s.account
      WHEN MATCHED THEN UPDATE SET compacted_before = greatest(c.compacted_before, $2), rows_removed = c.rows_removed + $3,
        last_run_id = $4, last_compacted_at = $5
      WHEN NOT MATCHED THEN INSERT (account, compacted_before, rows_removed, last_run_id, last_compacted_at)
        VALUES ($1, $2, $3, $4, $5)`,
    [sql.account, before, removed, runId, at],
  )
  return removed
}

const thinOut = (sql: AccountSql, history: TableDeclaration, before: Instant): Promise<number> => {
  const record = history.key.filter((name) => name !== 'observed_at').map(quote)
  return countOf(
    sql,
    `DELETE FROM ${qualified(history)} WHERE rowid IN (
      SELECT id FROM (
        SELECT rowid AS id, observed_at, lead(observed_at) OVER (PARTITION BY ${record.join(', ')} ORDER BY observed_at) AS next_at
        FROM ${qualified(history)} WHERE account = $1 AND observed_at < $2
      ) WHERE ${utcDay('next_at')} = ${utcDay('observed_at')})`,
    [sql.account, before],
  )
}

/** The UTC day of a moment, as a DATE, in any time zone of the session, and without an extension that a reader may lack. */
export const utcDay = (moment: string): string => `CAST(make_timestamp(epoch_us(${moment})) AS DATE)`

export const dayStart = (day: string): string => `to_timestamp(epoch(${day}))`

/**
 * The time `hours` before another time, as microseconds. Intervals would count in the time zone and the calendar of the session, where a
 * day may have 23 hours, or be refused.
 */
export const hoursBefore = (time: string, hours: number): string =>
  `epoch_us(${time}) - ${hours} * 3600000000`
