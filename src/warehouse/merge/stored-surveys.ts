/**
 * The stored rows of surveys that are refreshed. By these rows the run decides what to request, and the commit compares the answers with
 * them.
 */
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { pendingSurveys } from '../../model/sync-tables.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { conditionOnSurveys, type ReadRow, readStored } from './merge.js'
import {
  mergedSampleSourceProgress,
  mergedSampleSources,
  mergedSurveyProgress,
  mergedSurveys,
  type StoredRow,
} from './merged-tables.js'

/** The parts of a survey that a refresh reads, each with its table. */
export const PARTS = [
  ['sources', mergedSampleSources],
  ['progress', mergedSurveyProgress],
  ['sourceProgress', mergedSampleSourceProgress],
] as const

/** The stored rows of a survey, missing ones included. */
export type StoredParts = Readonly<Record<(typeof PARTS)[number][0], StoredRow[]>>

export const noRows = (): StoredParts => ({ sources: [], progress: [], sourceProgress: [] })

/** The map has an entry for each of these surveys. */
export const readSurveys = async (sql: AccountSql, surveyIds: readonly number[]) => {
  const surveys = new Map(surveyIds.map((id) => [id, noRows()]))
  for (const [part, table] of PARTS)
    for (const row of (await readStored(sql, table, surveyIds)).values())
      surveys.get(Number(row.cells.survey_id))?.[part].push(row)
  return surveys
}

const timesRow = z.object({
  survey_id: bigintCell,
  source_progress_read_at: timestamptzCell.nullable(),
  unlisted_source_ids: varcharCell.nullable(),
})

/**
 * The stored rows of surveys before a run reads them. The map has an entry for each survey; a survey that was never refreshed has no rows.
 */
export const readStoredBundles = async (
  sql: AccountSql,
  surveyIds: readonly number[],
): Promise<ReadonlyMap<number, StoredBundle>> => {
  const condition = conditionOnSurveys(sql.account, surveyIds)
  const rows = await sql.rows(
    timesRow,
    `SELECT survey_id, source_progress_read_at, unlisted_source_ids FROM main.freshness
      WHERE ${condition.on('survey_id')} AND refreshed_at IS NOT NULL`,
    condition.parameters,
  )
  const times = new Map(rows.map((row) => [row.survey_id, row]))
  const bundles = new Map<number, StoredBundle>()
  for (const [id, stored] of await readSurveys(sql, surveyIds)) {
    const readAt = times.get(id)
    const shown = readAt === undefined ? noRows() : stored
    bundles.set(id, {
      sources: currentOf(shown.sources),
      progress: currentOf(shown.progress)[0] ?? null,
      knownSourceIds: sourceIdsOf(stored),
      unlistedSourceIds: parse(
        z.array(z.number()),
        JSON.parse(readAt?.unlisted_source_ids ?? '[]'),
        'unlisted_source_ids of freshness',
      ),
      sourceProgressReadAt: readAt?.source_progress_read_at ?? null,
    })
  }
  return bundles
}

const currentOf = (rows: readonly StoredRow[]): readonly CellRow[] =>
  rows.flatMap(({ cells, missingSince }) => (missingSince === null ? [cells] : []))

/** The sources of a survey that are not marked as missing. */
export const sourceIdsOf = ({ sources, sourceProgress }: StoredParts): readonly number[] => [
  ...new Set(currentOf([...sources, ...sourceProgress]).map((row) => Number(row.sample_source_id ?? row.id))),
]

// `_sync.pending_surveys` holds changed survey rows that wait for their task, see `listing-pages.ts`.

/** Pending rows are read like the stored rows that they will replace, because both tables have the same columns. */
const waiting = { ...mergedSurveys, current: pendingSurveys }

export const readPending = async (
  sql: AccountSql,
  surveyIds: readonly number[],
): Promise<ReadonlyMap<number, ReadRow>> => {
  const rows = await readStored(sql, waiting, surveyIds)
  return new Map(
    Array.from(rows.values(), ({ cells, datedAt: readAt }) => [Number(cells.id), { cells, readAt }]),
  )
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
