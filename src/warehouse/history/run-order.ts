/**
 * Which run is the last: the one with the highest `run_number`. A clock may be wrong for a night, so neither the time of a run nor its id,
 * which begins with that time, says which is newer (docs/decisions/warehouse.md#0076-runs-are-numbered-and-the-highest-is-the-last).
 */
import { z } from 'zod'
import { runs } from '../../model/sync-tables.js'
import { bigintCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'

/**
 * `_sync.runs`, numbered also in a published state of an older version. Runs without a number are the newest. Among them only the
 * clock is left, so those that it dates in the future come first: otherwise each would be the last run until that time.
 */
export const NUMBERED_RUNS = `(SELECT * EXCLUDE (run_number), row_number() OVER (
    ORDER BY run_number ASC NULLS LAST, started_at <= now() ASC, started_at ASC, run_id ASC) AS run_number
  FROM (FROM _sync.runs UNION ALL BY NAME SELECT NULL::BIGINT AS run_number WHERE false))`

/** How many runs of accounts are recorded, and the id of the last run; null without runs. */
export const readLastRun = async (sql: Sql): Promise<z.output<typeof lastRunRow>> => {
  const [row] = await sql.rows(
    lastRunRow,
    `SELECT count(*) AS runs, max_by(run_id, run_number) AS run_id FROM ${NUMBERED_RUNS}`,
  )
  return row ?? { runs: 0, run_id: null }
}

const lastRunRow = z.object({ runs: bigintCell, run_id: varcharCell.nullable() })

/**
 * Numbers the run that starts, and before it the runs of an older version, in the order in which they were recorded. The accounts of a
 * run share its number.
 */
export const numberRuns = (sql: Sql): Promise<void> =>
  sql.run(`UPDATE ${qualified(runs)} r SET run_number = n.run_number
    FROM (SELECT run_id, coalesce(max(run_number), (SELECT coalesce(max(run_number), 0) FROM ${qualified(runs)})
        + row_number() OVER (ORDER BY max(run_number) IS NULL DESC, min(rowid) ASC)) AS run_number
      FROM ${qualified(runs)} GROUP BY run_id HAVING count(*) > count(run_number)) n
    WHERE r.run_id = n.run_id AND r.run_number IS NULL`)
