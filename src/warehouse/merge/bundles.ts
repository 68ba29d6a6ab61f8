/**
 * Commits refreshed surveys in one transaction: their sources, progress and days, their pending rows, their freshness, and the end of
 * their tasks. So readers never see a survey's sources without the progress that was read with them.
 */
import { difference } from 'd3-array'
import { addCounts, NO_ROWS, type RowCounts, type RowCountsByTable } from '../../model/run.js'
import { surveyProgressReconstructed } from '../../model/tables.js'
import type {
  BundleOutcome,
  CellRow,
  ReadDays,
  ReconstructedSurvey,
  RefreshedBundle,
} from '../../model/warehouse.js'
import { fieldworkDay } from '../../rules/fieldwork-day.js'
import type { AccountSql } from '../connection/database.js'
import { storedCalendar } from '../history/time-zone.js'
import { endTasks, keepTasks } from '../queue/ended-tasks.js'
import { requireFullListing, unconfirmed } from '../queue/unlisted-surveys.js'
import { hasProgress, updateFreshness } from './freshness.js'
import { markMissing, type ReadRow, readStored, stageGone, surveyIdsOf, upsert } from './merge.js'
import {
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveyProgressByDay,
  mergedSurveys,
} from './merged-tables.js'
import { storeDrift, storeRejections } from './quarantine.js'
import { type ReadingDays, readingDays } from './reading-days.js'
import {
  dropPending,
  noRows,
  PARTS,
  readPending,
  readSurveys,
  type StoredParts,
  sourceIdsOf,
} from './stored-surveys.js'

export const commitBundles = async (
  sql: AccountSql,
  read: readonly BundleOutcome[],
  runId: string,
): Promise<RowCountsByTable> => {
  const outcomes = await withoutUnconfirmed(sql, read)
  const stored = await readSurveys(sql, surveyIdsOf(outcomes))
  const refreshed = outcomes.filter((outcome) => outcome.kind === 'refreshed')
  await storeProblems(sql, refreshed, runId)
  const pending = await mergePending(sql, outcomes)
  const days = await readingDays(sql, refreshed)
  const rowsRead = readRows(refreshed, days)
  const counts: Record<string, RowCounts> = {}
  for (const [part, table] of PARTS) {
    const storedRows = [...stored.values()].flatMap((survey) => survey[part])
    counts[table.current.name] = await upsert(sql, table, storedRows, rowsRead[part])
  }
  const daily = await mergeDays(sql, refreshed)
  const gone = await markGone(sql, outcomes, stored)
  await updateFreshness(sql, outcomes, days)
  await endTasks(sql, outcomes)
  await keepTasks(sql, outcomes, runId)
  if (outcomes.some((outcome) => outcome.kind === 'failed' && outcome.mayBeGone))
    await requireFullListing(sql)
  return {
    surveys: addCounts(pending, { ...NO_ROWS, changed: gone }),
    ...counts,
    ...(daily === null ? {} : { survey_progress_by_day: daily }),
  }
}

/**
 * Leaves out surveys that vanished from the list at once with many others. They are not marked yet, although their addresses answer 404,
 * and stay queued.
 */
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

/** Each reconstructed row is read once, and never changes. Observed rows are left unchanged. */
export const commitReconstructed = async (
  sql: AccountSql,
  surveys: readonly ReconstructedSurvey[],
  runId: string,
): Promise<RowCountsByTable> => {
  await storeProblems(sql, surveys, runId)
  const calendar = await storedCalendar(sql)
  const rows = surveys.flatMap(({ surveyId: survey_id, rows }) =>
    rows.map(({ window: { startedBefore: as_of }, progress, at: read_at }): CellRow => {
      const day = fieldworkDay(calendar, as_of, null)
      return { account: sql.account, survey_id, as_of, day, ...progress, read_at }
    }),
  )
  await sql.insert(surveyProgressReconstructed, rows)
  return { survey_progress_reconstructed: { ...NO_ROWS, added: rows.length } }
}

/** Merges the survey rows that waited for this refresh, also the row of a survey that is gone. */
const mergePending = async (sql: AccountSql, outcomes: readonly BundleOutcome[]): Promise<RowCounts> => {
  const withProgress = outcomes.filter((outcome) => outcome.kind === 'gone' || hasProgress(outcome))
  const pending = await readPending(sql, surveyIdsOf(withProgress))
  if (pending.size === 0) return NO_ROWS
  const ids = [...pending.keys()]
  await dropPending(sql, ids)
  const stored = await readStored(sql, mergedSurveys, ids)
  return await upsert(sql, mergedSurveys, stored.values(), [...pending.values()])
}

const readRows = (bundles: readonly RefreshedBundle[], days: ReadingDays) => ({
  sources: bundles.flatMap(({ surveyId: survey_id, at, sourcesAt: readAt = at, sources }) =>
    sources.map((source): ReadRow => ({ cells: { survey_id, ...source }, readAt })),
  ),
  progress: bundles.flatMap(({ surveyId: survey_id, at: readAt, progress }): readonly ReadRow[] =>
    progress === null ? [] : [{ cells: { survey_id, ...progress }, readAt, ...days.ofSurvey(survey_id) }],
  ),
  sourceProgress: bundles.flatMap(({ surveyId: survey_id, sourceProgress }) =>
    sourceProgress.map(({ sampleSourceId: sample_source_id, progress, at: readAt }): ReadRow => {
      return {
        cells: { survey_id, sample_source_id, ...progress },
        readAt,
        ...days.ofSources(survey_id),
      }
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
