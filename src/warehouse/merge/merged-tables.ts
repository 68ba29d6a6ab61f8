/**
 * The tables that are merged from answers, all but the one of days with a history. What the merge needs to know is read off the
 * declarations: the key, the columns whose values decide whether a row has changed, and the column that dates it.
 */
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

export interface MergedTable {
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
  /** Stored rows as they are read back, whole or without the values. Made once: a schema is compiled when it is first used. */
  readonly storedRow: z.ZodType<StoredRow>
  readonly storedKey: z.ZodType<StoredRow>
}

export interface StoredRow {
  /** The key, but for the account, and the values. */
  readonly cells: CellRow
  readonly firstSeenAt: Instant
  /** When this version was read. */
  readonly datedAt: Instant
  readonly missingSince: Instant | null
}

const BOOKKEEPING = ['_first_seen_at', '_synced_at', '_observed_at', '_missing_since']

const storedRow = (columns: readonly Column[]): z.ZodType<StoredRow> =>
  z
    .object({
      ...Object.fromEntries(columns.map((column) => [column.name, cellSchema(column)])),
      _first_seen_at: timestamptzCell,
      _dated_at: timestamptzCell,
      _missing_since: timestamptzCell.nullable(),
    })
    .transform((row) => ({
      cells: row,
      firstSeenAt: row._first_seen_at,
      datedAt: row._dated_at,
      missingSince: row._missing_since,
    }))

const merged = (current: TableDeclaration, history: MergedTable['history']): MergedTable => {
  const { name } = current
  const key = current.columns.filter((column) => current.key.includes(column.name))
  const ids = key.filter((column) => column.name !== 'account')
  const values = current.columns.filter(
    (column) => !current.key.includes(column.name) && !BOOKKEEPING.includes(column.name),
  )
  const readAtColumn = history?.kind === 'versions' ? '_synced_at' : '_observed_at'
  const bookkeeping = (wanted: string) => current.columns.filter((column) => column.name === wanted)
  return {
    current,
    history,
    key,
    values,
    readAtColumn,
    changed: `changed_${name}`,
    changedColumns: [...key, ...values, ...bookkeeping(readAtColumn)],
    gone: `gone_${name}`,
    goneColumns: [...key, ...bookkeeping('_missing_since')],
    storedRow: storedRow([...ids, ...values]),
    storedKey: storedRow(ids),
  }
}

export const mergedSurveys = merged(surveys, { kind: 'versions', table: surveysHistory })
export const mergedSampleSources = merged(sampleSources, { kind: 'versions', table: sampleSourcesHistory })
export const mergedSurveyProgress = merged(surveyProgress, {
  kind: 'observations',
  table: surveyProgressHistory,
})
export const mergedSampleSourceProgress = merged(sampleSourceProgress, {
  kind: 'observations',
  table: sampleSourceProgressHistory,
})
export const mergedSurveyProgressByDay = merged(surveyProgressByDay, null)
