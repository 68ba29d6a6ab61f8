/** The task queue, `_sync.tasks`: which surveys are to be read, in which order, and what it will take. */
import { z } from 'zod'
import type { Instant } from '../../model/instant.js'
import { type RefusedSurvey, STATUSES_NOT_LIVE, type SurveyFacts } from '../../model/refresh-rules.js'
import type { DailyWindows, FailingSurveys } from '../../model/run.js'
import { tasks } from '../../model/sync-tables.js'
import type { NewTask, QueueSize, Stamp, Task } from '../../model/warehouse.js'
import { bigintCell, booleanCell, instant, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Database, Sql } from '../connection/database.js'
import { literal, qualified } from '../connection/ddl.js'
import { isReadAgain } from './stored-days.js'

/**
 * Queues surveys, each once: one that is queued already takes the new reason and keeps its place in time. What is queued
 * anew is tried anew, also where the API refused it before.
 */
export const enqueue = async (
  sql: Sql,
  account: string,
  newTasks: readonly NewTask[],
  { runId, at }: Stamp,
): Promise<void> => {
  if (newTasks.length === 0) return
  await sql.run(
    `MERGE INTO ${qualified(tasks)} t
      USING (SELECT unnest(from_json($1::JSON, '[{"survey_id":"BIGINT","reason":"VARCHAR","priority":"DOUBLE"}]'), recursive := true)) s
      ON t.account = $2 AND t.survey_id = s.survey_id
      WHEN MATCHED THEN UPDATE SET reason = s.reason, priority = s.priority, refusals = NULL, refused_at = NULL
      WHEN NOT MATCHED THEN INSERT (account, survey_id, reason, priority, enqueued_at, enqueued_run_id, attempts)
        VALUES ($2, s.survey_id, s.reason, s.priority, $3, $4, 0)`,
    [
      JSON.stringify(
        newTasks.map(({ surveyId, reason, priority }) => ({ survey_id: surveyId, reason, priority })),
      ),
      account,
      instant(at),
      runId,
    ],
  )
}

/** Gives every queued survey the weight of its status, also of one that a row which waits for its task will bring. */
export const weighTasks = async (
  sql: Sql,
  account: string,
  weightOf: (status: string) => number,
): Promise<void> => {
  const weighed = await sql.rows(
    z.object({ status: varcharCell, priority: z.number() }),
    `SELECT DISTINCT ${STATUS} AS status, t.priority FROM ${WITH_STATUS} WHERE t.account = $1 AND ${STATUS} IS NOT NULL`,
    [account],
  )
  for (const { status, priority } of weighed) {
    const weight = weightOf(status)
    if (weight === priority) continue
    await sql.run(
      `UPDATE ${qualified(tasks)} SET priority = $4 WHERE account = $1 AND priority = $3
        AND survey_id IN (SELECT t.survey_id FROM ${WITH_STATUS} WHERE t.account = $1 AND ${STATUS} = $2)`,
      [account, status, priority, weight],
    )
  }
}

const STATUS = 'coalesce(p.status, s.status)'
const WITH_STATUS = `_sync.tasks t
  LEFT JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id
  LEFT JOIN _sync.pending_surveys p ON p.account = t.account AND p.id = t.survey_id`

/** How many surveys a batch of the scan below holds. */
const SCAN_ROWS = 10_000

/** Facts of the surveys that are not queued, by ascending id, a batch at a time. */
export async function* unqueuedSurveys(
  database: Database,
  account: string,
): AsyncIterable<readonly SurveyFacts[]> {
  let after: number | null = null
  do {
    const batch: readonly SurveyFacts[] = await database.exclusively((sql) => factsAfter(sql, account, after))
    if (batch.length > 0) yield batch
    after = batch.length < SCAN_ROWS ? null : (batch.at(-1)?.id ?? null)
  } while (after !== null)
}

const factsRow = z
  .object({
    id: bigintCell,
    status: varcharCell,
    updated_at: timestamptzCell,
    refreshed_at: timestamptzCell.nullable(),
    progress_changed_at: timestamptzCell.nullable(),
    missing: booleanCell,
  })
  .transform(
    (row): SurveyFacts => ({
      id: row.id,
      status: row.status,
      updatedAt: row.updated_at,
      refreshedAt: row.refreshed_at,
      progressChangedAt: row.progress_changed_at,
      missing: row.missing,
    }),
  )

const factsAfter = (sql: Sql, account: string, after: number | null): Promise<readonly SurveyFacts[]> =>
  sql.rows(
    factsRow,
    `SELECT s.id, s.status, s.updated_at, f.refreshed_at, s._missing_since IS NOT NULL AS missing,
        CASE WHEN p._observed_at > p._first_seen_at THEN p._observed_at END AS progress_changed_at
      FROM main.surveys s
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
      WHERE s.account = $1 AND ($2::BIGINT IS NULL OR s.id > $2)
        AND NOT EXISTS (SELECT 1 FROM _sync.tasks t WHERE t.account = s.account AND t.survey_id = s.id)
      ORDER BY s.id LIMIT ${SCAN_ROWS}`,
    [account, after],
  )

/**
 * Requests that reading a survey takes: what a budget found out, else a page of sources, the whole progress, and one
 * for each source; for a survey never read, as many sources as the surveys known have on average (at least one). The
 * account is $1: a subquery that depended on the task costs a third more.
 */
const requestsOf = (windows: DailyWindows | null): string =>
  `coalesce(t.requests_needed, 2 + ${SOURCES}${windows === null ? '' : ` + ${daysOf(windows)}`})::BIGINT`

const SOURCES = `coalesce(c.sources,
  CASE WHEN f.refreshed_at IS NULL THEN (SELECT greatest(1, ceil(count(*) / greatest(1, count(DISTINCT survey_id))))
    FROM main.sample_sources WHERE account = $1 AND _missing_since IS NULL) ELSE 0 END)`

/** Of a live survey the days that are read every night and the one that becomes final; of any other those that are read again. */
const daysOf = ({ days, sources }: DailyWindows): string =>
  `CASE WHEN w.status IN (${STATUSES_NOT_LIVE.map(literal).join(', ')}) THEN coalesce(d.days, 0)
    ELSE ${days + 1} * (1${sources ? ` + ${SOURCES}` : ''}) END`

const withDays = (
  windows: DailyWindows,
): string => `LEFT JOIN main.surveys w ON w.account = t.account AND w.id = t.survey_id
  LEFT JOIN (SELECT account, survey_id, count(*) AS days FROM main.survey_progress_by_day
    WHERE ${isReadAgain(windows)} GROUP BY ALL) d ON d.account = t.account AND d.survey_id = t.survey_id`

const withRequests = (windows: DailyWindows | null): string => `_sync.tasks t
  LEFT JOIN main.freshness f ON f.account = t.account AND f.survey_id = t.survey_id
  LEFT JOIN (SELECT account, survey_id, count(*) AS sources FROM main.sample_sources
    WHERE _missing_since IS NULL GROUP BY ALL) c ON c.account = t.account AND c.survey_id = t.survey_id
  ${windows === null ? '' : withDays(windows)}`

/** As `_sync.tasks` has it. */
export const taskReason = z.enum(['changed', 'live', 'settling', 'old', 'missing'])

const taskRow = z
  .object({
    survey_id: bigintCell,
    reason: taskReason,
    priority: z.number(),
    requests: bigintCell,
    is_left_over: booleanCell,
    refusals: bigintCell,
  })
  .transform(
    (row): Task => ({
      surveyId: row.survey_id,
      reason: row.reason,
      priority: row.priority,
      requests: row.requests,
      isLeftOver: row.is_left_over,
      refusals: row.refusals,
    }),
  )

/**
 * The tasks to do next that this run has not tried: time since the last refresh (since it was queued, if there was
 * none) times priority, the largest first; among equals the newest survey. Where neither time is believed, it counts as
 * having waited since ever (`model/believed`).
 */
export const nextTasks = (
  sql: Sql,
  account: string,
  request: { runId: string; now: Instant; limit: number; excluding: readonly number[] },
  windows: DailyWindows | null,
): Promise<readonly Task[]> =>
  sql.rows(
    taskRow,
    `SELECT t.survey_id, t.reason, t.priority, ${requestsOf(windows)} AS requests,
        t.enqueued_run_id <> $2 AS is_left_over, coalesce(t.refusals, 0) AS refusals FROM ${withRequests(windows)}
      LEFT JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id
      WHERE t.account = $1 AND t.last_run_id IS DISTINCT FROM $2
        AND NOT list_contains(CAST($5::JSON AS BIGINT[]), t.survey_id)
      ORDER BY (epoch_us($3::TIMESTAMPTZ) - coalesce(${believedMicros('f.refreshed_at')}, ${believedMicros('t.enqueued_at')}, 0)) * t.priority DESC,
        s.created_at DESC, t.survey_id DESC
      LIMIT $4`,
    [account, request.runId, instant(request.now), request.limit, JSON.stringify(request.excluding)],
  )

/** A stored time in microseconds, or null where it is missing or lies ahead of $3. */
const believedMicros = (column: string): string =>
  `CASE WHEN ${column} <= $3::TIMESTAMPTZ THEN epoch_us(${column}) END`

/** Queued surveys that the API refused when they were last tried. */
export const refusedSurveys = (sql: Sql, account: string): Promise<readonly RefusedSurvey[]> =>
  sql.rows(
    z
      .object({ survey_id: bigintCell, refusals: bigintCell, refused_at: timestamptzCell.nullable() })
      .transform((row) => ({
        surveyId: row.survey_id,
        refusals: row.refusals,
        refusedAt: row.refused_at,
      })),
    'SELECT survey_id, refusals, refused_at FROM _sync.tasks WHERE account = $1 AND refusals > 0',
    [account],
  )

/** How many failing surveys are named. */
const FAILING_NAMED_MAX = 10

export const failingSurveys = async (sql: Sql, account: string): Promise<FailingSurveys> => {
  const rows = await sql.rows(
    z.object({
      survey_id: bigintCell,
      title: varcharCell.nullable(),
      attempts: bigintCell,
      error: varcharCell,
      failing: bigintCell,
    }),
    `SELECT t.survey_id, s.title, t.attempts, t.last_error AS error, count(*) OVER () AS failing
      FROM _sync.tasks t LEFT JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id
      WHERE t.account = $1 AND t.last_error IS NOT NULL
      ORDER BY t.attempts DESC, t.survey_id DESC LIMIT ${FAILING_NAMED_MAX}`,
    [account],
  )
  return {
    failing: rows[0]?.failing ?? 0,
    failingSurveys: rows.map(({ survey_id, title, attempts, error }) => ({
      surveyId: survey_id,
      title,
      attempts,
      error,
    })),
  }
}

/** Asked before each page of a listing: it must not cost more as the queue grows. */
export const hasTasks = async (sql: Sql, account: string): Promise<boolean> =>
  (
    await sql.rows(
      z.object({ survey_id: bigintCell }),
      'SELECT survey_id FROM _sync.tasks WHERE account = $1 LIMIT 1',
      [account],
    )
  ).length > 0

export const queueSize = async (
  sql: Sql,
  account: string,
  runId: string,
  resting: readonly number[],
  windows: DailyWindows | null,
): Promise<QueueSize> => {
  const untried = `t.last_run_id IS DISTINCT FROM $2 AND NOT list_contains(CAST($3::JSON AS BIGINT[]), t.survey_id)`
  const [row] = await sql.rows(
    z.object({ tasks: bigintCell, untried: bigintCell, requests: bigintCell }),
    `SELECT count(*) AS tasks, count(*) FILTER (${untried}) AS untried,
        coalesce(sum(${requestsOf(windows)}) FILTER (${untried}), 0)::BIGINT AS requests
      FROM ${withRequests(windows)} WHERE t.account = $1`,
    [account, runId, JSON.stringify(resting)],
  )
  return row ?? { tasks: 0, untried: 0, requests: 0 }
}
