/**
 * The facts about surveys by which the rules decide when to read them, and how many requests they take (`src/rules/refresh.ts`); and the
 * past runs.
 */
import { ascending, pairs } from 'd3-array'
import { z } from 'zod'
import { type Instant, msBetween } from '../../model/instant.js'
import type { PastRuns, PlannedSurvey, SurveySelection, SurveyTotals } from '../../model/plan-facts.js'
import { TASK_REASONS } from '../../model/request-usage.js'
import { EXCLUDED_BY } from '../../model/tables.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { excludedBy } from './exclusions.js'
import { readPosition } from './listing.js'
import { FRESHNESS, TASKS } from './older-state.js'
import { isReadAgain } from './stored-windows.js'
import { LEAVES_OUT } from './unlisted-surveys.js'

const surveyRow = z
  .object({
    id: bigintCell,
    status: varcharCell,
    createdAt: timestamptzCell,
    refreshedAt: timestamptzCell.nullable(),
    changedAt: timestamptzCell.nullable(),
    missing: booleanCell,
    listedAt: timestamptzCell.nullable(),
    leftOut: booleanCell,
    sources: bigintCell,
    sourceProgressReadAt: timestamptzCell.nullable(),
    moved: booleanCell.nullable(),
    daysOpen: bigintCell,
    excludedBy: z.enum(EXCLUDED_BY).nullable(),
    reason: z.enum(TASK_REASONS).nullable(),
    enqueuedAt: timestamptzCell.nullable(),
    runId: varcharCell.nullable(),
    requestsNeeded: bigintCell.nullable(),
    failedAt: timestamptzCell.nullable(),
    refusals: bigintCell,
    refusedAt: timestamptzCell.nullable(),
    unfinished: bigintCell,
    unfinishedAt: timestamptzCell.nullable(),
  })
  .transform(({ reason, enqueuedAt, runId, ...row }): PlannedSurvey => {
    const { requestsNeeded, failedAt, refusals, refusedAt, unfinished, unfinishedAt, ...survey } = row
    const attempts = { requestsNeeded, failedAt, refusals, refusedAt, unfinished, unfinishedAt }
    const isQueued = reason !== null && enqueuedAt !== null && runId !== null
    return { ...survey, task: isQueued ? { reason, enqueuedAt, runId, ...attempts } : null }
  })

/** A survey with a pending row has the status and time of the pending row. Queued surveys may be missing ones. */
export const eachPlannedSurvey = async (
  sql: AccountSql,
  selection: SurveySelection,
  use: (survey: PlannedSurvey) => void,
): Promise<void> => {
  const { only, onlyQueued = false } = selection
  const ids: number[] = [...(only ?? [])]
  const selected = onlyQueued
    ? QUEUED
    : `${QUEUED} UNION SELECT id FROM main.surveys WHERE account = $1 AND _missing_since IS NULL`
  if (only === undefined) await sql.each(idRow, selected, [sql.account], ({ id }) => ids.push(id))
  const query = selectPlanned('SELECT unnest(CAST($2::JSON AS BIGINT[])) AS id', selection)
  for (let from = 0; from < ids.length; from += AT_ONCE)
    await sql.each(surveyRow, query, [sql.account, JSON.stringify(ids.slice(from, from + AT_ONCE))], use)
}

const idRow = z.object({ id: bigintCell })

const QUEUED = 'SELECT survey_id AS id FROM _sync.tasks WHERE account = $1'

/** Surveys per statement. The facts of all surveys of a first load took 100 MB in one statement. */
const AT_ONCE = 5_000

/** The facts about one survey, due or not; null if no listing has shown a row that could be typed. */
export const readPlannedSurvey = async (
  sql: AccountSql,
  surveyId: number,
  rules: SurveySelection['rules'],
): Promise<PlannedSurvey | null> =>
  (await sql.rows(surveyRow, selectPlanned(`SELECT ${surveyId} AS id`, { rules }), [sql.account]))[0] ?? null

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

/** When the survey last changed: its row, one of its sources, or its progress since the first reading. */
const CHANGED_AT = `greatest(coalesce(w.updated_at, s.updated_at), c.changed_at,
        CASE WHEN p._observed_at > p._first_seen_at THEN p._observed_at END)`

/** `ids` is a query. */
const selectPlanned = (
  ids: string,
  { rules: { daily_windows: windows }, exclude }: Pick<SurveySelection, 'rules' | 'exclude'>,
): string => {
  const OF_SELECTED = 'account = $1 AND survey_id IN (FROM selected)'
  const daysOpen =
    windows === null
      ? ''
      : `LEFT JOIN (SELECT survey_id, count(*) AS days FROM main.survey_progress_by_day
          WHERE ${OF_SELECTED} AND ${isReadAgain(windows)} GROUP BY ALL) d ON d.survey_id = s.id`
  const excluded = exclude === undefined ? 'f.excluded_by' : excludedBy(exclude)
  return `WITH selected AS MATERIALIZED (${ids})
    SELECT s.id,
      coalesce(w.status, s.status) AS status,
      s.created_at AS "createdAt",
      f.refreshed_at AS "refreshedAt",
      ${CHANGED_AT} AS "changedAt",
      s._missing_since IS NOT NULL AS missing,
      f.listed_at AS "listedAt",
      coalesce(s._missing_since IS NULL AND (${LEAVES_OUT} OR f.sources_left_out > 0), false) AS "leftOut",
      coalesce(c.sources, 0) AS sources,
      f.source_progress_read_at AS "sourceProgressReadAt",
      CASE WHEN f.refreshed_at > p._first_seen_at THEN p._observed_at = f.refreshed_at END AS moved,
      ${windows === null ? '0' : 'coalesce(d.days, 0)'} AS "daysOpen",
      CASE WHEN t.reason IS DISTINCT FROM 'missing' THEN ${excluded} END AS "excludedBy",
      t.reason, t.enqueued_at AS "enqueuedAt", t.enqueued_run_id AS "runId",
      t.requests_needed AS "requestsNeeded", t.failed_at AS "failedAt",
      coalesce(t.refusals, 0) AS refusals, t.refused_at AS "refusedAt",
      coalesce(t.unfinished, 0) AS unfinished, t.unfinished_at AS "unfinishedAt"
    FROM (FROM main.surveys WHERE account = $1 AND id IN (FROM selected)) s
    LEFT JOIN (FROM _sync.pending_surveys WHERE account = $1) w ON w.id = s.id
    LEFT JOIN (FROM ${FRESHNESS} WHERE ${OF_SELECTED}) f ON f.survey_id = s.id
    LEFT JOIN (FROM main.survey_progress WHERE ${OF_SELECTED}) p ON p.survey_id = s.id
    LEFT JOIN (FROM ${TASKS} WHERE account = $1) t ON t.survey_id = s.id
    LEFT JOIN (SELECT survey_id, count(*) FILTER (WHERE _missing_since IS NULL) AS sources, max(greatest(updated_at, _missing_since)) AS changed_at
      FROM main.sample_sources WHERE ${OF_SELECTED} GROUP BY ALL) c ON c.survey_id = s.id
    ${daysOpen}`
}

/** The number of last runs from which the interval between runs is computed. */
const PAST_RUNS_MAX = 8

/** `overlapMs` is the overlap that was subtracted from the cursor. */
export const pastRuns = async (sql: AccountSql, overlapMs: number): Promise<PastRuns> => {
  const { listings, ...position } = await readPosition(sql)
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
    fullNextPage: listings.full?.nextPage ?? null,
    everyMs: medianGapMs(cursors.map(({ cursor_after }) => cursor_after)),
  }
}

/** The median gap between `moments`, which are in descending order. */
const medianGapMs = (moments: readonly Instant[]): number | null => {
  const gaps = pairs(moments, (after, before) => msBetween(before, after)).toSorted(ascending)
  return gaps[Math.floor(gaps.length / 2)] ?? null
}
