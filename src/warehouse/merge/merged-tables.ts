/**
 * The tables that are merged from answers, all but the one of days with a history. What the merge needs to know is read off the
 * declarations: the key, the columns whose values decide whether a row has changed, and the column that dates it.
 */
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CountedTable } from '../../model/run.js'
import {
  sampleSourceProgress,
  sampleSourceProgressHistory,
  sampleSources,
  sampleSourcesHistory,
  surveyProgress,
  surveyProgressByDay,
  surveyProgressHistory,
  surveys,
  surveysHistory,
} from '../../model/tables.js'

export interface MergedTable {
  readonly name: CountedTable
  readonly current: TableDeclaration
  /** `versions`: a row a version with valid_from and valid_to; `observations`: a row a change. Null: only now is kept. */
  readonly history: { readonly kind: 'versions' | 'observations'; readonly table: TableDeclaration } | null
  readonly key: readonly Column[]
  /** Columns whose change makes a new version. */
  readonly values: readonly Column[]
  /** The column that says when the version was read. */
  readonly readAtColumn: '_synced_at' | '_observed_at'
  /** Temporary table of the rows that take the place of stored ones: key, values, when they were read. */
  readonly changed: string
  readonly changedColumns: readonly Column[]
  /** Temporary table of the keys of rows that have gone, and when that was noticed. */
  readonly gone: string
  readonly goneColumns: readonly Column[]
}

const BOOKKEEPING = ['_first_seen_at', '_synced_at', '_observed_at', '_missing_since']

const merged = (
  name: CountedTable,
  current: TableDeclaration,
  history: MergedTable['history'],
): MergedTable => {
  const key = current.columns.filter((column) => current.key.includes(column.name))
  const values = current.columns.filter(
    (column) => !current.key.includes(column.name) && !BOOKKEEPING.includes(column.name),
  )
  const readAtColumn = history?.kind === 'versions' ? '_synced_at' : '_observed_at'
  const bookkeeping = (wanted: string) => current.columns.filter((column) => column.name === wanted)
  return {
    name,
    current,
    history,
    key,
    values,
    readAtColumn,
    changed: `changed_${name}`,
    changedColumns: [...key, ...values, ...bookkeeping(readAtColumn)],
    gone: `gone_${name}`,
    goneColumns: [...key, ...bookkeeping('_missing_since')],
  }
}

export const mergedSurveys = merged('surveys', surveys, { kind: 'versions', table: surveysHistory })
export const mergedSampleSources = merged('sample_sources', sampleSources, {
  kind: 'versions',
  table: sampleSourcesHistory,
})
export const mergedSurveyProgress = merged('survey_progress', surveyProgress, {
  kind: 'observations',
  table: surveyProgressHistory,
})
export const mergedSampleSourceProgress = merged('sample_source_progress', sampleSourceProgress, {
  kind: 'observations',
  table: sampleSourceProgressHistory,
})
export const mergedSurveyProgressByDay = merged('survey_progress_by_day', surveyProgressByDay, null)

export const MERGED_TABLES = [
  mergedSurveys,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSampleSourceProgress,
  mergedSurveyProgressByDay,
] as const
