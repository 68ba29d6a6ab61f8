/**
 * Commits refreshed surveys in one transaction: their sources, progress and days, their pending rows, their freshness, and the end of
 * their tasks. So readers never see a survey's sources without the progress that was read with them.
 */
import { bigint, boolean, columnsOf, timestamptz, varchar } from '../../model/columns.js'
import { addCounts, NO_ROWS, type RowCounts, type RowCountsByTable } from '../../model/run.js'
import { tasks } from '../../model/sync-tables.js'
import { freshness } from '../../model/tables.js'
import type { BundleOutcome, ReadDays, RefreshedBundle } from '../../model/warehouse.js'
import { instant } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { requireFullListing } from '../queue/listing.js'
import {
  conditionOnSurveys,
  markMissing,
  type ReadRow,
  readStored,
  type StoredRows,
  upsert,
} from './merge.js'
import {
  type MergedTable,
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveyProgressByDay,
  mergedSurveys,
} from './merged-tables.js'
import { storeDrift, storeRejections } from './quarantine.js'
import { type createStoredSurveys, dropPending, readPending, type StoredSurveys } from './stored-surveys.js'

export const commitBundles = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  runId: string,
  surveys: ReturnType<typeof createStoredSurveys>,
): Promise<RowCountsByTable> => {
  const stored = await surveys.take(sql, idsOf(outcomes))
  const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
  for (const { rejections, drift, at } of refreshed) {
    await storeRejections(sql, rejections, { runId, at })
    await storeDrift(sql, drift, { runId, at })
  }
  const pending = await mergePending(sql, outcomes)
  const counts = {
    sample_sources: await upsert(sql, mergedSampleSources, stored.sources, sourceRows(refreshed)),
    survey_progress: await upsert(sql, mergedSurveyProgress, stored.progress, progressRows(refreshed)),
    sample_source_progress: await upsert(
      sql,
      mergedSampleSourceProgress,
      stored.sourceProgress,
      sourceProgressRows(refreshed),
    ),
  }
  const days = await mergeDays(sql, refreshed)
  await markGoneSources(sql, refreshed, stored)
  const gone = await markGoneSurveys(sql, outcomes, stored)
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

const idsOf = (outcomes: readonly BundleOutcome[]): readonly number[] => [
  ...new Set(outcomes.map(({ surveyId }) => surveyId)),
]

/** Whether the survey's own progress was read. It decides whether the bundle counts as refreshed. */
const hasProgress = (outcome: BundleOutcome): outcome is RefreshedBundle =>
  outcome.kind === 'refreshed' && outcome.unread?.isProgressUnread !== true

/** Merges the survey rows that waited for this refresh, also those of a gone survey. */
const mergePending = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<RowCounts> => {
  const settled = outcomes.filter((outcome) => outcome.kind === 'gone' || hasProgress(outcome))
  const pending = await readPending(sql, idsOf(settled))
  if (pending.size === 0) return NO_ROWS
  const ids = [...pending.keys()]
  await dropPending(sql, ids)
  return await upsert(sql, mergedSurveys, await readStored(sql, mergedSurveys, ids), [...pending.values()])
}

const progressRows = (bundles: readonly RefreshedBundle[]): readonly ReadRow[] =>
  bundles.flatMap(({ surveyId, at, progress }) =>
    progress === null ? [] : [{ cells: { survey_id: surveyId, ...progress }, readAt: at }],
  )

const sourceRows = (bundles: readonly RefreshedBundle[]): readonly ReadRow[] =>
  bundles.flatMap(({ surveyId, at, sources }) =>
    sources.map((source) => ({ cells: { survey_id: surveyId, ...source }, readAt: at })),
  )

const sourceProgressRows = (bundles: readonly RefreshedBundle[]): readonly ReadRow[] =>
  bundles.flatMap(({ surveyId, sourceProgress }) =>
    sourceProgress.map(({ sampleSourceId, progress, at }) => ({
      cells: { survey_id: surveyId, sample_source_id: sampleSourceId, ...progress },
      readAt: at,
    })),
  )

/** The days have no history. Null if no bundle has days. */
const mergeDays = async (sql: AccountSql, bundles: readonly RefreshedBundle[]): Promise<RowCounts | null> => {
  const withDays = bundles.flatMap(({ surveyId, days }) => (days === undefined ? [] : [{ surveyId, days }]))
  if (withDays.length === 0) return null
  const rows = withDays.flatMap(({ surveyId, days }) => dayRows(surveyId, days))
  const ids = rows.length === 0 ? [] : withDays.map(({ surveyId }) => surveyId)
  // A survey may have days of several years, but a night reads only a few.
  const [notBefore = null] = withDays.flatMap(({ days }) => days.rows.map(({ day }) => day.day)).toSorted()
  const stored = await readStored(sql, mergedSurveyProgressByDay, ids, { notBefore })
  return await upsert(sql, mergedSurveyProgressByDay, stored, rows)
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

/** A list of sources is complete: the rows of stored sources that are no longer listed become missing. */
const markGoneSources = async (
  sql: AccountSql,
  bundles: readonly RefreshedBundle[],
  { sources, sourceProgress }: StoredSurveys,
): Promise<void> => {
  const listed = new Map(
    bundles.flatMap(({ surveyId, at, listedSourceIds: ids }) =>
      ids === null ? [] : [[surveyId, { ids: new Set<unknown>(ids), at }] as const],
    ),
  )
  const mark = (table: MergedTable, stored: StoredRows, sourceIdColumn = 'sample_source_id') =>
    markMissing(sql, table, stored, (row) => {
      const { ids, at = null } = listed.get(Number(row.survey_id)) ?? {}
      const id = row[sourceIdColumn] ?? null
      return id === null || ids?.has(id) === true ? null : at
    })
  const gone = await mark(mergedSampleSources, sources, 'id')
  await mark(mergedSampleSourceProgress, sourceProgress)
  if (gone > 0)
    await mark(
      mergedSurveyProgressByDay,
      await readStored(sql, mergedSurveyProgressByDay, [...listed.keys()], { keysOnly: true }),
    )
}

const markGoneSurveys = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  { sources, progress, sourceProgress }: StoredSurveys,
): Promise<number> => {
  const goneAt = new Map(
    outcomes.filter(({ kind }) => kind === 'gone').map(({ surveyId, at }) => [surveyId, at]),
  )
  if (goneAt.size === 0) return 0
  const mark = (table: MergedTable, stored: StoredRows) =>
    markMissing(sql, table, stored, (row) => goneAt.get(Number(row[table.surveyIdColumn])) ?? null)
  const markAll = async (table: MergedTable) =>
    mark(table, await readStored(sql, table, [...goneAt.keys()], { keysOnly: true }))
  await mark(mergedSampleSources, sources)
  await mark(mergedSurveyProgress, progress)
  await mark(mergedSampleSourceProgress, sourceProgress)
  await markAll(mergedSurveyProgressByDay)
  return await markAll(mergedSurveys)
}

const FRESHNESS_STAGE = 'stage_freshness'
const FRESHNESS_COLUMNS = columnsOf({
  survey_id: bigint(''),
  read_at: timestamptz(''),
  failed: boolean(''),
  error: varchar.orNull(''),
  sources: varchar.orNull(''),
  source_progress: varchar.orNull(''),
  days: varchar.orNull(''),
  source_days: varchar.orNull(''),
})

const updateFreshness = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<void> => {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'oversized')
  if (tried.length === 0) return
  const rows = tried.map((outcome) => ({
    survey_id: outcome.surveyId,
    read_at: outcome.at,
    failed: outcome.kind !== 'gone' && !hasProgress(outcome),
    error: errorOf(outcome),
    sources: outcome.kind === 'refreshed' ? outcome.sourcesRead : null,
    source_progress: outcome.kind === 'refreshed' ? outcome.sourceProgressRead : null,
    // Days that were not requested are older than the rows that are stored now.
    days: hasProgress(outcome) ? (outcome.days?.read ?? 'some') : null,
    source_days: hasProgress(outcome) ? (outcome.days?.sourcesRead ?? 'some') : null,
  }))
  await sql.stage(FRESHNESS_STAGE, FRESHNESS_COLUMNS, rows)
  await sql.run(MERGE_FRESHNESS, [sql.account])
}

/** The value of each column, by its value before. `at` is the time of the last complete reading, by its extent. */
const freshnessAfter = (before: (column: string) => string): Readonly<Record<string, string>> => {
  const at = (column: string, extent: string) =>
    `CASE o.${extent} WHEN 'all' THEN o.read_at WHEN 'some' THEN NULL ELSE ${before(column)} END`
  return {
    last_error: 'o.error',
    refreshed_at: `CASE WHEN o.failed THEN ${before('refreshed_at')} ELSE o.read_at END`,
    sources_listed_at: `CASE WHEN o.sources IN ('all', 'some') THEN o.read_at ELSE ${before('sources_listed_at')} END`,
    sources_read_at: at('sources_read_at', 'sources'),
    source_progress_read_at: at('source_progress_read_at', 'source_progress'),
    days_read_at: at('days_read_at', 'days'),
    source_days_read_at: at('source_days_read_at', 'source_days'),
  }
}

const updated = Object.entries(freshnessAfter((column) => `f.${column}`))
const inserted = freshnessAfter(() => 'NULL')

const MERGE_FRESHNESS = `MERGE INTO ${qualified(freshness)} f USING temp.${FRESHNESS_STAGE} o
  ON f.account = $1 AND f.survey_id = o.survey_id
  WHEN MATCHED THEN UPDATE SET ${updated.map(([column, value]) => `${column} = ${value}`).join(', ')}
  WHEN NOT MATCHED THEN INSERT (account, survey_id, ${Object.keys(inserted).join(', ')})
    VALUES ($1, o.survey_id, ${Object.values(inserted).join(', ')})`

const errorOf = (outcome: BundleOutcome): string | null => {
  if (outcome.kind === 'failed') return outcome.error
  return outcome.kind === 'refreshed' ? (outcome.unread?.error ?? null) : null
}

const isRefused = (outcome: BundleOutcome): boolean =>
  outcome.kind === 'failed'
    ? outcome.isRefused
    : outcome.kind === 'refreshed' && outcome.unread?.isRefused === true

const endTasks = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<void> => {
  const isDone = (outcome: BundleOutcome) =>
    outcome.kind === 'gone' || (outcome.kind === 'refreshed' && outcome.unread === null)
  const condition = conditionOnSurveys(sql.account, idsOf(outcomes.filter(isDone)))
  await sql.run(`DELETE FROM ${qualified(tasks)} WHERE ${condition.on('survey_id')}`, condition.parameters)
}

const keepTasks = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  runId: string,
): Promise<void> => {
  for (const outcome of outcomes) {
    const { surveyId, at } = outcome
    const error = errorOf(outcome)
    if (error !== null)
      await sql.run(
        `UPDATE ${qualified(tasks)} SET attempts = attempts + 1, last_error = $3, last_run_id = $4,
            refusals = CASE WHEN $5 THEN coalesce(refusals, 0) + 1 ELSE refusals END,
            refused_at = CASE WHEN $5 THEN $6 ELSE refused_at END
          WHERE account = $1 AND survey_id = $2`,
        [sql.account, surveyId, error, runId, isRefused(outcome), instant(at)],
      )
    if (outcome.kind === 'oversized')
      await sql.run(
        `UPDATE ${qualified(tasks)} SET requests_needed = $3 WHERE account = $1 AND survey_id = $2`,
        [sql.account, surveyId, outcome.requestsNeeded],
      )
  }
}
