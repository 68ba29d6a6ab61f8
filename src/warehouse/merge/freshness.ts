/** Stores when a survey was read, how much of it was read, and which sources its list lacks. */
import { bigint, boolean, columnsOf, date, timestamptz, varchar } from '../../model/columns.js'
import { freshness } from '../../model/tables.js'
import type { BundleOutcome, RefreshedBundle } from '../../model/warehouse.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { failureOf } from '../queue/ended-tasks.js'
import type { ReadingDays } from './reading-days.js'

/** Whether the survey's own progress was read, so that the bundle counts as refreshed. */
export const hasProgress = (outcome: BundleOutcome): outcome is RefreshedBundle =>
  outcome.kind === 'refreshed' && outcome.sourceProgressRead !== 'none'

const FRESHNESS_STAGE = 'stage_freshness'
const FRESHNESS_COLUMNS = columnsOf({
  survey_id: bigint(''),
  read_at: timestamptz(''),
  progress_day: date.orNull(''),
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

export const updateFreshness = async (
  sql: AccountSql,
  outcomes: readonly BundleOutcome[],
  days: Pick<ReadingDays, 'lastKnown'>,
): Promise<void> => {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'oversized' || outcome.parts !== undefined)
  if (tried.length === 0) return
  const rows = tried.map((outcome) => ({
    survey_id: outcome.surveyId,
    read_at: outcome.at,
    progress_day:
      outcome.kind === 'refreshed' && outcome.progress !== null ? days.lastKnown(outcome.surveyId) : null,
    has_progress: outcome.kind === 'gone' || hasProgress(outcome),
    error: failureOf(outcome)?.error ?? null,
    begun_at: outcome.kind === 'refreshed' ? (outcome.begunAt ?? null) : null,
    sources: outcome.kind === 'refreshed' ? outcome.sourcesRead : null,
    source_progress: outcome.kind === 'refreshed' ? outcome.sourceProgressRead : null,
    // Days that were not requested are now older than the stored rows.
    days: hasProgress(outcome) ? (outcome.days?.read ?? 'some') : null,
    source_days: hasProgress(outcome) ? (outcome.days?.sourcesRead ?? 'some') : null,
    ...unlistedSourcesOf(outcome),
  }))
  await sql.stage(FRESHNESS_STAGE, FRESHNESS_COLUMNS, rows)
  await sql.run(MERGE_FRESHNESS, [sql.account])
}

/** Both are null if no list was compared. */
const unlistedSourcesOf = (outcome: BundleOutcome) => {
  if (outcome.kind !== 'refreshed' || outcome.unlistedSources === undefined)
    return { unlisted: null, left_out: null }
  const { ids, answering } = outcome.unlistedSources
  return { unlisted: JSON.stringify(ids), left_out: answering }
}

/** A list that is read in parts may have changed since the first part. */
const LISTED_AT = 'coalesce(o.begun_at, o.read_at)'

/** The new value of each column, by its value before. `at` gives the time of the last complete reading, by the extent of the reading. */
const freshnessAfter = (before: (column: string) => string): Readonly<Record<string, string>> => {
  const at = (column: string, extent: string, readAt = 'o.read_at') =>
    `CASE o.${extent} WHEN 'all' THEN ${readAt} WHEN 'some' THEN NULL WHEN 'failed' THEN NULL ELSE ${before(column)} END`
  return {
    last_error: 'o.error',
    refreshed_at: `CASE WHEN o.has_progress THEN o.read_at ELSE ${before('refreshed_at')} END`,
    progress_day: `coalesce(o.progress_day, ${before('progress_day')})`,
    sources_listed_at: `CASE WHEN o.sources IN ('all', 'some') THEN ${LISTED_AT} ELSE ${before('sources_listed_at')} END`,
    sources_read_at: at('sources_read_at', 'sources', LISTED_AT),
    source_progress_read_at: at('source_progress_read_at', 'source_progress'),
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
