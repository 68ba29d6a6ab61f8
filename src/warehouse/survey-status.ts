/** Reads from a published state the facts that explain how old the data of one survey is. */
import { z } from 'zod'
import { ExpectedError } from '../base/errors.js'
import { parse } from '../base/parse.js'
import { formatInstant, type Instant } from '../model/instant.js'
import type { RefreshRules } from '../model/run.js'
import { bigintCell, booleanCell, doubleCell, timestamptzCell, varcharCell } from './connection/cells.js'
import type { Sql } from './connection/database.js'
import { LAST_SYNCS } from './history/runs.js'
import { FRESHNESS } from './queue/older-state.js'
import { readPlannedSurvey } from './queue/planned-surveys.js'
import { withTemporaryViews } from './views/all.js'
import { progressDaily } from './views/progress-daily.js'
import { surveyProgressPeriods } from './views/progress-periods.js'

const DAYS_SHOWN = 7

const storedRow = z.object({
  title: varcharCell.nullable(),
  status: varcharCell.nullable(),
  missing_since: timestamptzCell.nullable(),
  listed_at: timestamptzCell.nullable(),
  unlisted_since: timestamptzCell.nullable(),
  sources_left_out: bigintCell.nullable(),
  refreshed_at: timestamptzCell.nullable(),
  progress_since: timestamptzCell.nullable(),
  sources_read_at: timestamptzCell.nullable(),
  source_progress_read_at: timestamptzCell.nullable(),
  last_error: varcharCell.nullable(),
  attempts: bigintCell.nullable(),
})
const runRow = z.object({
  ended_at: timestamptzCell,
  status: varcharCell,
  reason: varcharCell.nullable(),
  surveys_refreshed: bigintCell.nullable(),
})
const rejectionRow = z.object({
  endpoint: varcharCell,
  problem: varcharCell,
  sources: bigintCell,
  days: bigintCell,
  rows: bigintCell,
  replayed: bigintCell,
  last_at: timestamptzCell,
})
const dayRow = z.object({
  day: varcharCell,
  interviews_count: bigintCell.nullable(),
  gained: bigintCell.nullable(),
  completion_rate: doubleCell.nullable(),
})

/**
 * The accounts that have this survey, also an account with only quarantined rows of it. Throws an error `unknown_survey` if no account has
 * it. `path` is the published state.
 */
export const accountsOfSurvey = async (
  sql: Sql,
  { account, surveyId }: { readonly account: string | undefined; readonly surveyId: number },
  path: string,
): Promise<readonly string[]> => {
  const accounts = (await readKnownSurveys(sql, [surveyId])).map((known) => known.account)
  if (account === undefined && accounts.length > 0) return accounts
  if (account !== undefined && accounts.includes(account)) return [account]
  const others = accounts.map((account) => `${account}/${surveyId}`)
  const meant = others.length === 0 ? '' : `: there is ${others.join(', ')}`
  throw new ExpectedError(
    'unknown_survey',
    `${path} has no survey ${account === undefined ? '' : `${account}/`}${surveyId}${meant}`,
  )
}

/** The accounts of the surveys and runs. */
export const readAccounts = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql.rows(
    z.object({ account: varcharCell }),
    'SELECT account FROM main.surveys UNION SELECT account FROM _sync.runs ORDER BY account',
  )
  return rows.map(({ account }) => account)
}

const knownRow = z.object({
  account: varcharCell,
  surveyId: bigintCell,
  missingSince: timestamptzCell.nullable(),
  isTyped: booleanCell,
})
export type KnownSurvey = z.output<typeof knownRow>

/** Which accounts have surveys with these ids. A survey that is not `isTyped` has only rows in quarantine. */
export const readKnownSurveys = (sql: Sql, surveyIds: readonly number[]): Promise<readonly KnownSurvey[]> =>
  sql.rows(
    knownRow,
    `WITH requested AS (SELECT unnest(CAST($1::JSON AS BIGINT[])) AS id)
      SELECT account, id AS "surveyId", _missing_since AS "missingSince", true AS "isTyped" FROM main.surveys SEMI JOIN requested USING (id)
      UNION SELECT r.account, r.survey_id, NULL, false FROM _sync.rejected_rows r SEMI JOIN requested a ON a.id = r.survey_id
        ANTI JOIN main.surveys s ON s.account = r.account AND s.id = r.survey_id ORDER BY ALL`,
    [JSON.stringify(surveyIds)],
  )

/** `now` is the server's time. */
export const readSurveyStatus = async (
  sql: Sql,
  { account, surveyId }: { readonly account: string; readonly surveyId: number },
  now: Instant,
  rules: RefreshRules,
) => {
  const [stored] = await sql.rows(
    storedRow,
    `SELECT s.title, s.status, s._missing_since AS missing_since, f.listed_at, f.unlisted_since, f.sources_left_out, f.refreshed_at,
        p._observed_at AS progress_since, f.sources_read_at, f.source_progress_read_at, f.last_error, t.attempts
      FROM (SELECT $1 AS account, $2::BIGINT AS id) k
      LEFT JOIN main.surveys s ON s.account = k.account AND s.id = k.id
      LEFT JOIN ${FRESHNESS} f ON f.account = k.account AND f.survey_id = k.id
      LEFT JOIN main.survey_progress p ON p.account = k.account AND p.survey_id = k.id
      LEFT JOIN _sync.tasks t ON t.account = k.account AND t.survey_id = k.id`,
    [account, surveyId],
  )
  const [lastRun = null] = await sql.rows(
    runRow,
    `SELECT ended_at, status, reason, surveys_refreshed FROM ${LAST_SYNCS} WHERE account = $1`,
    [account],
  )
  return {
    stored: parse(storedRow, stored, 'the row of a survey'),
    lastRun,
    /**
     * The facts with the status and time of the pending row, by which the next run decides; null if no row of the survey could be typed.
     */
    planned: await readPlannedSurvey({ ...sql, account }, surveyId, rules),
    rejections: await sql.rows(
      rejectionRow,
      `SELECT endpoint, problem, count(DISTINCT sample_source_id) AS sources, count(DISTINCT day) AS days, count(*) AS "rows",
          count(replayed_at) AS replayed, max(rejected_at) AS last_at
        FROM _sync.rejected_rows WHERE account = $1 AND survey_id = $2
        GROUP BY endpoint, problem, sample_source_id IS NULL, day IS NULL ORDER BY last_at DESC, endpoint, problem, sources, days`,
      [account, surveyId],
    ),
    days: await withTemporaryViews(sql, [surveyProgressPeriods, progressDaily], [], () =>
      sql.rows(
        dayRow,
        `SELECT CAST(day AS VARCHAR) AS day, interviews_count, gained, completion_rate FROM main.progress_daily
          WHERE account = $1 AND survey_id = $2 AND day > CAST($3 AS DATE) - ${DAYS_SHOWN} ORDER BY day`,
        [account, surveyId, formatInstant(now).slice(0, 10)],
      ),
    ),
  }
}

export type SurveyStatus = Awaited<ReturnType<typeof readSurveyStatus>>
