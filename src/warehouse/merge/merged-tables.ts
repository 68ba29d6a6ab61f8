/** The tables that are merged from answers, with the properties that the merge needs. All but the table of days have a history. */
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

const BOOKKEEPING = ['_first_seen_at', '_synced_at', '_observed_at', '_missing_since']

/** `history` has a row per version, from `valid_from` to `valid_to`, or a row per change. Null: no history. */
const merged = (current: TableDeclaration, history: TableDeclaration | null) => {
  const key = current.columns.filter((column) => current.key.includes(column.name))
  const ids = key.filter((column) => column.name !== 'account')
  const values = current.columns.filter((column) => ![...current.key, ...BOOKKEEPING].includes(column.name))
  const hasVersions = history?.key.includes('valid_from') === true
  return {
    current,
    history,
    hasVersions,
    key,
    ids,
    surveyIdColumn: ids.some((column) => column.name === 'survey_id') ? 'survey_id' : 'id',
    /** The columns of which a change makes a new version. */
    values,
    /** The column with the time at which the version was read. */
    readAtColumn: hasVersions ? '_synced_at' : '_observed_at',
    /** The schema of stored rows. The schema is made once, because zod compiles a schema at its first use. */
    storedRow: storedRow([...ids, ...values]),
  } as const
}

export const mergedSurveys = merged(surveys, surveysHistory)
export const mergedSampleSources = merged(sampleSources, sampleSourcesHistory)
export const mergedSurveyProgress = merged(surveyProgress, surveyProgressHistory)
export const mergedSampleSourceProgress = merged(sampleSourceProgress, sampleSourceProgressHistory)
export const mergedSurveyProgressByDay = merged(surveyProgressByDay, null)
