/** The tables that are merged from answers, with what the merge needs of each. All but the table of days have a history. */
import { z } from 'zod'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { Instant } from '../../model/instant.js'
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
import type { CellRow } from '../../model/warehouse.js'
import { cellSchema, timestamptzCell } from '../connection/cells.js'

export type MergedTable = ReturnType<typeof merged>

export interface StoredRow {
  readonly cells: CellRow
  readonly firstSeenAt: Instant
  readonly datedAt: Instant
  readonly missingSince: Instant | null
}

const storedRow = (columns: readonly Column[]): z.ZodType<StoredRow> =>
  z
    .object({
      ...Object.fromEntries(columns.map((column) => [column.name, cellSchema(column)])),
      _first_seen_at: timestamptzCell,
      _dated_at: timestamptzCell,
      _missing_since: timestamptzCell.nullable(),
    })
    .transform(({ _first_seen_at, _dated_at, _missing_since, ...cells }) => ({
      cells,
      firstSeenAt: _first_seen_at,
      datedAt: _dated_at,
      missingSince: _missing_since,
    }))

/** `versions`: one row per version, with valid_from and valid_to. `observations`: one row per change. Null: no history. */
type History = { readonly kind: 'versions' | 'observations'; readonly table: TableDeclaration } | null

const BOOKKEEPING = ['_first_seen_at', '_synced_at', '_observed_at', '_missing_since']

const merged = (current: TableDeclaration, history: History) => {
  const key = current.columns.filter((column) => current.key.includes(column.name))
  const ids = key.filter((column) => column.name !== 'account')
  const values = current.columns.filter((column) => ![...current.key, ...BOOKKEEPING].includes(column.name))
  const readAtColumn = history?.kind === 'versions' ? '_synced_at' : '_observed_at'
  return {
    current,
    history,
    key,
    ids,
    surveyIdColumn: ids.some((column) => column.name === 'survey_id') ? 'survey_id' : 'id',
    /** The columns whose change makes a new version. */
    values,
    /** The column with the time at which the version was read. */
    readAtColumn,
    /** The schema of stored rows. It is made once, because a schema is compiled at its first use. */
    storedRow: storedRow([...ids, ...values]),
  } as const
}

const versions = (table: TableDeclaration): History => ({ kind: 'versions', table })
const observations = (table: TableDeclaration): History => ({ kind: 'observations', table })

export const mergedSurveys = merged(surveys, versions(surveysHistory))
export const mergedSampleSources = merged(sampleSources, versions(sampleSourcesHistory))
export const mergedSurveyProgress = merged(surveyProgress, observations(surveyProgressHistory))
export const mergedSampleSourceProgress = merged(
  sampleSourceProgress,
  observations(sampleSourceProgressHistory),
)
export const mergedSurveyProgressByDay = merged(surveyProgressByDay, null)
