/** The stored rows of surveys that are refreshed. The run decides from them what to request, and the commit compares the answers with them. */
import { z } from 'zod'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { pendingSurveys } from '../../model/sync-tables.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'
import { bigintCell, cellSchema, selectCell, timestamptzCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { conditionOnSurveys, readStored, type StoredRows } from './merge.js'
import {
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveys,
} from './merged-tables.js'

export type StoredSurveys = Readonly<Record<'sources' | 'progress' | 'sourceProgress', StoredRows>>

const readSurveys = async (sql: AccountSql, surveyIds: readonly number[]): Promise<StoredSurveys> => ({
  sources: await readStored(sql, mergedSampleSources, surveyIds),
  progress: await readStored(sql, mergedSurveyProgress, surveyIds),
  sourceProgress: await readStored(sql, mergedSampleSourceProgress, surveyIds),
})

const timesRow = z.object({
  survey_id: bigintCell,
  source_progress_read_at: timestamptzCell.nullable(),
  sources_read_at: timestamptzCell.nullable(),
})

/** Rows that were read for a run are kept for the commit of their survey, the only one that writes these tables: a night takes a third less CPU. */
export const createStoredSurveys = () => {
  /** The reading of each survey that was not committed since. */
  const kept = new Map<number, StoredSurveys>()
  return {
    /** The map has an entry for each of these surveys. One that was never refreshed has no rows. */
    read: async (sql: AccountSql, ids: readonly number[]): Promise<ReadonlyMap<number, StoredBundle>> => {
      const condition = conditionOnSurveys(sql.account, ids)
      const times = await sql.rows(
        timesRow,
        `SELECT survey_id, source_progress_read_at, sources_read_at FROM main.freshness
          WHERE ${condition.on('survey_id')} AND refreshed_at IS NOT NULL`,
        condition.parameters,
      )
      const stored = await readSurveys(sql, ids)
      for (const id of ids) kept.set(id, stored)
      const sources = bySurvey(stored.sources)
      const progress = bySurvey(stored.progress)
      const sourceProgress = bySurvey(stored.sourceProgress)
      const bundles = new Map(ids.map((id) => [id, NEVER_READ]))
      for (const { survey_id: id, sources_read_at, source_progress_read_at } of times)
        bundles.set(id, {
          sources: sources.get(id) ?? [],
          progress: progress.get(id)?.[0] ?? null,
          sourceProgress: sourceProgress.get(id) ?? [],
          sourcesReadAt: sources_read_at,
          sourceProgressReadAt: source_progress_read_at,
        })
      return bundles
    },
    /** The rows for the commit of these surveys: those that are kept, and the others from the transaction. */
    take: async (sql: AccountSql, surveyIds: readonly number[]): Promise<StoredSurveys> => {
      const unread = surveyIds.filter((id) => !kept.has(id))
      const fresh = await readSurveys(sql, unread)
      const readingOf = new Map(surveyIds.map((id) => [id, kept.get(id) ?? fresh]))
      for (const id of surveyIds) kept.delete(id)
      const readings = [...new Set(readingOf.values())]
      const of = (table: keyof StoredSurveys): StoredRows =>
        new Map(
          readings.flatMap((reading) =>
            [...reading[table]].filter(([, { cells }]) => readingOf.get(Number(cells.survey_id)) === reading),
          ),
        )
      return { sources: of('sources'), progress: of('progress'), sourceProgress: of('sourceProgress') }
    },
  }
}

const NEVER_READ: StoredBundle = Object.freeze({
  sources: [],
  progress: null,
  sourceProgress: [],
  sourcesReadAt: null,
  sourceProgressReadAt: null,
})

const bySurvey = (rows: StoredRows): ReadonlyMap<number, readonly CellRow[]> => {
  const current = new Map<number, CellRow[]>()
  for (const { cells, missingSince } of rows.values()) {
    if (missingSince !== null) continue
    const id = Number(cells.survey_id)
    const rowsOfSurvey = current.get(id)
    if (rowsOfSurvey === undefined) current.set(id, [cells])
    else rowsOfSurvey.push(cells)
  }
  return current
}

// `_sync.pending_surveys` holds changed survey rows that wait for their task, see `listing-pages.ts`.

const pendingRow = z
  .object({
    ...Object.fromEntries(mergedSurveys.values.map((column) => [column.name, cellSchema(column)])),
    id: bigintCell,
    _synced_at: timestamptzCell,
  })
  .transform(({ _synced_at, ...cells }) => ({
    id: cells.id,
    cells: cells satisfies CellRow,
    readAt: _synced_at,
  }))

export const readPending = async (sql: AccountSql, surveyIds: readonly number[]) => {
  const condition = conditionOnSurveys(sql.account, surveyIds)
  const rows = await sql.rows(
    pendingRow,
    `SELECT id, ${mergedSurveys.values.map(selectCell).join(', ')}, _synced_at
      FROM ${qualified(pendingSurveys)} WHERE ${condition.on('id')}`,
    condition.parameters,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

export const addPending = (
  sql: AccountSql,
  surveys: readonly { readonly survey: Survey; readonly at: Instant }[],
): Promise<void> =>
  sql.insert(
    pendingSurveys,
    surveys.map(({ survey, at }) => ({
      account: sql.account,
      ...survey,
      _first_seen_at: at,
      _synced_at: at,
    })),
  )

export const dropPending = async (sql: AccountSql, surveyIds: readonly number[]): Promise<void> => {
  if (surveyIds.length === 0) return
  const condition = conditionOnSurveys(sql.account, surveyIds)
  await sql.run(`DELETE FROM ${qualified(pendingSurveys)} WHERE ${condition.on('id')}`, condition.parameters)
}
