/**
 * The four tables that are merged from answers, each with its history. What the merge needs to know is read off the
 * declarations: the key, the columns whose values decide whether a row has changed, and the column that dates it.
 */
import type { Column, TableDeclaration } from '../model/columns.js'
import type { CountedTable } from '../model/run.js'
import {
  sampleSourceProgress,
  sampleSourceProgressHistory,
  sampleSources,
  sampleSourcesHistory,
  surveyProgress,
  surveyProgressHistory,
  surveys,
  surveysHistory,
} from '../model/tables.js'

export interface MergedTable {
  readonly name: CountedTable
  readonly current: TableDeclaration
  readonly history: TableDeclaration
  /** `versions`: a row a version with valid_from and valid_to; `observations`: a row a change. */
  readonly historyKind: 'versions' | 'observations'
  readonly key: readonly Column[]
  /** Columns whose change makes a new version. */
  readonly values: readonly Column[]
  /** The column that says when the version was read. */
  readonly readAtColumn: '_synced_at' | '_observed_at'
  /** Temporary table in which rows wait for the merge: key, values, `_read_at`. */
  readonly stage: string
  readonly stageColumns: readonly Column[]
  /** Temporary table of the staged rows that differ from what is stored. */
  readonly changed: string
}

/** When a staged row was read, server time. */
const READ_AT: Column = { name: '_read_at', type: 'TIMESTAMPTZ', nullable: false, comment: '' }
const BOOKKEEPING = ['_first_seen_at', '_synced_at', '_observed_at', '_missing_since']

const merged = (
  name: CountedTable,
  current: TableDeclaration,
  history: TableDeclaration,
  historyKind: MergedTable['historyKind'],
): MergedTable => {
  const key = current.columns.filter((column) => current.key.includes(column.name))
  const values = current.columns.filter(
    (column) => !current.key.includes(column.name) && !BOOKKEEPING.includes(column.name),
  )
  return {
    name,
    current,
    history,
    historyKind,
    key,
    values,
    readAtColumn: historyKind === 'versions' ? '_synced_at' : '_observed_at',
    stage: `stage_${name}`,
    stageColumns: [...key, ...values, READ_AT],
    changed: `changed_${name}`,
  }
}

export const mergedSurveys = merged('surveys', surveys, surveysHistory, 'versions')
export const mergedSampleSources = merged('sample_sources', sampleSources, sampleSourcesHistory, 'versions')
export const mergedSurveyProgress = merged(
  'survey_progress',
  surveyProgress,
  surveyProgressHistory,
  'observations',
)
export const mergedSampleSourceProgress = merged(
  'sample_source_progress',
  sampleSourceProgress,
  sampleSourceProgressHistory,
  'observations',
)
