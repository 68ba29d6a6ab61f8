/**
 * The stored rows of surveys that are refreshed: their sources, progress and pending rows. They are read once, many surveys at a
 * time. The run decides from them what to request, and the commit compares the answers with them.
 */
import { z } from 'zod'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { pendingSurveys } from '../../model/sync-tables.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'
import { bigintCell, cellSchema, selectCell, timestamptzCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { hasDays } from './day-bundles.js'
import { conditionOnSurveys, readStored, type StoredRows } from './merge.js'
import {
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveys,
} from './merged-tables.js'

/** All rows of some surveys, also the missing ones. */
export interface StoredSurveys {
  readonly pending: Map<number, PendingSurvey>
  readonly sources: StoredRows
  readonly progress: StoredRows
  readonly sourceProgress: StoredRows
  /** Whether any survey of the account has days. Most accounts have none, because the settings do not ask for them. */
  readonly hasDays: boolean
}

export interface KeptRows {
  /** Reads the rows of these surveys and keeps them for their commit. The map has an entry for each of them. */
  read(sql: Sql, surveyIds: readonly number[]): Promise<ReadonlyMap<number, StoredBundle>>
  /** The rows for the commit of these surveys: those that are kept, and the others from the transaction. */
  take(sql: Sql, surveyIds: readonly number[]): Promise<StoredSurveys>
  /** Forgets all rows. Whatever else writes these tables calls it first. */
  forget(): void
}

export const createKeptRows = (account: string): KeptRows => {
  const kept = new Map<number, StoredSurveys>()
  return {
    read: async (sql, surveyIds) => {
      const times = await readTimes(sql, account, surveyIds)
      const bySurvey = split(await readSurveys(sql, account, surveyIds), surveyIds)
      for (const [id, stored] of bySurvey) kept.set(id, stored)
      return new Map([...bySurvey].map(([id, stored]) => [id, bundleOf(stored, times.get(id))]))
    },
    take: async (sql, surveyIds) => {
      const stored = surveyIds.flatMap((id) => kept.get(id) ?? [])
      const unread = surveyIds.filter((id) => !kept.has(id))
      for (const id of surveyIds) kept.delete(id)
      return together(unread.length === 0 ? stored : [...stored, await readSurveys(sql, account, unread)])
    },
    forget: () => kept.clear(),
  }
}

const noRows = (): StoredSurveys => ({
  pending: new Map(),
  sources: new Map(),
  progress: new Map(),
  sourceProgress: new Map(),
  hasDays: false,
})

const readSurveys = async (
  sql: Sql,
  account: string,
  surveyIds: readonly number[],
): Promise<StoredSurveys> => ({
  pending: new Map(await readPending(sql, account, surveyIds)),
  sources: await readStored(sql, mergedSampleSources, account, surveyIds),
  progress: await readStored(sql, mergedSurveyProgress, account, surveyIds),
  sourceProgress: await readStored(sql, mergedSampleSourceProgress, account, surveyIds),
  hasDays: await hasDays(sql, account),
})

const TABLES = ['sources', 'progress', 'sourceProgress'] as const

/** The rows of each of these surveys. */
const split = (all: StoredSurveys, surveyIds: readonly number[]): ReadonlyMap<number, StoredSurveys> => {
  const bySurvey = new Map(surveyIds.map((id) => [id, { ...noRows(), hasDays: all.hasDays }]))
  for (const [id, pending] of all.pending) bySurvey.get(id)?.pending.set(id, pending)
  for (const table of TABLES)
    for (const [key, row] of all[table]) bySurvey.get(Number(row.cells.survey_id))?.[table].set(key, row)
  return bySurvey
}

const together = (parts: readonly StoredSurveys[]): StoredSurveys => {
  const all = { ...noRows(), hasDays: parts.some(({ hasDays }) => hasDays) }
  for (const part of parts) {
    for (const [id, pending] of part.pending) all.pending.set(id, pending)
    for (const table of TABLES) for (const [key, row] of part[table]) all[table].set(key, row)
  }
  return all
}

const timesRow = z.object({
  survey_id: bigintCell,
  source_progress_read_at: timestamptzCell.nullable(),
  sources_read_at: timestamptzCell.nullable(),
})

/** The surveys that were refreshed before, and when their parts were last read. */
const readTimes = async (sql: Sql, account: string, surveyIds: readonly number[]) => {
  const condition = conditionOnSurveys(account, surveyIds)
  const rows = await sql.rows(
    timesRow,
    `SELECT survey_id, source_progress_read_at, sources_read_at FROM main.freshness
      WHERE ${condition.on('survey_id')} AND refreshed_at IS NOT NULL`,
    condition.parameters,
  )
  return new Map(rows.map((row) => [row.survey_id, row]))
}

const NEVER_READ: StoredBundle = Object.freeze({
  sources: [],
  progress: null,
  sourceProgress: [],
  sourcesReadAt: null,
  sourceProgressReadAt: null,
})

/** `times` is undefined if the survey was never refreshed. */
const bundleOf = (stored: StoredSurveys, times: z.output<typeof timesRow> | undefined): StoredBundle => {
  if (times === undefined) return NEVER_READ
  return {
    sources: currentOf(stored.sources),
    progress: currentOf(stored.progress)[0] ?? null,
    sourceProgress: currentOf(stored.sourceProgress),
    sourcesReadAt: times.sources_read_at,
    sourceProgressReadAt: times.source_progress_read_at,
  }
}

const currentOf = (rows: StoredRows): readonly CellRow[] =>
  [...rows.values()].filter(({ missingSince }) => missingSince === null).map(({ cells }) => cells)

/** `_sync.pending_surveys` holds changed survey rows that wait for their task, see `listing-pages.ts`. */

export interface PendingSurvey {
  readonly id: number
  readonly cells: CellRow
  readonly readAt: Instant
}

const pendingRow = z
  .object({
    ...Object.fromEntries(mergedSurveys.values.map((column) => [column.name, cellSchema(column)])),
    id: bigintCell,
    _synced_at: timestamptzCell,
  })
  .transform(({ _synced_at, ...cells }): PendingSurvey => ({ id: cells.id, cells, readAt: _synced_at }))

/** The pending rows of these surveys, by survey id. */
export const readPending = async (
  sql: Sql,
  account: string,
  surveyIds: readonly number[],
): Promise<ReadonlyMap<number, PendingSurvey>> => {
  if (surveyIds.length === 0) return new Map()
  const condition = conditionOnSurveys(account, surveyIds)
  const rows = await sql.rows(
    pendingRow,
    `SELECT id, ${mergedSurveys.values.map(selectCell).join(', ')}, _synced_at
      FROM ${qualified(pendingSurveys)} WHERE ${condition.on('id')}`,
    condition.parameters,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

export const addPending = (
  sql: Sql,
  account: string,
  surveys: readonly { readonly survey: Survey; readonly at: Instant }[],
): Promise<void> =>
  sql.insert(
    pendingSurveys,
    surveys.map(({ survey, at }) => ({ account, ...survey, _first_seen_at: at, _synced_at: at })),
  )

export const dropPending = async (sql: Sql, account: string, surveyIds: readonly number[]): Promise<void> => {
  if (surveyIds.length === 0) return
  const condition = conditionOnSurveys(account, surveyIds)
  await sql.run(`DELETE FROM ${qualified(pendingSurveys)} WHERE ${condition.on('id')}`, condition.parameters)
}
