/** The record of every run, `_sync.runs`. Complete, partial and failed runs differ here, as in their exit codes. */
import { snakeCase } from '../../base/snake-case.js'
import type { RunReport, RunStart } from '../../model/run.js'
import { RUN_FIELDS, type RunRecord } from '../../model/run-record.js'
import { runs } from '../../model/sync-tables.js'
import type { CellRow } from '../../model/warehouse.js'
import type { AccountSql, Sql } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'
import { storeRequestUsage } from './request-usage.js'
import { numberRuns } from './run-order.js'

/** We hold the lock, so any other run that is still `running` has died (docs/decisions/warehouse.md#0029-a-run-marks-all-other-running-runs-as-killed). */
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

/** The fields of `record`, by column. */
const cellsOf = (record: Partial<RunRecord>): CellRow =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, cell]) => (name in RUN_FIELDS ? [[snakeCase(name), cell]] : [])),
  )
