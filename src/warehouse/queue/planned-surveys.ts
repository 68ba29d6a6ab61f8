/** Selects the surveys that may be due by `src/rules/refresh.ts`, with the facts that decide their requests, and the past runs. */
import { ascending, pairs } from 'd3-array'
import { z } from 'zod'
import { type Instant, instantFromMs, msBetween } from '../../model/instant.js'
import type { PastRuns, PlannedSurvey, SurveySelection, SurveyTotals } from '../../model/plan-facts.js'
import { TASK_REASONS } from '../../model/request-usage.js'
import { EARLY_MS_MAX, IDLE_STATUSES, INACTIVE_STATUSES, REST_MS_MIN } from '../../rules/refresh.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { literal } from '../connection/ddl.js'
import { readPosition } from './listing.js'
import { isReadAgain } from './stored-days.js'

const surveyRow = z
  .object({
    id: bigintCell,
    status: varcharCell,
    createdAt: timestamptzCell,
    updatedAt: timestamptzCell,
    refreshedAt: timestamptzCell.nullable(),
    progressChangedAt: timestamptzCell.nullable(),
    missing: booleanCell,
    sources: bigintCell,
    sourcesReadAt: timestamptzCell.nullable(),
    sourceProgressReadAt: timestamptzCell.nullable(),
    moved: booleanCell.nullable(),
    daysOpen: bigintCell,
    reason: z.enum(TASK_REASONS).nullable(),
    enqueuedAt: timestamptzCell.nullable(),
    runId: varcharCell.nullable(),
    requestsNeeded: bigintCell.nullable(),
    refusals: bigintCell,
    refusedAt: timestamptzCell.nullable(),
  })
  .transform(
    ({ reason, enqueuedAt, runId, requestsNeeded, refusals, refusedAt, ...survey }): PlannedSurvey => ({
      ...survey,
      task:
        reason === null || enqueuedAt === null || runId === null
          ? null
          : { reason, enqueuedAt, runId, requestsNeeded, refusals, refusedAt },
    }),
  )

/** A survey with a pending row has that row's status and time. Queued surveys may be missing. */
export const eachPlannedSurvey = (
  sql: AccountSql,
  selection: SurveySelection,
  use: (survey: PlannedSurvey) => void,
): Promise<void> =>
  sql.each(surveyRow, selectPlanned(selectedIds(selection), selection.rules), [sql.account], use)

/** The same of one survey, due or not; null if no listing has shown a row that could be typed. */
export const readPlannedSurvey = async (
  sql: AccountSql,
  surveyId: number,
  rules: SurveySelection['rules'],
): Promise<PlannedSurvey | null> =>
  (await sql.rows(surveyRow, selectPlanned(`SELECT ${surveyId} AS id`, rules), [sql.account]))[0] ?? null

export const surveyTotals = async (sql: AccountSql): Promise<SurveyTotals> => {
  const [totals] = await sql.rows(
    z.object({ present: bigintCell, sources: bigintCell, withSources: bigintCell }),
    `SELECT (SELECT count(*) FROM main.surveys WHERE account = $1 AND _missing_since IS NULL) AS present,
        count(*) AS sources, count(DISTINCT survey_id) AS "withSources"
      FROM main.sample_sources WHERE account = $1 AND _missing_since IS NULL`,
    [sql.account],
  )
  return { present: 0, sources: 0, withSources: 0, ...totals }
}

/** `ids` is a query. */
const selectPlanned = (ids: string, { daily_windows: windows }: SurveySelection['rules']): string => {
  const OF_SELECTED = 'account = $1 AND survey_id IN (FROM selected)'
  return `WITH selected AS MATERIALIZED (${ids})
    SELECT s.id, coalesce(w.status, s.status) AS status, s.created_at AS "createdAt",
      coalesce(w.updated_at, s.updated_at) AS "updatedAt", f.refreshed_at AS "refreshedAt",
      CASE WHEN p._observed_at > p._first_seen_at THEN p._observed_at END AS "progressChangedAt",
      s._missing_since IS NOT NULL AS missing, coalesce(c.sources, 0) AS sources, f.sources_read_at AS "sourcesReadAt",
      f.source_progress_read_at AS "sourceProgressReadAt",
      CASE WHEN f.refreshed_at > p._first_seen_at THEN p._observed_at = f.refreshed_at END AS moved,
      coalesce(d.days, 0) AS "daysOpen", t.reason, t.enqueued_at AS "enqueuedAt", t.enqueued_run_id AS "runId",
      t.requests_needed AS "requestsNeeded", coalesce(t.refusals, 0) AS refusals, t.refused_at AS "refusedAt"
    FROM (FROM main.surveys WHERE account = $1 AND id IN (FROM selected)) s
    LEFT JOIN (FROM _sync.pending_surveys WHERE account = $1) w ON w.id = s.id
    LEFT JOIN (FROM main.freshness WHERE ${OF_SELECTED}) f ON f.survey_id = s.id
    LEFT JOIN (FROM main.survey_progress WHERE ${OF_SELECTED}) p ON p.survey_id = s.id
    LEFT JOIN (FROM _sync.tasks WHERE account = $1) t ON t.survey_id = s.id
    LEFT JOIN (SELECT survey_id, count(*) AS sources FROM main.sample_sources
      WHERE ${OF_SELECTED} AND _missing_since IS NULL GROUP BY ALL) c ON c.survey_id = s.id
    LEFT JOIN (SELECT survey_id, count(*) AS days FROM main.survey_progress_by_day
      WHERE ${windows === null ? 'false' : `${OF_SELECTED} AND ${isReadAgain(windows)}`} GROUP BY ALL) d ON d.survey_id = s.id`
}

/** The interval between runs is computed from so many of the last runs. */
const PAST_RUNS_MAX = 8

/** `overlapMs` is the overlap that was subtracted from the cursor. */
export const pastRuns = async (sql: AccountSql, overlapMs: number): Promise<PastRuns> => {
  const { listing: _, ...position } = await readPosition(sql)
  const { cursor } = position
  const [page] = await sql.rows(
    z.object({ page_rows: bigintCell.nullable(), moved_at: timestamptzCell }),
    'SELECT page_rows, moved_at FROM _sync.cursors WHERE account = $1',
    [sql.account],
  )
  const cursors = await sql.rows(
    z.object({ cursor_after: timestamptzCell }),
    `SELECT cursor_after FROM _sync.runs WHERE account = $1 AND command = 'sync' AND cursor_after IS NOT NULL
      GROUP BY ALL ORDER BY cursor_after DESC LIMIT ${PAST_RUNS_MAX}`,
    [sql.account],
  )
  return {
    ...position,
    listedAt: cursor === null ? null : cursor + BigInt(overlapMs) * 1_000n,
    listedAtOurs: page?.moved_at ?? null,
    pageRows: page?.page_rows ?? null,
    everyMs: medianGapMs(cursors.map(({ cursor_after }) => cursor_after)),
  }
}

/** The median gap between `moments`, which are in descending order. */
const medianGapMs = (moments: readonly Instant[]): number | null => {
  const gaps = pairs(moments, (after, before) => msBetween(before, after)).toSorted(ascending)
  return gaps[Math.floor(gaps.length / 2)] ?? null
}

/**
 * A query for the ids of the selected surveys of the account `$1`. `rules/refresh` decides which of them are due; this condition only
 * spares it the others, which are nearly all surveys of a large warehouse. It may select a survey too many, but never one too few
 * (test/unit/warehouse/queue/planned-surveys-may-be-due.test.ts).
 */
const selectedIds = ({ at, changedSince, rules }: SurveySelection): string => {
  const queued = 'SELECT survey_id AS id FROM _sync.tasks WHERE account = $1'
  if (at === null) return queued
  const changed = changedSince === null ? 'false' : `greatest(created, updated) >= ${changedSince}`
  return `${queued} UNION SELECT id FROM (
    SELECT s.id, s.status, epoch_us(s.created_at) AS created, epoch_us(s.updated_at) AS updated, epoch_us(f.refreshed_at) AS refreshed,
      epoch_us(CASE WHEN p._observed_at > p._first_seen_at AND epoch_us(p._observed_at) <= ${at} THEN p._observed_at END) AS moved
    FROM ${CURRENT_SURVEYS} s
    LEFT JOIN (FROM main.freshness WHERE account = $1) f ON f.survey_id = s.id
    LEFT JOIN (FROM main.survey_progress WHERE account = $1) p ON p.survey_id = s.id
  ) WHERE ${changed} OR ${mayBeDue(at, rules)}`
}

/** The surveys that are not missing, with the status and time of their pending row. */
const CURRENT_SURVEYS = `(SELECT s.id, coalesce(w.status, s.status) AS status, s.created_at,
      coalesce(w.updated_at, s.updated_at) AS updated_at
    FROM main.surveys s LEFT JOIN (FROM _sync.pending_surveys WHERE account = $1) w ON w.id = s.id
    WHERE s.account = $1 AND s._missing_since IS NULL)`

/** The rules of `refreshReason`, in microseconds. */
const mayBeDue = (
  at: bigint,
  { settle_for: settleForMs, max_age: maxAgeMs }: SurveySelection['rules'],
): string => {
  const [settleFor, maxAge, restMin, earlyMax] = [settleForMs, maxAgeMs, REST_MS_MIN, EARLY_MS_MAX].map(
    instantFromMs,
  )
  const quietSince = 'greatest(updated, moved)'
  const rest = `least(${maxAge}, greatest(${restMin}, refreshed - ${quietSince} - ${settleFor}))`
  return `refreshed IS NULL OR refreshed > ${at} OR (${isNot(IDLE_STATUSES)} AND (${isNot(INACTIVE_STATUSES)}
    OR ${at} - ${quietSince} < ${settleFor} + ${ROUNDED} OR ${at} - refreshed + ${ROUNDED} >= ${rest} - least(${earlyMax}, ${rest} // 4)))`
}

/** The rules count in milliseconds. */
const ROUNDED = 2_000

const isNot = (statuses: readonly string[]): string => `status NOT IN (${statuses.map(literal).join(', ')})`
