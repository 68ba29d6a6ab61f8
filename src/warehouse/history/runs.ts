/** The record of every run, `_sync.runs`: complete, partial and failed ones differ here as they do in exit codes. */
import type { RunReport } from '../../model/run.js'
import { runs } from '../../model/sync-tables.js'
import type { CellRow, RunStart } from '../../model/warehouse.js'
import { instant } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { createTemporary, qualified, quote } from '../connection/ddl.js'
import { storeSpending } from './spending.js'

/**
 * Who records a run holds the warehouse: whatever else is said to be running, of any account, is not, but for the accounts
 * beside this one in the same run. Also that of an account that is not in this run would be said to run for good.
 */
export const startRun = async (sql: Sql, account: string, run: RunStart): Promise<void> => {
  await sql.run(
    `UPDATE ${qualified(runs)} SET status = 'killed', reason = 'it ended without a word: killed, or the machine went down'
      WHERE run_id <> $1 AND status = 'running'`,
    [run.runId],
  )
  await sql.run(
    `INSERT INTO ${qualified(runs)} (run_id, account, version, command, started_at, status) VALUES ($1, $2, $3, $4, $5, 'running')`,
    [run.runId, account, run.version, run.command, instant(run.startedAt)],
  )
}

/** Writes how the run ended; a second time when publishing has changed that. */
export const finishRun = async (sql: Sql, report: RunReport): Promise<void> => {
  await storeSpending(sql, report, report.spending)
  const columns = runs.columns.filter(({ name }) => !FROM_ITS_START.includes(name))
  await sql.run(createTemporary('stage_runs', columns))
  await sql.append('stage_runs', columns, [reportRow(report)])
  const values = columns.filter(({ name }) => !runs.key.includes(name))
  await sql.run(`MERGE INTO ${qualified(runs)} r USING temp.stage_runs s ON r.run_id = s.run_id AND r.account = s.account
    WHEN MATCHED THEN UPDATE SET ${values.map(({ name }) => `${quote(name)} = s.${quote(name)}`).join(', ')}`)
}

const FROM_ITS_START = ['version', 'command', 'started_at']

const reportRow = (report: RunReport): CellRow => ({
  run_id: report.runId,
  account: report.account,
  ended_at: report.endedAt,
  status: report.status,
  exit_code: report.exitCode,
  reason: report.reason,
  listing: report.listing,
  cursor_before: report.cursorBefore,
  cursor_after: report.cursorAfter,
  requests_estimated: report.requestsEstimated,
  requests: report.requests,
  retries: report.retries,
  refusals: report.refusals,
  surveys_listed: report.surveysListed,
  surveys_refreshed: report.surveysRefreshed,
  surveys_failed: report.surveysFailed,
  left_over: report.leftOver,
  rejected_rows: report.rejectedRows,
  drift_events: report.driftEvents,
  history_rows_compacted: report.historyRowsCompacted,
  rows_replayed: rowsReplayed(report),
  rows_by_table: JSON.stringify(report.rowsByTable),
})

const rowsReplayed = ({ replayed }: RunReport): number | null =>
  replayed === null ? null : replayed.merged + replayed.queued + replayed.outdated
