/**
 * The record of every run, `_sync.runs`, and its requests. The last run has the highest `run_number`: a clock may be wrong for a night, so
 * neither times nor ids, which begin with a time, say which run is newer
 * (docs/decisions/warehouse.md#0076-runs-are-numbered-and-the-highest-is-the-last).
 */
import { z } from 'zod'
import { snakeCase } from '../../base/snake-case.js'
import { REQUEST_KINDS, REQUEST_REASONS, type RequestUsage } from '../../model/request-usage.js'
import type { RunReport, RunStart } from '../../model/run.js'
import { RUN_FIELDS, type RunRecord } from '../../model/run-record.js'
import { requests, runs } from '../../model/sync-tables.js'
import type { CellRow } from '../../model/warehouse.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql, Sql } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'

/**
 * Records the start. We hold the lock, so any other run that is still `running` has died
 * (docs/decisions/warehouse.md#0029-a-run-marks-all-other-running-runs-as-killed).
 */
export const startRun = async (sql: AccountSql, run: RunStart): Promise<void> => {
  await sql.run(
    `UPDATE ${qualified(runs)} SET status = 'killed', reason = 'the run left no record of its end: it was killed, or the machine went down'
      WHERE run_id <> $1 AND status = 'running'`,
    [run.runId],
  )
  await sql.insert(runs, [cellsOf({ ...run, account: sql.account, status: 'running' })])
  await numberRuns(sql)
}

/** Writes how the run ended, and writes it again if publishing changed the outcome. */
export const finishRun = async (sql: Sql, report: RunReport): Promise<void> => {
  await storeRequestUsage(sql, report)
  const { replayed } = report
  const rowsReplayed = replayed === null ? null : replayed.merged + replayed.queued + replayed.outdated
  const row = cellsOf({ ...report, rowsReplayed, rowsByTable: JSON.stringify(report.rowsByTable) })
  const columns = runs.columns.filter(({ name }) => name in row)
  await sql.stage('stage_runs', columns, [row])
  const values = columns.filter(({ name }) => !runs.key.includes(name))
  await sql.run(`MERGE INTO ${qualified(runs)} r USING temp.stage_runs s ON r.run_id = s.run_id AND r.account = s.account
    WHEN MATCHED THEN UPDATE SET ${values.map(({ name }) => `${quote(name)} = s.${quote(name)}`).join(', ')}`)
}

const cellsOf = (record: Partial<RunRecord>): CellRow =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, cell]) => (name in RUN_FIELDS ? [[snakeCase(name), cell]] : [])),
  )

/**
 * `_sync.runs` with numbers, error codes and `rate_limited`, also for a published state of an older version, which lacks these columns.
 * Runs without a number are the newest. Among them, runs that are dated in the future come first; otherwise each of these would be the last
 * run until that time.
 */
export const NUMBERED_RUNS = `(SELECT * EXCLUDE (run_number), row_number() OVER (
    ORDER BY run_number ASC NULLS LAST, started_at <= now() ASC, started_at ASC, run_id ASC) AS run_number
  FROM (FROM _sync.runs UNION ALL BY NAME SELECT NULL::BIGINT AS run_number, NULL::VARCHAR AS error_code, NULL::BIGINT AS rate_limited WHERE false))`

/** How many runs of accounts are recorded, and the id of the last run; null without runs. */
export const readLastRun = async (sql: Sql): Promise<z.output<typeof lastRunRow>> => {
  const [row] = await sql.rows(
    lastRunRow,
    `SELECT count(*) AS runs, max_by(run_id, run_number) AS run_id FROM ${NUMBERED_RUNS}`,
  )
  return row ?? { runs: 0, run_id: null }
}

/** How long a run may wait before it lists, microseconds. */
const AHEAD_US_MIN = 600_000_000

const lastRunRow = z.object({ runs: bigintCell, run_id: varcharCell.nullable() })

/** Numbers the run that starts, after the runs of an older version in the order of their records. Accounts of a run share its number. */
const numberRuns = (sql: Sql): Promise<void> =>
  sql.run(`UPDATE ${qualified(runs)} r SET run_number = n.run_number
    FROM (SELECT run_id, coalesce(max(run_number), (SELECT coalesce(max(run_number), 0) FROM ${qualified(runs)})
        + row_number() OVER (ORDER BY max(run_number) IS NULL DESC, min(rowid) ASC)) AS run_number
      FROM ${qualified(runs)} GROUP BY run_id HAVING count(*) > count(run_number)) n
    WHERE r.run_id = n.run_id AND r.run_number IS NULL`)

/** Replaces the usage of a run that is recorded again. */
const storeRequestUsage = async (sql: Sql, { runId, account, requestUsage }: RunReport): Promise<void> => {
  await sql.run(`DELETE FROM ${qualified(requests)} WHERE run_id = $1 AND account = $2`, [runId, account])
  const key = { run_id: runId, account }
  await sql.insert(
    requests,
    requestUsage.map(({ kind, reason, requests: made, saved }) => ({ ...key, reason, kind, made, saved })),
  )
}

const runRow = z.object({
  run_id: varcharCell,
  account: varcharCell,
  started_at: timestamptzCell,
  requests: bigintCell.nullable(),
  requests_estimated: bigintCell.nullable(),
})
const usageRow = z.object({
  kind: z.enum(REQUEST_KINDS),
  reason: z.enum(REQUEST_REASONS),
  requests: bigintCell,
  saved: bigintCell,
})

export type RunRequestUsage = z.output<typeof runRow> & { readonly requestUsage: readonly RequestUsage[] }

/** The last ended sync of each account. */
export const LAST_SYNCS = `(FROM ${NUMBERED_RUNS} WHERE command = 'sync' AND ended_at IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY account ORDER BY run_number DESC) = 1)`

/**
 * When the last complete sync of each account ended, `complete_at`. Our clock may have been ahead in that night. Then the run began earlier
 * than recorded: by the amount that our clock was further ahead of the server's than in earlier runs. If an earlier run began the listing,
 * the listing has the time of that run.
 */
export const COMPLETE_SYNCS = `(WITH syncs AS (
    SELECT account, run_number, ended_at, status = 'complete' AS is_complete,
      lag(is_complete) OVER before AS follows_complete, epoch_us(started_at) - epoch_us(cursor_after) AS ahead,
      median(ahead) FILTER (is_complete) OVER (before ROWS BETWEEN 10 PRECEDING AND 1 PRECEDING) AS usual
    FROM ${NUMBERED_RUNS} WHERE command = 'sync' WINDOW before AS (PARTITION BY account ORDER BY run_number))
  SELECT account, max_by(ended_at - to_microseconds(CASE WHEN follows_complete AND ahead - usual > ${AHEAD_US_MIN}
      THEN (ahead - usual)::BIGINT ELSE 0 END), run_number) AS complete_at
  FROM syncs WHERE is_complete GROUP BY account)`

/** The last ended sync of each account, with its request usage. */
export const lastRequestUsage = async (sql: Sql): Promise<readonly RunRequestUsage[]> => {
  const runs = await sql.rows(
    runRow,
    `SELECT run_id, account, started_at, requests, requests_estimated FROM ${LAST_SYNCS} ORDER BY account`,
  )
  return await Promise.all(
    runs.map(async (run) => ({
      ...run,
      requestUsage: await sql.rows(
        usageRow,
        `SELECT kind, reason, made AS requests, saved
          FROM _sync.requests WHERE run_id = $1 AND account = $2 ORDER BY reason, kind`,
        [run.run_id, run.account],
      ),
    })),
  )
}
