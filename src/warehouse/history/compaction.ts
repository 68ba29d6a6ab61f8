/**
 * Compacts old progress history: the last observation of each record and day of fieldwork stays. `progress_daily` shows this observation, so its
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

/** The kept observation gets the `day_before` of the first one of its day. */
const thinOut = async (sql: AccountSql, history: TableDeclaration, before: Instant): Promise<number> => {
  const record = history.key.filter((name) => name !== 'observed_at').map(quote)
  const parameters = [sql.account, before]
  await sql.run(
    `CREATE OR REPLACE TEMP TABLE days_of_observations AS
      SELECT rowid AS id, "day", observed_at, row_number() OVER of_day = count(*) OVER (PARTITION BY ${record.join(', ')}, "day") AS is_last,
        first_value(day_before) OVER of_day AS day_before
      FROM ${qualified(history)} WHERE account = $1 AND observed_at < $2
      WINDOW of_day AS (PARTITION BY ${record.join(', ')}, "day" ORDER BY observed_at)`,
    parameters,
  )
  await sql.run(`UPDATE ${qualified(history)} h SET day_before = d.day_before
    FROM temp.days_of_observations d WHERE d.id = h.rowid AND d.is_last AND h.day_before IS DISTINCT FROM d.day_before`)
  const removed = await countOf(
    sql,
    `DELETE FROM ${qualified(history)} WHERE rowid IN (SELECT id FROM temp.days_of_observations WHERE NOT is_last)`,
  )
  await sql.run('DROP TABLE temp.days_of_observations')
  return removed
}
