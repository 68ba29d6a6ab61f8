/** Selects the surveys that may be due by `src/rules/refresh.ts`, with the facts that decide their requests, and the past runs. */
import { ascending, pairs } from 'd3-array'
import { z } from 'zod'
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import { type Instant, instantFromMs, msBetween } from '../../model/instant.js'
import type { PastRuns, PlannedSurvey, SurveySelection, SurveyTotals } from '../../model/plan-facts.js'
import { TASK_REASONS } from '../../model/request-usage.js'
import { EXCLUDED_BY } from '../../model/tables.js'
import {
  EARLY_MS_MAX,
  IDLE_STATUSES,
  INACTIVE_STATUSES,
  LIST_REST_DIVISOR,
  MOMENTS,
  REST_MS_MIN,
} from '../../rules/refresh.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import { type AccountSql, countOf } from '../connection/database.js'
import { literal, quote } from '../connection/ddl.js'
import { mergedSurveys } from '../merge/merged-tables.js'
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
    updatedAt: timestamptzCell,
    statusSince: timestamptzCell,
    refreshedAt: timestamptzCell.nullable(),
    progressChangedAt: timestamptzCell.nullable(),
    missing: booleanCell,
    listedAt: timestamptzCell.nullable(),
    leftOut: booleanCell,
    isTouched: booleanCell,
    sources: bigintCell,
    sourcesChangedAt: timestamptzCell.nullable(),
    changeAlone: booleanCell,
    sourcesReadAt: timestamptzCell.nullable(),
    sourceProgressReadAt: timestamptzCell.nullable(),
    moved: booleanCell.nullable(),
    isWithoutInterviews: booleanCell,
    movedSources: bigintCell,
    daysOpen: bigintCell,
    excludedBy: z.enum(EXCLUDED_BY).nullable(),
    reason: z.enum(TASK_REASONS).nullable(),
    enqueuedAt: timestamptzCell.nullable(),
    runId: varcharCell.nullable(),
    requestsNeeded: bigintCell.nullable(),
    refusals: bigintCell,
    refusedAt: timestamptzCell.nullable(),
    unfinished: bigintCell,
    unfinishedAt: timestamptzCell.nullable(),
  })
  .transform(({ reason, enqueuedAt, runId, ...row }): PlannedSurvey => {
    const { requestsNeeded, refusals, refusedAt, unfinished, unfinishedAt, ...survey } = row
    const attempts = { requestsNeeded, refusals, refusedAt, unfinished, unfinishedAt }
    const isQueued = reason !== null && enqueuedAt !== null && runId !== null
    return { ...survey, task: isQueued ? { reason, enqueuedAt, runId, ...attempts } : null }
  })

/** A survey with a pending row has that row's status and time. Queued surveys may be missing. */
export const eachPlannedSurvey = async (
  sql: AccountSql,
  selection: SurveySelection,
  use: (survey: PlannedSurvey) => void,
): Promise<void> => {
  const changeAlone = await doSourcesChangeAlone(sql)
  const ids: number[] = [...(selection.only ?? [])]
  if (selection.only === undefined)
    await sql.each(idRow, selectedIds(selection, changeAlone), [sql.account], ({ id }) => ids.push(id))
  const query = selectPlanned('SELECT unnest(CAST($2::JSON AS BIGINT[])) AS id', changeAlone, selection)
  for (let from = 0; from < ids.length; from += AT_ONCE)
    await sql.each(surveyRow, query, [sql.account, JSON.stringify(ids.slice(from, from + AT_ONCE))], use)
}

const idRow = z.object({ id: bigintCell })

/** The facts of all surveys of a first load, in one statement, took 100 MB. */
const AT_ONCE = 5_000

/** The same of one survey, due or not; null if no listing has shown a row that could be typed. */
export const readPlannedSurvey = async (
  sql: AccountSql,
  surveyId: number,
  rules: SurveySelection['rules'],
): Promise<PlannedSurvey | null> => {
  const query = selectPlanned(`SELECT ${surveyId} AS id`, await doSourcesChangeAlone(sql), { rules })
  return (await sql.rows(surveyRow, query, [sql.account]))[0] ?? null
}

/**
 * Whether a source of an inactive survey has changed after its survey's row, by more than times of other precisions differ: in this account,
 * sources change without their survey. Only up to the cursor, because a row that changed later may not be listed yet.
 */
const doSourcesChangeAlone = async (sql: AccountSql): Promise<boolean> => {
  const count = await countOf(
    sql,
    `SELECT CAST(EXISTS (FROM (FROM main.sample_sources WHERE account = $1 AND _missing_since IS NULL) a
        JOIN ${CURRENT_SURVEYS} s ON s.id = a.survey_id JOIN (FROM _sync.cursors WHERE account = $1) c ON a.updated_at <= c.updated_since
        ANTI JOIN (FROM _sync.rejected_rows WHERE account = $1 AND endpoint = 'surveys' AND replayed_at IS NULL) r ON r.survey_id = s.id
        WHERE s.status IN (${INACTIVE}) AND epoch_us(a.updated_at) > epoch_us(s.updated_at) + 60000000) AS INTEGER) AS "Count"`,
    [sql.account],
  )
  return count > 0
}

const INACTIVE = INACTIVE_STATUSES.map(literal).join(', ')

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
const selectPlanned = (
  ids: string,
  changeAlone: boolean,
  { rules: { daily_windows: windows }, exclude }: Pick<SurveySelection, 'rules' | 'exclude'>,
): string => {
  const OF_SELECTED = 'account = $1 AND survey_id IN (FROM selected)'
  const daysOpen =
    windows === null
      ? ''
      : `LEFT JOIN (SELECT survey_id, count(*) AS days FROM main.survey_progress_by_day
          WHERE ${OF_SELECTED} AND ${isReadAgain(windows)} GROUP BY ALL) d ON d.survey_id = s.id`
  return `WITH selected AS MATERIALIZED (${ids})
    SELECT s.id, coalesce(w.status, s.status) AS status, s.created_at AS "createdAt",
      coalesce(w.updated_at, s.updated_at) AS "updatedAt",
      CASE WHEN w.status <> s.status THEN w.updated_at ELSE coalesce(v.since, s.updated_at) END AS "statusSince", f.refreshed_at AS "refreshedAt",
      CASE WHEN p._observed_at > p._first_seen_at THEN p._observed_at END AS "progressChangedAt",
      s._missing_since IS NOT NULL AS missing, f.listed_at AS "listedAt", coalesce(s._missing_since IS NULL AND (${LEAVES_OUT} OR f.sources_left_out > 0), false) AS "leftOut", coalesce(w.is_touched, false) AS "isTouched", coalesce(c.sources, 0) AS sources,
      c.changed_at AS "sourcesChangedAt", ${changeAlone} AS "changeAlone", f.sources_read_at AS "sourcesReadAt",
      f.source_progress_read_at AS "sourceProgressReadAt",
      CASE WHEN f.refreshed_at > p._first_seen_at THEN p._observed_at = f.refreshed_at END AS moved, coalesce(${NO_INTERVIEWS}, false) AS "isWithoutInterviews", coalesce(g.moved, 0) AS "movedSources",
      ${windows === null ? '0' : 'coalesce(d.days, 0)'} AS "daysOpen", CASE WHEN t.reason IS DISTINCT FROM 'missing' THEN ${exclude === undefined ? 'f.excluded_by' : excludedBy(exclude)} END AS "excludedBy", t.reason, t.enqueued_at AS "enqueuedAt", t.enqueued_run_id AS "runId",
      t.requests_needed AS "requestsNeeded", coalesce(t.refusals, 0) AS refusals, t.refused_at AS "refusedAt",
      coalesce(t.unfinished, 0) AS unfinished, t.unfinished_at AS "unfinishedAt"
    FROM (FROM main.surveys WHERE account = $1 AND id IN (FROM selected)) s
    LEFT JOIN (SELECT w.*, w.${isNot(INACTIVE_STATUSES)} AND ${IS_TOUCHED} AS is_touched
      FROM _sync.pending_surveys w JOIN main.surveys s USING (account, id) WHERE account = $1) w ON w.id = s.id
    LEFT JOIN (SELECT id, min(updated_at) AS since FROM (
        SELECT h.id, h.updated_at, h.valid_from, max(h.valid_from) FILTER (WHERE h.status <> c.status) OVER (PARTITION BY h.id) AS other
        FROM main.surveys_history h JOIN main.surveys c USING (account, id) WHERE account = $1 AND id IN (FROM selected))
      WHERE other IS NULL OR valid_from > other GROUP BY id) v ON v.id = s.id
    LEFT JOIN (FROM ${FRESHNESS} WHERE ${OF_SELECTED}) f ON f.survey_id = s.id
    LEFT JOIN (FROM main.survey_progress WHERE ${OF_SELECTED}) p ON p.survey_id = s.id
    LEFT JOIN (FROM ${TASKS} WHERE account = $1) t ON t.survey_id = s.id
    LEFT JOIN (SELECT survey_id, count(*) AS sources, max(updated_at) AS changed_at FROM main.sample_sources
      WHERE ${OF_SELECTED} AND _missing_since IS NULL GROUP BY ALL) c ON c.survey_id = s.id
    LEFT JOIN (SELECT survey_id, count(*) AS moved FROM main.sample_source_progress g JOIN main.survey_progress p USING (account, survey_id)
      WHERE ${OF_SELECTED} AND g._missing_since IS NULL AND g._observed_at >= p._observed_at GROUP BY ALL) g ON g.survey_id = s.id
    ${daysOpen}`
}

const NO_INTERVIEWS = `p._extra IS NULL AND ${INTERVIEW_STATUSES.map((status) => `p.${status}_individuals = 0`).join(' AND ')}`

/** Lists of inactive surveys are read when their row changes, and hardly otherwise. */
const IS_TOUCHED = mergedSurveys.values
  .filter(({ name }) => name !== 'updated_at')
  .map(({ name }) => `w.${quote(name)} IS NOT DISTINCT FROM s.${quote(name)}`)
  .join(' AND ')

const isNot = (statuses: readonly string[]): string => `status NOT IN (${statuses.map(literal).join(', ')})`

/** The interval between runs is computed from so many of the last runs. */
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

/**
 * A query for the ids of the selected surveys of the account `$1`. `rules/refresh` decides which of them are due; this condition only
 * spares it the others, which are nearly all surveys of a large warehouse. It may select a survey too many, such as one whose title was
 * edited after it closed, but never one too few (test/unit/warehouse/queue/planned-surveys-may-be-due.test.ts).
 */
const selectedIds = ({ at, changedSince, rules }: SurveySelection, changeAlone: boolean): string => {
  const queued = 'SELECT survey_id AS id FROM _sync.tasks WHERE account = $1'
  if (at === null) return queued
  const changed = changedSince === null ? 'false' : `greatest(created, updated) >= ${changedSince}`
  return `${queued} UNION SELECT id FROM (
    SELECT s.id, s.status, epoch_us(s.created_at) AS created, epoch_us(s.updated_at) AS updated, epoch_us(f.refreshed_at) AS refreshed,
      epoch_us(f.sources_read_at) AS listed, f.unlisted_since, f.sources_left_out, epoch_us(c.changed_at) AS sources_changed,
      epoch_us(CASE WHEN p._observed_at > p._first_seen_at AND epoch_us(p._observed_at) <= ${at} THEN p._observed_at END) AS moved
    FROM ${CURRENT_SURVEYS} s
    LEFT JOIN (FROM ${FRESHNESS} WHERE account = $1) f ON f.survey_id = s.id
    LEFT JOIN (FROM main.survey_progress WHERE account = $1) p ON p.survey_id = s.id
    LEFT JOIN (SELECT survey_id, max(updated_at) AS changed_at FROM main.sample_sources
      WHERE ${changeAlone} AND account = $1 AND _missing_since IS NULL GROUP BY ALL) c ON c.survey_id = s.id
  ) WHERE ${changed} OR ${mayBeDue(at, rules, changeAlone)}`
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
  changeAlone: boolean,
): string => {
  const [settleFor, maxAge] = [instantFromMs(settleForMs), instantFromMs(maxAgeMs)]
  const [restMin, earlyMax] = [REST_MS_MIN, EARLY_MS_MAX].map(instantFromMs)
  const { inMaxAge, places, step } = MOMENTS
  const apart = maxAge / inMaxAge
  const early = instantFromMs(Math.min(EARLY_MS_MAX, maxAgeMs / 4))
  const first = `abs(id) * ${step} % ${places} * ${apart} // ${places}`
  const hasRested = (since: string, quietMs: string): string => {
    const rest = `greatest(${restMin}, ${quietMs})`
    const latest = `${since} + ${maxAge + early}`
    const moment = apart === 0n ? since : `${latest} - (${latest} - ${first}) % ${apart} - ${early}`
    const old = `least(${moment}, ${since} + ${maxAge - early})`
    return `${at} + ${ROUNDED} >= least(${old}, ${since} + ${rest} - least(${earlyMax}, ${rest} / 4))`
  }
  const quietSince = 'greatest(updated, moved)'
  const isClosedDue = `${at} - ${quietSince} < ${settleFor} + ${ROUNDED} OR ${hasRested('refreshed', `refreshed - ${quietSince} - ${settleFor}`)}`
  const isListDue = `listed > ${at} OR ${hasRested('listed', `(listed - greatest(updated, sources_changed)) / ${LIST_REST_DIVISOR}`)}`
  return `refreshed IS NULL OR refreshed > ${at} OR unlisted_since IS NOT NULL OR sources_left_out IS NOT NULL OR ${isNot(INACTIVE_STATUSES)}
    OR (${isNot(IDLE_STATUSES)} AND (${isClosedDue})) OR (${changeAlone} AND (${isListDue}))`
}

/** The rules count in milliseconds. */
const ROUNDED = 2_000
