/**
 * What a refresh writes: everything that was read of some surveys, with their pending rows, the end of their tasks and
 * as of when they are known, in one transaction. Readers never see a survey's sources without the progress that was
 * read with them.
 */
import type { Instant } from '../../model/instant.js'
import type { RowCounts, RowCountsByTable } from '../../model/run.js'
import { tasks } from '../../model/sync-tables.js'
import { freshness } from '../../model/tables.js'
import type { BundleOutcome, OversizedTask, RefreshedBundle } from '../../model/warehouse.js'
import { instant, type Parameter } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { wantFullListing } from '../queue/listing.js'
import { mergeDays } from './day-bundles.js'
import { addCounts, type FreshRow, markMissing, NO_ROWS, upsert } from './merge.js'
import { ofSurveys } from './merge-sql.js'
import {
  type MergedTable,
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveyProgressByDay,
  mergedSurveys,
} from './merged-tables.js'
import { dropPending, readPending } from './pending-surveys.js'
import { storeDrift, storeRejections } from './quarantine.js'
import { readStored } from './stored-rows.js'

export const commitBundles = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
  runId: string,
): Promise<RowCountsByTable> => {
  const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
  for (const bundle of refreshed) {
    const stamp = { runId, at: bundle.at }
    await storeRejections(sql, account, bundle.rejections, stamp)
    await storeDrift(sql, account, bundle.drift, stamp)
  }
  const counts = {
    surveys: await mergePending(sql, account, outcomes),
    sample_sources: await mergeListed(sql, mergedSampleSources, account, refreshed, 'id', sourceRows),
    survey_progress: await mergeProgress(sql, account, refreshed),
    sample_source_progress: await mergeListed(
      sql,
      mergedSampleSourceProgress,
      account,
      refreshed,
      'sample_source_id',
      sourceProgressRows,
    ),
  }
  const days = await mergeDays(sql, account, refreshed)
  const gone = await markGoneSurveys(sql, account, outcomes)
  await updateFreshness(sql, account, outcomes)
  await endTasks(sql, account, outcomes)
  await keepTasks(sql, account, outcomes, runId)
  if (outcomes.some((outcome) => outcome.kind === 'failed' && outcome.mayBeGone))
    await wantFullListing(sql, account)
  return {
    ...counts,
    ...(days === null ? {} : { survey_progress_by_day: days }),
    surveys: addCounts(counts.surveys, { ...NO_ROWS, changed: gone }),
  }
}

const idsOf = (outcomes: readonly BundleOutcome[]): readonly number[] => [
  ...new Set(outcomes.map(({ surveyId }) => surveyId)),
]

/** Whether the survey's own progress was read: it stands for the bundle. */
const hasProgress = (outcome: BundleOutcome): outcome is RefreshedBundle =>
  outcome.kind === 'refreshed' && outcome.refused?.isProgressRefused !== true

/** Whether nothing is left to be read of the survey. */
const isDone = (outcome: BundleOutcome): boolean =>
  outcome.kind === 'gone' || (outcome.kind === 'refreshed' && outcome.refused === null)

/** Survey rows that waited for this refresh; also those of a survey that turned out to be gone. */
const mergePending = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
): Promise<RowCounts> => {
  const settled = outcomes.filter((outcome) => outcome.kind === 'gone' || hasProgress(outcome))
  const pending = [...(await readPending(sql, account, idsOf(settled))).values()]
  if (pending.length === 0) return NO_ROWS
  const ids = pending.map(({ id }) => id)
  await dropPending(sql, account, ids)
  const stored = await readStored(sql, mergedSurveys, account, ids)
  const rows = pending.map(({ cells, readAt }) => ({ cells: { account, ...cells }, readAt }))
  return upsert(sql, mergedSurveys, stored, rows)
}

const mergeProgress = async (
  sql: Sql,
  account: string,
  bundles: readonly RefreshedBundle[],
): Promise<RowCounts> => {
  const read = bundles.filter(({ progress }) => progress !== null)
  const stored = await readStored(sql, mergedSurveyProgress, account, idsOf(read))
  return upsert(sql, mergedSurveyProgress, stored, progressRows(account, read))
}

/** Merges a table of which a bundle holds all rows of its survey: what is stored and no longer listed is missing. */
const mergeListed = async (
  sql: Sql,
  table: MergedTable,
  account: string,
  bundles: readonly RefreshedBundle[],
  sourceIdColumn: string,
  rowsOf: (account: string, bundles: readonly RefreshedBundle[]) => readonly FreshRow[],
): Promise<RowCounts> => {
  const rows = rowsOf(account, bundles)
  const stored = await readStored(sql, table, account, idsOf(bundles), { keysOnly: rows.length === 0 })
  const counts = await upsert(sql, table, stored, rows)
  const listed = new Map(bundles.map((bundle) => [bundle.surveyId, bundle]))
  await markMissing(sql, table, account, stored, (row) => {
    const bundle = listed.get(Number(row.survey_id))
    const isListed = bundle?.listedSourceIds?.includes(Number(row[sourceIdColumn])) ?? true
    return bundle === undefined || isListed ? null : bundle.at
  })
  return counts
}

const sourceRows = (account: string, bundles: readonly RefreshedBundle[]): readonly FreshRow[] =>
  bundles.flatMap(({ surveyId, at, sources }) =>
    sources.map((source) => ({ cells: { account, survey_id: surveyId, ...source }, readAt: at })),
  )

const progressRows = (account: string, bundles: readonly RefreshedBundle[]): readonly FreshRow[] =>
  bundles.map(({ surveyId, at, progress }) => ({
    cells: { account, survey_id: surveyId, ...progress },
    readAt: at,
  }))

const sourceProgressRows = (account: string, bundles: readonly RefreshedBundle[]): readonly FreshRow[] =>
  bundles.flatMap(({ surveyId, sourceProgress }) =>
    sourceProgress.map(({ sampleSourceId, progress, at }) => ({
      cells: { account, survey_id: surveyId, sample_source_id: sampleSourceId, ...progress },
      readAt: at,
    })),
  )

/** The API no longer shows these surveys, nor anything of theirs. */
const markGoneSurveys = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
): Promise<number> => {
  const gone = outcomes.filter(({ kind }) => kind === 'gone')
  const readAt = new Map<number, Instant>(gone.map(({ surveyId, at }) => [surveyId, at]))
  const mark = async (table: MergedTable, idColumn: string) =>
    markMissing(
      sql,
      table,
      account,
      await readStored(sql, table, account, [...readAt.keys()], { keysOnly: true }),
      (row) => readAt.get(Number(row[idColumn])) ?? null,
    )
  for (const table of [
    mergedSampleSources,
    mergedSurveyProgress,
    mergedSampleSourceProgress,
    mergedSurveyProgressByDay,
  ]) {
    await mark(table, 'survey_id')
  }
  return mark(mergedSurveys, 'id')
}

const FRESHNESS_PARAMETERS = [
  'BIGINT',
  'TIMESTAMPTZ',
  'BOOLEAN',
  'VARCHAR',
  'VARCHAR',
  'VARCHAR',
  'VARCHAR',
  'VARCHAR',
] as const

const updateFreshness = async (
  sql: Sql,
  account: string,
  outcomes: readonly BundleOutcome[],
): Promise<void> => {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'oversized')
  for (let from = 0; from < tried.length; from += VALUES_AT_ONCE) {
    await updateFreshnessOf(sql, account, tried.slice(from, from + VALUES_AT_ONCE))
  }
}

/** A statement's cost grows faster than the number of its parameters. */
const VALUES_AT_ONCE = 100

const updateFreshnessOf = async (
  sql: Sql,
  account: string,
  tried: readonly Exclude<BundleOutcome, OversizedTask>[],
): Promise<void> => {
  const values = tried.map(
    (_, row) =>
      `(${FRESHNESS_PARAMETERS.map((type, place) => `$${2 + row * FRESHNESS_PARAMETERS.length + place}::${type}`).join(', ')})`,
  )
  await sql.run(
    `MERGE INTO ${qualified(freshness)} f
      USING (VALUES ${values.join(', ')}) o(survey_id, read_at, failed, error, sources_read, source_progress_read, days_read, source_days_read)
      ON f.account = $1 AND f.survey_id = o.survey_id
      WHEN MATCHED THEN UPDATE SET last_error = o.error,
        refreshed_at = CASE WHEN o.failed THEN f.refreshed_at ELSE o.read_at END,
        sources_read_at = CASE o.sources_read WHEN 'all' THEN o.read_at WHEN 'some' THEN NULL ELSE f.sources_read_at END,
        sources_listed_at = CASE WHEN o.sources_read IN ('all', 'some') THEN o.read_at ELSE f.sources_listed_at END,
        source_progress_read_at = CASE o.source_progress_read WHEN 'all' THEN o.read_at WHEN 'some' THEN NULL
          ELSE f.source_progress_read_at END,
        days_read_at = CASE o.days_read WHEN 'all' THEN o.read_at WHEN 'some' THEN NULL ELSE f.days_read_at END,
        source_days_read_at = CASE o.source_days_read WHEN 'all' THEN o.read_at WHEN 'some' THEN NULL
          ELSE f.source_days_read_at END
      WHEN NOT MATCHED THEN INSERT (account, survey_id, refreshed_at, sources_read_at, sources_listed_at, source_progress_read_at, days_read_at, source_days_read_at, last_error)
        VALUES ($1, o.survey_id, CASE WHEN o.failed THEN NULL ELSE o.read_at END,
          CASE WHEN o.sources_read = 'all' THEN o.read_at END,
          CASE WHEN o.sources_read IN ('all', 'some') THEN o.read_at END,
          CASE WHEN o.source_progress_read = 'all' THEN o.read_at END,
          CASE WHEN o.days_read = 'all' THEN o.read_at END,
          CASE WHEN o.source_days_read = 'all' THEN o.read_at END, o.error)`,
    [
      account,
      ...tried.flatMap((outcome): readonly Parameter[] => [
        outcome.surveyId,
        instant(outcome.at),
        outcome.kind !== 'gone' && !hasProgress(outcome),
        errorOf(outcome),
        outcome.kind === 'refreshed' ? outcome.sourcesRead : null,
        outcome.kind === 'refreshed' ? outcome.sourceProgressRead : null,
        // Days that were not asked for are behind what is stored with them from now on.
        hasProgress(outcome) ? (outcome.days?.read ?? 'some') : null,
        hasProgress(outcome) ? (outcome.days?.sourcesRead ?? 'some') : null,
      ]),
    ],
  )
}

/** Why the task stays queued; null when it does not. */
const errorOf = (outcome: BundleOutcome): string | null => {
  if (outcome.kind === 'failed') return outcome.error
  return outcome.kind === 'refreshed' ? (outcome.refused?.error ?? null) : null
}

const isRefused = (outcome: BundleOutcome): boolean =>
  outcome.kind === 'failed' ? outcome.isRefused : outcome.kind === 'refreshed'

const endTasks = async (sql: Sql, account: string, outcomes: readonly BundleOutcome[]): Promise<void> => {
  const ended = idsOf(outcomes.filter(isDone))
  if (ended.length === 0) return
  const condition = ofSurveys(account, ended)
  await sql.run(`DELETE FROM ${qualified(tasks)} WHERE ${condition.of('survey_id')}`, condition.parameters)
}

/** Tasks that stay queued, with why. */
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
