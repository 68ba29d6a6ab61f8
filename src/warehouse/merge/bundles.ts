/**
 * Commits refreshed surveys in one transaction: their sources, progress and days, their pending rows, their freshness, and the end of
 * their tasks. So readers never see a survey's sources without the progress that was read with them.
 */
import { difference } from 'd3-array'
import { bigint, boolean, columnsOf, timestamptz, varchar } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import { addCounts, NO_ROWS, type RowCounts, type RowCountsByTable } from '../../model/run.js'
import { tasks } from '../../model/sync-tables.js'
import { freshness, surveyProgressReconstructed } from '../../model/tables.js'
import type {
  BundleOutcome,
  CellRow,
  ReadDays,
  ReconstructedSurvey,
  RefreshedBundle,
  UnreadPart,
} from '../../model/warehouse.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { dropKept } from '../queue/kept-answers.js'
import { requireFullListing, unconfirmed } from '../queue/listing.js'
import { conditionOnSurveys, markMissing, type ReadRow, readStored, stageGone, upsert } from './merge.js'
import {
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveyProgressByDay,
  mergedSurveys,
} from './merged-tables.js'
import { storeDrift, storeRejections } from './quarantine.js'
import {
  type createStoredSurveys,
  dropPending,
  noRows,
  PARTS,
  readPending,
  type StoredParts,
  sourceIdsOf,
} from './stored-surveys.js'

export const commitBundles = async (
  sql: AccountSql,
  read: readonly BundleOutcome[],
  runId: string,
  surveys: ReturnType<typeof createStoredSurveys>,
): Promise<RowCountsByTable> => {
  const outcomes = await withoutUnconfirmed(sql, read)
  const stored = await surveys.take(sql, idsOf(outcomes))
  const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
  await storeProblems(sql, refreshed, runId)
  const pending = await mergePending(sql, outcomes)
  const rowsRead = readRows(refreshed)
  const counts: Record<string, RowCounts> = {}
  for (const [part, table] of PARTS) {
    const storedRows = [...stored.values()].flatMap((survey) => survey[part])
    counts[table.current.name] = await upsert(sql, table, storedRows, rowsRead[part])
  }
  const days = await mergeDays(sql, refreshed)
  const gone = await markGone(sql, outcomes, stored)
  await updateFreshness(sql, outcomes)
  await endTasks(sql, outcomes)
  await keepTasks(sql, outcomes, runId)
  if (outcomes.some((outcome) => outcome.kind === 'failed' && outcome.mayBeGone))
    await requireFullListing(sql)
  return {
    surveys: addCounts(pending, { ...NO_ROWS, changed: gone }),
    ...counts,
    ...(days === null ? {} : { survey_progress_by_day: days }),
  }
}

/** A survey that vanished from the list at once with many others is not marked yet, although its addresses answer 404: it stays queued. */
const withoutUnconfirmed = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
): Promise<readonly BundleOutcome[]> => {
  if (!outcomes.some(({ kind }) => kind === 'gone')) return outcomes
  const waiting = await unconfirmed(sql)
  const error =
    'it vanished from the list at once with many others, and answers 404; the next full listing has to agree'
  return outcomes.map((outcome): BundleOutcome => {
    if (outcome.kind !== 'gone' || !waiting.has(outcome.surveyId)) return outcome
    return { ...outcome, kind: 'failed', unread: { error, isRefused: true }, mayBeGone: false }
  })
}

const storeProblems = async (
  sql: AccountSql,
  bundles: readonly Pick<RefreshedBundle, 'rejections' | 'drift' | 'at'>[],
  runId: string,
): Promise<void> => {
  for (const { rejections, drift, at } of bundles) {
    await storeRejections(sql, rejections, { runId, at })
    await storeDrift(sql, drift, { runId, at })
  }
}

/** Each row is read once, and never changes. No observed row is touched. */
export const commitReconstructed = async (
  sql: AccountSql,
  surveys: readonly ReconstructedSurvey[],
  runId: string,
): Promise<RowCountsByTable> => {
  await storeProblems(sql, surveys, runId)
  const rows = surveys.flatMap(({ surveyId: survey_id, rows }) =>
    rows.map(({ window, progress, at: read_at }): CellRow => {
      return { account: sql.account, survey_id, as_of: window.startedBefore, ...progress, read_at }
    }),
  )
  await sql.insert(surveyProgressReconstructed, rows)
  return { survey_progress_reconstructed: { ...NO_ROWS, added: rows.length } }
}

const idsOf = (outcomes: readonly BundleOutcome[]): readonly number[] => [
  ...new Set(outcomes.map(({ surveyId }) => surveyId)),
]

/** Whether the survey's own progress was read. It decides whether the bundle counts as refreshed. */
const hasProgress = (outcome: BundleOutcome): outcome is RefreshedBundle =>
  outcome.kind === 'refreshed' && outcome.sourceProgressRead !== 'none'

/** Merges the survey rows that waited for this refresh, also those of a gone survey. */
const mergePending = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<RowCounts> => {
  const settled = outcomes.filter((outcome) => outcome.kind === 'gone' || hasProgress(outcome))
  const pending = await readPending(sql, idsOf(settled))
  if (pending.size === 0) return NO_ROWS
  const ids = [...pending.keys()]
  await dropPending(sql, ids)
  const stored = await readStored(sql, mergedSurveys, ids)
  return await upsert(sql, mergedSurveys, stored.values(), [...pending.values()])
}

const readRows = (bundles: readonly RefreshedBundle[]) => ({
  sources: bundles.flatMap(({ surveyId: survey_id, at, sourcesAt: readAt = at, sources }) =>
    sources.map((source): ReadRow => ({ cells: { survey_id, ...source }, readAt })),
  ),
  progress: bundles.flatMap(({ surveyId: survey_id, at: readAt, progress }): readonly ReadRow[] =>
    progress === null ? [] : [{ cells: { survey_id, ...progress }, readAt }],
  ),
  sourceProgress: bundles.flatMap(({ surveyId: survey_id, sourceProgress }) =>
    sourceProgress.map(({ sampleSourceId: sample_source_id, progress, at: readAt }): ReadRow => {
      return { cells: { survey_id, sample_source_id, ...progress }, readAt }
    }),
  ),
})

/** The days have no history. Null if no bundle has days. */
const mergeDays = async (sql: AccountSql, bundles: readonly RefreshedBundle[]): Promise<RowCounts | null> => {
  const withDays = bundles.flatMap(({ surveyId, days }) => (days === undefined ? [] : [{ surveyId, days }]))
  if (withDays.length === 0) return null
  const rows = withDays.flatMap(({ surveyId, days }) => dayRows(surveyId, days))
  const ids = rows.length === 0 ? [] : withDays.map(({ surveyId }) => surveyId)
  // A survey may have days of several years, but a night reads only a few.
  const [notBefore = null] = withDays.flatMap(({ days }) => days.rows.map(({ day }) => day.day)).toSorted()
  const stored = await readStored(sql, mergedSurveyProgressByDay, ids, notBefore)
  return await upsert(sql, mergedSurveyProgressByDay, stored.values(), rows)
}

const dayRows = (surveyId: number, { rows, timeZone }: ReadDays): readonly ReadRow[] =>
  rows.map(({ sampleSourceId, day, progress, at }) => ({
    cells: {
      survey_id: surveyId,
      sample_source_id: sampleSourceId,
      day: day.day,
      time_zone: timeZone,
      started_after: day.startedAfter,
      started_before: day.startedBefore,
      is_final: day.isFinal,
      ...progress,
    },
    readAt: at,
  }))

/** Marks the rows of gone surveys, and of sources that a complete list no longer has. Returns the number of gone surveys. */
const markGone = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  stored: ReadonlyMap<number, StoredParts>,
): Promise<number> => {
  const gone = outcomes.flatMap((outcome): readonly CellRow[] => {
    const { surveyId: survey_id, at } = outcome
    if (outcome.kind === 'gone') return [{ survey_id, at }]
    if (outcome.kind !== 'refreshed' || outcome.listedSourceIds === null) return []
    const unlisted = difference(sourceIdsOf(stored.get(survey_id) ?? noRows()), outcome.listedSourceIds)
    return [...unlisted].map((sample_source_id) => ({ survey_id, sample_source_id, at }))
  })
  if (gone.length === 0) return 0
  await stageGone(sql, gone)
  await markMissing(sql, mergedSampleSources, 'id')
  await markMissing(sql, mergedSampleSourceProgress, 'sample_source_id')
  await markMissing(sql, mergedSurveyProgressByDay, 'sample_source_id')
  await markMissing(sql, mergedSurveyProgress)
  return await markMissing(sql, mergedSurveys)
}

const FRESHNESS_STAGE = 'stage_freshness'
const FRESHNESS_COLUMNS = columnsOf({
  survey_id: bigint(''),
  read_at: timestamptz(''),
  has_progress: boolean(''),
  error: varchar.orNull(''),
  begun_at: timestamptz.orNull(''),
  sources: varchar.orNull(''),
  source_progress: varchar.orNull(''),
  days: varchar.orNull(''),
  source_days: varchar.orNull(''),
  unlisted: varchar.orNull(''),
  left_out: bigint.orNull(''),
})

const updateFreshness = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<void> => {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'oversized' || outcome.parts !== undefined)
  if (tried.length === 0) return
  const rows = tried.map((outcome) => ({
    survey_id: outcome.surveyId,
    read_at: outcome.at,
    has_progress: outcome.kind === 'gone' || hasProgress(outcome),
    error: failureOf(outcome)?.error ?? null,
    begun_at: outcome.kind === 'refreshed' ? (outcome.begunAt ?? null) : null,
    sources: outcome.kind === 'refreshed' ? outcome.sourcesRead : null,
    source_progress: outcome.kind === 'refreshed' ? outcome.sourceProgressRead : null,
    // Days that were not requested are older than the rows that are stored now.
    days: hasProgress(outcome) ? (outcome.days?.read ?? 'some') : null,
    source_days: hasProgress(outcome) ? (outcome.days?.sourcesRead ?? 'some') : null,
    ...unlistedIn(outcome),
  }))
  await sql.stage(FRESHNESS_STAGE, FRESHNESS_COLUMNS, rows)
  await sql.run(MERGE_FRESHNESS, [sql.account])
}

/** Both are null if no list was compared. */
const unlistedIn = (outcome: BundleOutcome) => {
  if (outcome.kind !== 'refreshed' || outcome.unlistedSources === undefined)
    return { unlisted: null, left_out: null }
  const { ids, answering } = outcome.unlistedSources
  return { unlisted: JSON.stringify(ids), left_out: answering }
}

/** A list that is read in parts may have changed since the first of them. */
const LISTED_AT = 'coalesce(o.begun_at, o.read_at)'

/** The value of each column, by its value before. `at` is the time of the last complete reading, by its extent. */
const freshnessAfter = (before: (column: string) => string): Readonly<Record<string, string>> => {
  const at = (column: string, extent: string, readAt = 'o.read_at') =>
    `CASE o.${extent} WHEN 'all' THEN ${readAt} WHEN 'some' THEN NULL WHEN 'failed' THEN NULL ELSE ${before(column)} END`
  return {
    last_error: 'o.error',
    refreshed_at: `CASE WHEN o.has_progress THEN o.read_at ELSE ${before('refreshed_at')} END`,
    sources_listed_at: `CASE WHEN o.sources IN ('all', 'some') THEN ${LISTED_AT} ELSE ${before('sources_listed_at')} END`,
    sources_read_at: at('sources_read_at', 'sources', LISTED_AT),
    source_progress_read_at: at('source_progress_read_at', 'source_progress'),
    source_progress_proven_at: `CASE o.source_progress WHEN 'inferred' THEN o.read_at ELSE ${at('source_progress_proven_at', 'source_progress')} END`,
    days_read_at: at('days_read_at', 'days'),
    source_days_read_at: at('source_days_read_at', 'source_days'),
    unlisted_source_ids: `nullif(coalesce(o.unlisted, ${before('unlisted_source_ids')}), '[]')`,
    sources_left_out: `nullif(coalesce(o.left_out, ${before('sources_left_out')}), 0)`,
  }
}

const updated = Object.entries(freshnessAfter((column) => `f.${column}`))
const inserted = freshnessAfter(() => 'NULL')

const MERGE_FRESHNESS = `MERGE INTO ${qualified(freshness)} f USING temp.${FRESHNESS_STAGE} o
  ON f.account = $1 AND f.survey_id = o.survey_id
  WHEN MATCHED THEN UPDATE SET ${updated.map(([column, value]) => `${column} = ${value}`).join(', ')}
  WHEN NOT MATCHED THEN INSERT (account, survey_id, ${Object.keys(inserted).join(', ')})
    VALUES ($1, o.survey_id, ${Object.values(inserted).join(', ')})`

/** Why the survey could not be read, or a part of it. */
const failureOf = (outcome: BundleOutcome): UnreadPart | null => {
  if ('unread' in outcome) return outcome.unread
  if (!('parts' in outcome) || outcome.parts === undefined) return null
  const { parts, requestsNeeded } = outcome
  const error = `it does not fit into one run and is read in parts: ${parts.answers} of ${requestsNeeded} answers are kept, and the next run goes on there`
  return { error, isRefused: false }
}

const endTasks = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<void> => {
  await dropKept(sql, idsOf(outcomes.filter(({ kind }) => kind === 'refreshed' || kind === 'gone')))
  const done = outcomes.filter((outcome) => outcome.kind !== 'oversized' && failureOf(outcome) === null)
  const ended: BundleOutcome[] = []
  for (const outcome of done) {
    if (outcome.kind !== 'refreshed' || outcome.begunAt === undefined) ended.push(outcome)
    else await endBegun(sql, outcome.surveyId, outcome.begunAt)
  }
  const condition = conditionOnSurveys(sql.account, idsOf(ended))
  await sql.run(`DELETE FROM ${qualified(tasks)} WHERE ${condition.on('survey_id')}`, condition.parameters)
}

/** A change that was listed while a survey was read in parts may not be in them: its task stays. */
const endBegun = async (sql: AccountSql, surveyId: number, begunAt: Instant): Promise<void> => {
  const own = 'WHERE account = $1 AND survey_id = $2'
  await sql.run(`DELETE FROM ${qualified(tasks)} ${own} AND coalesce(queued_again_at <= $3, true)`, [
    sql.account,
    surveyId,
    begunAt,
  ])
  await sql.run(
    `UPDATE ${qualified(tasks)} SET unfinished = NULL, unfinished_at = NULL, last_error = NULL ${own}`,
    [sql.account, surveyId],
  )
}

const keepTasks = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  runId: string,
): Promise<void> => {
  for (const outcome of outcomes) {
    const { surveyId, at } = outcome
    const failure = failureOf(outcome)
    if (outcome.kind === 'oversized') {
      const isStuck = outcome.parts?.isLonger === false
      await sql.run(
        `UPDATE ${qualified(tasks)} SET requests_needed = $3, last_error = coalesce($4, last_error),
            unfinished = CASE WHEN $5 THEN unfinished END
          WHERE account = $1 AND survey_id = $2`,
        [sql.account, surveyId, outcome.requestsNeeded, failure?.error ?? null, isStuck],
      )
    } else if (failure !== null)
      await sql.run(
        `UPDATE ${qualified(tasks)} SET attempts = attempts + 1, last_error = $3, last_run_id = $4,
            refusals = CASE WHEN $5 THEN coalesce(refusals, 0) + 1 ELSE refusals END,
            refused_at = CASE WHEN $5 THEN $6 ELSE refused_at END,
            unfinished = NULL, unfinished_at = CASE WHEN $7 THEN unfinished_at END
          WHERE account = $1 AND survey_id = $2`,
        [sql.account, surveyId, failure.error, runId, failure.isRefused, at, outcome.kind === 'failed'],
      )
  }
}
