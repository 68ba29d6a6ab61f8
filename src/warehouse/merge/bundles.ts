/**
 * Commits refreshed surveys in one transaction: their sources and progress, their pending rows, their freshness, and the end of
 * their tasks. So readers never see a survey's sources without the progress that was read with them.
 */
import { bigint, boolean, columnsOf, nullable, timestamptz, varchar } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
import { addCounts, NO_ROWS, type RowCounts, type RowCountsByTable } from '../../model/run.js'
import { tasks } from '../../model/sync-tables.js'
import { freshness } from '../../model/tables.js'
import type { BundleOutcome, RefreshedBundle } from '../../model/warehouse.js'
import { instant } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { requireFullListing } from '../queue/listing.js'
import { mergeDays } from './day-bundles.js'
import {
  conditionOnSurveys,
  type FreshRow,
  markMissing,
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
import type { KeptRows, StoredSurveys } from './stored-surveys.js'
import { dropPending } from './stored-surveys.js'

interface BundleCommit {
  readonly outcomes: readonly BundleOutcome[]
  readonly runId: string
  readonly kept: KeptRows
}

export const commitBundles = async (
  sql: Sql,
  account: string,
  { outcomes, runId, kept }: BundleCommit,
): Promise<RowCountsByTable> => {
  const stored = await kept.take(sql, idsOf(outcomes))
  const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
  for (const bundle of refreshed) {
    const stamp = { runId, at: bundle.at }
    await storeRejections(sql, account, bundle.rejections, stamp)
    await storeDrift(sql, account, bundle.drift, stamp)
  }
  const counts = {
    surveys: await mergePending(sql, account, outcomes, stored),
    sample_sources: await mergeListed(sql, account, refreshed, {
      table: mergedSampleSources,
      stored: stored.sources,
      rows: sourceRows(refreshed),
      sourceIdColumn: 'id',
    }),
    survey_progress: await upsert(sql, mergedSurveyProgress, account, {
      stored: stored.progress,
      rows: progressRows(refreshed),
    }),
    sample_source_progress: await mergeListed(sql, account, refreshed, {
      table: mergedSampleSourceProgress,
      stored: stored.sourceProgress,
      rows: sourceProgressRows(refreshed),
      sourceIdColumn: 'sample_source_id',
    }),
  }
  const days = await mergeDays(sql, account, refreshed, stored)
  const gone = await markGoneSurveys(sql, account, outcomes, stored)
  await updateFreshness(sql, account, outcomes)
  await endTasks(sql, account, outcomes)
  await keepTasks(sql, account, outcomes, runId)
  if (outcomes.some((outcome) => outcome.kind === 'failed' && outcome.mayBeGone))
    await requireFullListing(sql, account)
  return {
    ...counts,
    ...(days === null ? {} : { survey_progress_by_day: days }),
    surveys: addCounts(counts.surveys, { ...NO_ROWS, changed: gone }),
  }
}

const idsOf = (outcomes: readonly BundleOutcome[]): readonly number[] => [
  ...new Set(outcomes.map(({ surveyId }) => surveyId)),
]

/** Whether the survey's own progress was read. It decides whether the bundle counts as refreshed. */
const hasProgress = (outcome: BundleOutcome): outcome is RefreshedBundle =>
  outcome.kind === 'refreshed' && outcome.unread?.isProgressUnread !== true

/** Whether the survey was read completely, or has gone. */
const isDone = (outcome: BundleOutcome): boolean =>
  outcome.kind === 'gone' || (outcome.kind === 'refreshed' && outcome.unread === null)

/** Merges the survey rows that waited for this refresh, also those of a gone survey. */
const mergePending = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
  { pending }: StoredSurveys,
): Promise<RowCounts> => {
  const settled = idsOf(outcomes.filter((outcome) => outcome.kind === 'gone' || hasProgress(outcome)))
  const waited = settled.flatMap((id) => pending.get(id) ?? [])
  if (waited.length === 0) return NO_ROWS
  const ids = waited.map(({ id }) => id)
  await dropPending(sql, account, ids)
  const stored = await readStored(sql, mergedSurveys, account, ids)
  return upsert(sql, mergedSurveys, account, { stored, rows: waited })
}

interface ListedMerge {
  readonly table: MergedTable
  readonly stored: StoredRows
  readonly rows: readonly FreshRow[]
  readonly sourceIdColumn: string
}

/** Merges a table of which a bundle has all rows of its survey. Stored rows that are no longer listed become missing. */
const mergeListed = async (
  sql: Sql,
  account: string,
  bundles: readonly RefreshedBundle[],
  { table, stored, rows, sourceIdColumn }: ListedMerge,
): Promise<RowCounts> => {
  const counts = await upsert(sql, table, account, { stored, rows })
  const listed = new Map(bundles.map((bundle) => [bundle.surveyId, bundle]))
  await markMissing(sql, table, account, stored, (row) => {
    const bundle = listed.get(Number(row.survey_id))
    const isListed = bundle?.listedSourceIds?.includes(Number(row[sourceIdColumn])) ?? true
    return bundle === undefined || isListed ? null : bundle.at
  })
  return counts
}

const progressRows = (bundles: readonly RefreshedBundle[]): readonly FreshRow[] =>
  bundles.flatMap(({ surveyId, at, progress }) =>
    progress === null ? [] : [{ cells: { survey_id: surveyId, ...progress }, readAt: at }],
  )

const sourceRows = (bundles: readonly RefreshedBundle[]): readonly FreshRow[] =>
  bundles.flatMap(({ surveyId, at, sources }) =>
    sources.map((source) => ({ cells: { survey_id: surveyId, ...source }, readAt: at })),
  )

const sourceProgressRows = (bundles: readonly RefreshedBundle[]): readonly FreshRow[] =>
  bundles.flatMap(({ surveyId, sourceProgress }) =>
    sourceProgress.map(({ sampleSourceId, progress, at }) => ({
      cells: { survey_id: surveyId, sample_source_id: sampleSourceId, ...progress },
      readAt: at,
    })),
  )

/** Marks the surveys that the API no longer shows as missing, with all their rows. */
const markGoneSurveys = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
  { sources, progress, sourceProgress }: StoredSurveys,
): Promise<number> => {
  const gone = outcomes.filter(({ kind }) => kind === 'gone')
  if (gone.length === 0) return 0
  const readAt = new Map<number, Instant>(gone.map(({ surveyId, at }) => [surveyId, at]))
  const stored = (table: MergedTable) =>
    readStored(sql, table, account, [...readAt.keys()], { keysOnly: true })
  const mark = (table: MergedTable, rows: StoredRows, idColumn = 'survey_id') =>
    markMissing(sql, table, account, rows, (row) => readAt.get(Number(row[idColumn])) ?? null)
  await mark(mergedSampleSources, sources)
  await mark(mergedSurveyProgress, progress)
  await mark(mergedSampleSourceProgress, sourceProgress)
  await mark(mergedSurveyProgressByDay, await stored(mergedSurveyProgressByDay))
  return mark(mergedSurveys, await stored(mergedSurveys), 'id')
}

const FRESHNESS_STAGE = 'stage_freshness'
const FRESHNESS_COLUMNS = columnsOf({
  survey_id: bigint(''),
  read_at: timestamptz(''),
  failed: boolean(''),
  error: nullable(varchar('')),
  sources: nullable(varchar('')),
  source_progress: nullable(varchar('')),
  days: nullable(varchar('')),
  source_days: nullable(varchar('')),
})

const updateFreshness = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
): Promise<void> => {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'oversized')
  if (tried.length === 0) return
  await sql.stage(
    FRESHNESS_STAGE,
    FRESHNESS_COLUMNS,
    tried.map((outcome) => ({
      survey_id: outcome.surveyId,
      read_at: outcome.at,
      failed: outcome.kind !== 'gone' && !hasProgress(outcome),
      error: errorOf(outcome),
      sources: outcome.kind === 'refreshed' ? outcome.sourcesRead : null,
      source_progress: outcome.kind === 'refreshed' ? outcome.sourceProgressRead : null,
      // Days that were not requested are older than the rows that are stored now.
      days: hasProgress(outcome) ? (outcome.days?.read ?? 'some') : null,
      source_days: hasProgress(outcome) ? (outcome.days?.sourcesRead ?? 'some') : null,
    })),
  )
  await sql.run(MERGE_FRESHNESS, [account])
}

/** Columns with the time of the last complete reading, by the extent that decides them. */
const READ_AT = {
  sources_read_at: 'sources',
  source_progress_read_at: 'source_progress',
  days_read_at: 'days',
  source_days_read_at: 'source_days',
}

/** The value of each column, by its value before. */
const freshnessAfter = (before: (column: string) => string): ReadonlyMap<string, string> =>
  new Map([
    ['last_error', 'o.error'],
    ['refreshed_at', `CASE WHEN o.failed THEN ${before('refreshed_at')} ELSE o.read_at END`],
    [
      'sources_listed_at',
      `CASE WHEN o.sources IN ('all', 'some') THEN o.read_at ELSE ${before('sources_listed_at')} END`,
    ],
    ...Object.entries(READ_AT).map(
      ([column, extent]) =>
        [
          column,
          `CASE o.${extent} WHEN 'all' THEN o.read_at WHEN 'some' THEN NULL ELSE ${before(column)} END`,
        ] as const,
    ),
  ])

const updated = freshnessAfter((column) => `f.${column}`)
const inserted = freshnessAfter(() => 'NULL')

const MERGE_FRESHNESS = `MERGE INTO ${qualified(freshness)} f USING temp.${FRESHNESS_STAGE} o
  ON f.account = $1 AND f.survey_id = o.survey_id
  WHEN MATCHED THEN UPDATE SET ${[...updated].map(([column, value]) => `${column} = ${value}`).join(', ')}
  WHEN NOT MATCHED THEN INSERT (account, survey_id, ${[...inserted.keys()].join(', ')})
    VALUES ($1, o.survey_id, ${[...inserted.values()].join(', ')})`

/** Why the task stays queued; null if it does not. */
const errorOf = (outcome: BundleOutcome): string | null => {
  if (outcome.kind === 'failed') return outcome.error
  return outcome.kind === 'refreshed' ? (outcome.unread?.error ?? null) : null
}

const isRefused = (outcome: BundleOutcome): boolean =>
  outcome.kind === 'failed'
    ? outcome.isRefused
    : outcome.kind === 'refreshed' && outcome.unread?.isRefused === true

const endTasks = async (sql: Sql, account: string, outcomes: readonly BundleOutcome[]): Promise<void> => {
  const ended = idsOf(outcomes.filter(isDone))
  if (ended.length === 0) return
  const condition = conditionOnSurveys(account, ended)
  await sql.run(`DELETE FROM ${qualified(tasks)} WHERE ${condition.on('survey_id')}`, condition.parameters)
}

/** Records on the tasks that stay queued why they do. */
const keepTasks = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
  runId: string,
): Promise<void> => {
  for (const outcome of outcomes) {
    const error = errorOf(outcome)
    if (error !== null)
      await sql.run(
        `UPDATE ${qualified(tasks)} SET attempts = attempts + 1, last_error = $3, last_run_id = $4,
            refusals = CASE WHEN $5 THEN coalesce(refusals, 0) + 1 ELSE refusals END,
            refused_at = CASE WHEN $5 THEN $6 ELSE refused_at END
          WHERE account = $1 AND survey_id = $2`,
        [account, outcome.surveyId, error, runId, isRefused(outcome), instant(outcome.at)],
      )
    if (outcome.kind === 'oversized')
      await sql.run(
        `UPDATE ${qualified(tasks)} SET requests_needed = $3 WHERE account = $1 AND survey_id = $2`,
        [account, outcome.surveyId, outcome.requestsNeeded],
      )
  }
}
