/** The accounts of the warehouse at the end of a sync, for its metrics: their last runs, queues and freshness. */
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import { snakeCase } from '../../base/snake-case.js'
import type { AccountState } from '../../model/monitoring.js'
import { TASK_REASONS } from '../../model/request-usage.js'
import type { TaskReason } from '../../model/run.js'
import { DATA_TABLES, HISTORY_TABLES } from '../../model/tables.js'
import { sum } from '../../rules/estimate.js'
import { INACTIVE_STATUSES } from '../../rules/refresh.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { literal, qualified } from '../connection/ddl.js'
import { lastRequestUsage } from './request-usage.js'
import { NUMBERED_RUNS } from './run-order.js'

const counts = z.record(
  z.string(),
  z.object({ added: z.number(), changed: z.number(), unchanged: z.number() }),
)
const runRow = z.object({
  account: varcharCell,
  runId: varcharCell,
  startedAt: timestamptzCell,
  endedAt: timestamptzCell,
  exitCode: bigintCell,
  retries: bigintCell,
  refusals: bigintCell,
  surveysListed: bigintCell,
  surveysRefreshed: bigintCell,
  surveysFailed: bigintCell,
  leftOver: bigintCell,
  rejectedRows: bigintCell,
  driftEvents: bigintCell,
  rowsByTable: varcharCell.transform((text) => parse(counts, JSON.parse(text), 'rows_by_table')),
})
const RUN_COLUMNS = Object.keys(runRow.shape).map((name) => `${snakeCase(name)} AS "${name}"`)
const pastRow = z.object({
  account: varcharCell,
  first_at: timestamptzCell.nullable(),
  complete_at: timestamptzCell.nullable(),
})
const taskRow = z.object({
  account: varcharCell,
  reason: z.enum(TASK_REASONS),
  tasks: bigintCell,
  failing: bigintCell,
})
const countRow = z.object({ account: varcharCell, count: bigintCell })
const driftRow = countRow.extend({ run_id: varcharCell })
const tableRow = countRow.extend({ table: varcharCell })
const activeRow = z.object({
  account: varcharCell,
  active: bigintCell,
  never: bigintCell,
  oldest_at: timestamptzCell.nullable(),
})

/** The state of each of these accounts that has an ended sync. */
export const readAccountStates = async (
  sql: Sql,
  accounts: readonly string[],
): Promise<readonly AccountState[]> => {
  const runs = await sql.rows(
    runRow,
    `SELECT ${RUN_COLUMNS.join(', ')} FROM ${NUMBERED_RUNS}
      WHERE command = 'sync' AND ended_at IS NOT NULL
      QUALIFY row_number() OVER (PARTITION BY account ORDER BY run_number DESC) = 1 ORDER BY account`,
  )
  const past = await sql.rows(
    pastRow,
    // An alert would wait until a time in the future has come.
    `SELECT account, min_by(started_at, run_number) FILTER (started_at <= now()) AS first_at,
        max_by(ended_at, run_number) FILTER (status = 'complete' AND ended_at <= now()) AS complete_at
      FROM ${NUMBERED_RUNS} WHERE command = 'sync' GROUP BY account`,
  )
  const usage = await lastRequestUsage(sql)
  const tasks = await sql.rows(
    taskRow,
    `SELECT account, reason, count(*) AS tasks, count(*) FILTER (last_error IS NOT NULL) AS failing FROM _sync.tasks GROUP BY ALL`,
  )
  const waiting = await sql.rows(
    countRow,
    'SELECT account, count(*) AS count FROM _sync.rejected_rows WHERE replayed_at IS NULL GROUP BY ALL',
  )
  const drift = await sql.rows(
    driftRow,
    'SELECT account, first_run_id AS run_id, count(*) AS count FROM _sync.drift_events GROUP BY ALL',
  )
  const active = await sql.rows(
    activeRow,
    `SELECT s.account, count(*) AS active, count(*) FILTER (f.refreshed_at IS NULL) AS never, min(f.refreshed_at) AS oldest_at
      FROM main.surveys s LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      WHERE s._missing_since IS NULL AND s.status NOT IN (${INACTIVE_STATUSES.map(literal).join(', ')}) GROUP BY ALL`,
  )
  const counted = [...DATA_TABLES, ...HISTORY_TABLES].map(
    (table) =>
      `SELECT account, ${literal(table.name)} AS "table", count(*) AS count FROM ${qualified(table)} GROUP BY ALL`,
  )
  const tables = await sql.rows(tableRow, counted.join(' UNION ALL '))
  return runs
    .filter(({ account }) => accounts.includes(account))
    .map(({ account, runId, ...run }): AccountState => {
      const ofAccount = <Row extends { readonly account: string }>(rows: readonly Row[]) =>
        rows.filter((row) => row.account === account)
      const [times] = ofAccount(past)
      const [known] = ofAccount(active)
      return {
        account,
        firstRunAt: times?.first_at ?? run.startedAt,
        lastCompleteAt: times?.complete_at ?? null,
        lastRun: {
          ...run,
          requestUsage: ofAccount(usage)[0]?.requestUsage ?? [],
          newDriftEvents: ofAccount(drift).find(({ run_id }) => run_id === runId)?.count ?? 0,
        },
        queued: {
          ...NONE_QUEUED,
          ...Object.fromEntries(ofAccount(tasks).map((task) => [task.reason, task.tasks])),
        },
        failing: sum(ofAccount(tasks).map(({ failing }) => failing)),
        waitingRows: ofAccount(waiting)[0]?.count ?? 0,
        active: known?.active ?? 0,
        activeNeverRefreshed: known?.never ?? 0,
        oldestActiveRefreshAt: known?.oldest_at ?? null,
        tableRows: Object.fromEntries(ofAccount(tables).map(({ table, count }) => [table, count])),
      }
    })
}

const NONE_QUEUED: Readonly<Record<TaskReason, number>> = {
  changed: 0,
  active: 0,
  settling: 0,
  old: 0,
  missing: 0,
}
