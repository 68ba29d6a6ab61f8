/** The accounts of the warehouse at the end of a sync, for its metrics: their last runs, queues and freshness. */

import { sum } from 'd3-array'
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import { snakeCase } from '../../base/snake-case.js'
import type { AccountState } from '../../model/monitoring.js'
import type { TaskReason } from '../../model/run.js'
import { DATA_TABLES, HISTORY_TABLES } from '../../model/tables.js'
import { INACTIVE_STATUSES } from '../../rules/refresh.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { literal, qualified } from '../connection/ddl.js'
import { readQueue } from '../queue/tasks.js'
import { LAST_SYNCS, lastRequestUsage, NUMBERED_RUNS } from './runs.js'

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
  rateLimited: bigintCell,
  surveysListed: bigintCell,
  surveysRefreshed: bigintCell,
  surveysFailed: bigintCell,
  leftOver: bigintCell,
  rejectedRows: bigintCell,
  driftEvents: bigintCell,
  rowsByTable: varcharCell.transform((text) => parse(counts, JSON.parse(text), 'rows_by_table')),
})
const RUN_COLUMNS = Object.keys(runRow.shape).map((name) => `r.${snakeCase(name)} AS "${name}"`)
const stateRow = runRow.extend({
  firstRunAt: timestamptzCell,
  lastCompleteAt: timestamptzCell.nullable(),
  newDriftEvents: bigintCell,
  waitingRows: bigintCell,
  active: bigintCell,
  activeNeverRefreshed: bigintCell,
  oldestActiveRefreshAt: timestamptzCell.nullable(),
})
const tableRow = z.object({ account: varcharCell, table: varcharCell, count: bigintCell })

// A time in the future does not count, because an alert would wait for that time.
const SELECT_STATES = `SELECT ${RUN_COLUMNS.join(', ')}, coalesce(p.first_at, r.started_at) AS "firstRunAt",
    p.complete_at AS "lastCompleteAt", coalesce(d.events, 0) AS "newDriftEvents", coalesce(w.waiting, 0) AS "waitingRows",
    coalesce(a.active, 0) AS active, coalesce(a.never, 0) AS "activeNeverRefreshed", a.oldest_at AS "oldestActiveRefreshAt"
  FROM ${LAST_SYNCS} r
  LEFT JOIN (SELECT account, min_by(started_at, run_number) FILTER (started_at <= now()) AS first_at,
      max_by(ended_at, run_number) FILTER (status = 'complete' AND ended_at <= now()) AS complete_at
    FROM ${NUMBERED_RUNS} WHERE command = 'sync' GROUP BY account) p ON p.account = r.account
  LEFT JOIN (SELECT account, first_run_id, count(*) AS events FROM _sync.drift_events GROUP BY ALL) d
    ON d.account = r.account AND d.first_run_id = r.run_id
  LEFT JOIN (SELECT account, count(*) AS waiting FROM _sync.rejected_rows WHERE replayed_at IS NULL GROUP BY ALL) w
    ON w.account = r.account
  LEFT JOIN (SELECT s.account, count(*) AS active, count(*) FILTER (f.refreshed_at IS NULL) AS never, min(f.refreshed_at) AS oldest_at
    FROM main.surveys s LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    WHERE s._missing_since IS NULL AND f.excluded_by IS NULL AND s.status NOT IN (${INACTIVE_STATUSES.map(literal).join(', ')}) GROUP BY ALL) a
    ON a.account = r.account
  ORDER BY r.account`

const SELECT_TABLES = [...DATA_TABLES, ...HISTORY_TABLES]
  .map(
    (table) =>
      `SELECT account, ${literal(table.name)} AS "table", count(*) AS count FROM ${qualified(table)} GROUP BY ALL`,
  )
  .join(' UNION ALL ')

/** The state of each of these accounts that has an ended sync. */
export const readAccountStates = async (
  sql: Sql,
  accounts: readonly string[],
): Promise<readonly AccountState[]> => {
  const states = await sql.rows(stateRow, SELECT_STATES)
  const usage = await lastRequestUsage(sql)
  const tasks = await readQueue(sql)
  const tables = await sql.rows(tableRow, SELECT_TABLES)
  return states
    .filter(({ account }) => accounts.includes(account))
    .map(({ runId: _, ...state }): AccountState => {
      const ofAccount = <Row extends { readonly account: string }>(rows: readonly Row[]) =>
        rows.filter(({ account }) => account === state.account)
      const queued = ofAccount(tasks)
      return {
        ...state,
        requestUsage: ofAccount(usage)[0]?.requestUsage ?? [],
        queued: { ...NONE_QUEUED, ...Object.fromEntries(queued.map((task) => [task.reason, task.tasks])) },
        failing: sum(queued.map(({ failing }) => failing)),
        tableRows: Object.fromEntries(ofAccount(tables).map(({ table, count }) => [table, count])),
      }
    })
}

const NONE_QUEUED: Readonly<Record<TaskReason, number>> = {
  changed: 0,
  active: 0,
  inactive: 0,
  missing: 0,
  requested: 0,
}
