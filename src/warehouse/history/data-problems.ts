/** Reads what the tables say of a run for its report, as numbers and names: the queue that it left, quarantine and drift events. */
import { z } from 'zod'
import type { RunFacts } from '../../model/run.js'
import { DRIFT_KINDS } from '../../model/survey-source.js'
import { sum } from '../../rules/estimate.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { readFailing, readQueue } from '../queue/tasks.js'

/** Further ones are only counted, which keeps the report readable. */
const NAMED_MAX = 10

export const readRunFacts = async (
  sql: AccountSql,
  runId: string,
  only?: readonly number[],
): Promise<RunFacts> => {
  const ofRun = [sql.account, runId]
  const count = (rows: string, run: string) =>
    countOf(sql, `SELECT count(*) AS "Count" FROM ${rows} WHERE account = $1 AND ${run} = $2`, ofRun)
  const queue = (await readQueue(sql, only)).filter(({ account }) => account === sql.account)
  const failing = await readFailing(sql, NAMED_MAX, sql.account, only)
  return {
    leftOver: sum(queue.map(({ tasks }) => tasks)),
    failing: sum(queue.map((of) => of.failing)),
    failingSurveys: failing.map(({ account: _, survey_id: surveyId, ...survey }) => ({
      surveyId,
      ...survey,
    })),
    rejectedRows: await count('_sync.rejected_rows', 'run_id'),
    driftEvents: await count('_sync.drift_events', 'last_run_id'),
    drift: await sql.rows(driftRow, SELECT_DRIFT, ofRun),
    rejections: await sql.rows(reasonRow, selectReasons('account = $1 AND run_id = $2'), ofRun),
  }
}

const driftRow = z.object({
  resource: varcharCell,
  kind: z.enum(DRIFT_KINDS),
  path: varcharCell,
  value: varcharCell.nullable(),
  occurrences: bigintCell,
  firstSeenAt: timestamptzCell,
  isNew: booleanCell,
})

/** New drift comes first. */
const SELECT_DRIFT = `SELECT resource, kind, path, value, occurrences, first_seen_at AS "firstSeenAt", first_run_id = $2 AS "isNew"
  FROM _sync.drift_events WHERE account = $1 AND last_run_id = $2
  ORDER BY "isNew" DESC, resource, path, value, kind LIMIT ${NAMED_MAX}`

/** The rows of all runs that no replay could type so far. */
export const readWaiting = async (sql: AccountSql) => {
  const areWaiting = 'account = $1 AND replayed_at IS NULL'
  const count = `SELECT count(*) AS "Count" FROM _sync.rejected_rows WHERE ${areWaiting}`
  return {
    waiting: await countOf(sql, count, [sql.account]),
    rejections: await sql.rows(reasonRow, selectReasons(areWaiting), [sql.account]),
  }
}

const reasonRow = z.object({ endpoint: varcharCell, problem: varcharCell, rows: bigintCell })

const selectReasons = (condition: string): string =>
  `SELECT endpoint, problem, count(*) AS "rows" FROM _sync.rejected_rows WHERE ${condition}
    GROUP BY ALL ORDER BY "rows" DESC, endpoint, problem LIMIT ${NAMED_MAX}`
