/** The facts about a run for its report, from the tables: the remaining queue, quarantine and drift events. */

import { sum } from 'd3-array'
import { z } from 'zod'
import type { LeftOut, RunFacts } from '../../model/run.js'
import { DRIFT_KINDS } from '../../model/survey-source.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { readFailing, readQueue } from '../queue/tasks.js'
import { LEAVES_OUT } from '../queue/unlisted-surveys.js'

/** The most surveys and events that are named. Further ones are only counted, which keeps the report readable. */
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
    ...(only === undefined ? await readLeftOut(sql) : NONE_LEFT_OUT),
    rejectedRows: await count('_sync.rejected_rows', 'run_id'),
    driftEvents: await count('_sync.drift_events', 'last_run_id'),
    drift: await sql.rows(driftRow, SELECT_DRIFT, ofRun),
    rejections: await sql.rows(reasonRow, selectReasons('account = $1 AND run_id = $2'), ofRun),
  }
}

const NONE_LEFT_OUT: LeftOut = {
  surveysLeftOut: 0,
  surveysUnconfirmed: 0,
  sourcesLeftOut: 0,
  surveysWithLeftOut: 0,
  firstWithLeftOut: null,
}

/**
 * Surveys that full listings do not show, and that are neither missing nor excluded. They still answer, or wait for another full listing.
 */
const readLeftOut = async (sql: AccountSql): Promise<LeftOut> => {
  const [row] = await sql.rows(
    z.object({
      surveysLeftOut: bigintCell,
      surveysUnconfirmed: bigintCell,
      sourcesLeftOut: bigintCell,
      surveysWithLeftOut: bigintCell,
      firstWithLeftOut: bigintCell.nullable(),
    }),
    `SELECT count(*) FILTER (${LEAVES_OUT}) AS "surveysLeftOut",
        count(*) FILTER (f.unlisted_since = c.vanished_at AND coalesce(f.refreshed_at < f.unlisted_since, true)) AS "surveysUnconfirmed",
        coalesce(sum(f.sources_left_out), 0)::BIGINT AS "sourcesLeftOut",
        count(f.sources_left_out) AS "surveysWithLeftOut", min(f.survey_id) FILTER (f.sources_left_out > 0) AS "firstWithLeftOut"
      FROM main.freshness f JOIN main.surveys s ON s.account = f.account AND s.id = f.survey_id
      JOIN _sync.cursors c ON c.account = f.account
      WHERE f.account = $1 AND s._missing_since IS NULL AND f.excluded_by IS NULL`,
    [sql.account],
  )
  return row ?? NONE_LEFT_OUT
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
