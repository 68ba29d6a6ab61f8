/** The record of every run, `_sync.runs`: complete, partial and failed ones differ here as they do in exit codes. */
import { snakeCase } from '../../base/snake-case.js'
import type { RunReport, RunStart } from '../../model/run.js'
import { RUN_FIELDS, type RunRecord } from '../../model/run-record.js'
import { runs } from '../../model/sync-tables.js'
import type { CellRow } from '../../model/warehouse.js'
import type { Sql } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'
import { storeRequestUsage } from './request-usage.js'

/**
 * Also marks the runs that died. We hold the lock, so a run with another id that is still `running` has died, whatever its
 * account: an account that has left the settings has no later run of its own to say so.
 */
export const startRun = async (sql: Sql, account: string, run: RunStart): Promise<void> => {
  await sql.run(
    `UPDATE ${qualified(runs)} SET status = 'killed', reason = 'it ended without a word: killed, or the machine went down'
      WHERE run_id <> $1 AND status = 'running'`,
    [run.runId],
  )
  await sql.insert(runs, [cellsOf({ ...run, account, status: 'running' })])
}

/** Writes how the run ended; a second time when publishing has changed that. */
export const finishRun = async (sql: Sql, report: RunReport): Promise<void> => {
  await storeRequestUsage(sql, report, report.requestUsage)
  const row = cellsOf({
    ...report,
    rowsReplayed: rowsReplayed(report),
    rowsByTable: JSON.stringify(report.rowsByTable),
  })
  const columns = runs.columns.filter(({ name }) => name in row)
  await sql.stage('stage_runs', columns, [row])
  const values = columns.filter(({ name }) => !runs.key.includes(name))
  await sql.run(`MERGE INTO ${qualified(runs)} r USING temp.stage_runs s ON r.run_id = s.run_id AND r.account = s.account
    WHEN MATCHED THEN UPDATE SET ${values.map(({ name }) => `${quote(name)} = s.${quote(name)}`).join(', ')}`)
}

const rowsReplayed = ({ replayed }: RunReport): number | null =>
  replayed === null ? null : replayed.merged + replayed.queued + replayed.outdated

/** The fields that `record` has, by column. */
const cellsOf = (record: Partial<RunRecord>): CellRow =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, cell]) => (name in RUN_FIELDS ? [[snakeCase(name), cell]] : [])),
  )
