/** The task queue, `_sync.tasks`: the surveys to read, and why. `rules/queue` orders them. */
import { z } from 'zod'
import { bigint, columnsOf, timestamptz, varchar } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import type { SurveyKind } from '../../model/request-usage.js'
import { tasks } from '../../model/sync-tables.js'
import type { NewTask } from '../../model/warehouse.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql, Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { dropKept } from './kept-answers.js'
import { FRESHNESS } from './older-state.js'

/**
 * Queues surveys. No survey occurs twice in `surveys`; `at` is the server time of the reason. A survey that is already queued keeps its
 * time and gets the new reason. Its earlier refusals no longer delay it.
 */
export const enqueue = async (
  sql: AccountSql,
  surveys: readonly (NewTask & { readonly at: Instant })[],
  runId: string,
): Promise<void> => {
  if (surveys.length === 0) return
  const rows = surveys.map(({ surveyId, reason, at }) => ({ survey_id: surveyId, reason, at }))
  await sql.stage(QUEUED_STAGE, QUEUED_COLUMNS, rows)
  await sql.run(
    `MERGE INTO ${qualified(tasks)} t USING temp.${QUEUED_STAGE} s ON t.account = $1 AND t.survey_id = s.survey_id
      WHEN MATCHED THEN UPDATE SET reason = s.reason, refusals = NULL, refused_at = NULL, queued_again_at = s."at"
      WHEN NOT MATCHED THEN INSERT (account, survey_id, reason, enqueued_at, enqueued_run_id, attempts)
        VALUES ($1, s.survey_id, s.reason, s."at", $2, 0)`,
    [sql.account, runId],
  )
  // Kept answers of these surveys are dropped, because only new answers can show that a survey has gone.
  const missing = surveys.filter(({ reason }) => reason === 'missing')
  if (missing.length > 0)
    await dropKept(
      sql,
      missing.map(({ surveyId }) => surveyId),
    )
}

const QUEUED_STAGE = 'stage_queued'
const QUEUED_COLUMNS = columnsOf({ survey_id: bigint(''), reason: varchar(''), at: timestamptz('') })

/** The surveys for which the API has answered this kind of request before. */
export const answeredSurveys = async (sql: AccountSql, kind: SurveyKind): Promise<ReadonlySet<number>> => {
  const rows = await sql.rows(z.object({ survey_id: bigintCell }), SELECT_ANSWERED[kind], [sql.account])
  return new Set(rows.map(({ survey_id }) => survey_id))
}

const SELECT_ANSWERED: Readonly<Record<SurveyKind, string>> = {
  sample_sources: `SELECT survey_id FROM main.freshness
    WHERE account = $1 AND coalesce(sources_listed_at, sources_read_at) IS NOT NULL`,
  survey_progress: 'SELECT survey_id FROM main.freshness WHERE account = $1 AND refreshed_at IS NOT NULL',
  sample_source_progress: 'SELECT DISTINCT survey_id FROM main.sample_source_progress WHERE account = $1',
  daily_progress: `SELECT survey_id FROM main.survey_progress_by_day WHERE account = $1
    UNION SELECT survey_id FROM main.survey_progress_reconstructed WHERE account = $1`,
}

/** The tasks stay, with their last error. */
export const forgetRefusals = (sql: AccountSql, runId: string): Promise<void> =>
  sql.run(
    `UPDATE ${qualified(tasks)} SET refusals = NULL, refused_at = NULL WHERE account = $1 AND last_run_id = $2`,
    [sql.account, runId],
  )

const queueRow = z.object({
  account: varcharCell,
  reason: varcharCell,
  tasks: bigintCell,
  failing: bigintCell,
  oldest_at: timestamptzCell,
})

/** The tasks of all accounts by reason; with `only`, the tasks of these surveys. */
export const readQueue = (
  sql: Sql,
  only?: readonly number[],
): Promise<readonly z.output<typeof queueRow>[]> =>
  sql.rows(
    queueRow,
    `SELECT account, reason, count(*) AS tasks, count(last_error) AS failing, min(enqueued_at) AS oldest_at
      FROM ${WORKED_ON} t WHERE ${isAmong(only)} GROUP BY ALL ORDER BY ALL`,
  )

const isAmong = (only: readonly number[] = []): string =>
  only.length === 0 ? 'true' : `t.survey_id IN (${only.join(', ')})`

const failingRow = z.object({
  account: varcharCell,
  survey_id: bigintCell,
  title: varcharCell.nullable(),
  attempts: bigintCell,
  error: varcharCell,
})

/** Queued surveys of one account, or of all accounts, that could not be read, most failures first. */
export const readFailing = (
  sql: Sql,
  rowsMax: number,
  account: string | null = null,
  only?: readonly number[],
): Promise<readonly z.output<typeof failingRow>[]> =>
  sql.rows(
    failingRow,
    `SELECT t.account, t.survey_id, s.title, t.attempts, t.last_error AS error
      FROM ${WORKED_ON} t LEFT JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id
      WHERE ${isAmong(only)} AND t.last_error IS NOT NULL AND t.account = coalesce($1, t.account)
      ORDER BY t.account, t.attempts DESC, t.survey_id DESC LIMIT ${rowsMax}`,
    [account],
  )

/** Runs before each page of a listing, so its cost must not grow with the queue. */
export const hasTasks = async (sql: AccountSql): Promise<boolean> => {
  const query = `SELECT survey_id FROM ${WORKED_ON} WHERE account = $1 LIMIT 1`
  return (await sql.rows(z.unknown(), query, [sql.account])).length > 0
}

/**
 * The tasks that runs work on: tasks of surveys that no rule excludes, and tasks with the reason `missing`, because no rule may hide that a
 * survey is gone.
 */
const WORKED_ON = `(FROM _sync.tasks q WHERE q.reason = 'missing' OR NOT EXISTS (
    FROM ${FRESHNESS} f WHERE f.account = q.account AND f.survey_id = q.survey_id AND f.excluded_by IS NOT NULL))`
