/**
 * The tables that are merged from answers. All but the table of days have a history. The declarations give what the merge needs:
 * the key, the columns whose values decide whether a row changed, and the column with its date.
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
  /** `versions`: one row per version, with valid_from and valid_to. `observations`: one row per change. Null: no history. */
  readonly history: { readonly kind: 'versions' | 'observations'; readonly table: TableDeclaration } | null
  readonly key: readonly Column[]
  /** The columns whose change makes a new version. */
  readonly values: readonly Column[]
  /** The column with the time at which the version was read. */
  readonly readAtColumn: '_synced_at' | '_observed_at'
  /** Temporary table of the rows that replace stored ones: key, values, time of reading. */
  readonly changed: string
  readonly changedColumns: readonly Column[]
  /** Temporary table of gone rows: key, and since when they are missing. */
  readonly gone: string
  readonly goneColumns: readonly Column[]
  /** Schemas of stored rows, with and without values. They are made once, because a schema is compiled at its first use. */
  readonly storedRow: z.ZodType<StoredRow>
  readonly storedKey: z.ZodType<StoredRow>
}

export interface StoredRow {
  /** The key without the account, and the values. */
  readonly cells: CellRow
  readonly firstSeenAt: Instant
  /** The date of this version. */
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
    .transform(({ _first_seen_at, _dated_at, _missing_since, ...cells }) => ({
      cells,
      firstSeenAt: _first_seen_at,
      datedAt: _dated_at,
      missingSince: _missing_since,
    }))

const merged = (current: TableDeclaration, history: MergedTable['history']): MergedTable => {
  const { name } = current
  const key = current.columns.filter((column) => current.key.includes(column.name))
  const ids = key.filter((column) => column.name !== 'account')
  const values = current.columns.filter(
    (column) => !current.key.includes(column.name) && !BOOKKEEPING.includes(column.name),
  )
  const readAtColumn = history?.kind === 'versions' ? '_synced_at' : '_observed_at'
  const columnNamed = (columnName: string) => current.columns.filter((column) => column.name === columnName)
  return {
    current,
    history,
    key,
    values,
    readAtColumn,
    changed: `changed_${name}`,
    changedColumns: [...key, ...columnNamed(readAtColumn)],
    gone: `gone_${name}`,
    goneColumns: [...key, ...columnNamed('_missing_since')],
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
