/** `_sync.pending_surveys` holds changed survey rows that wait for their task, see `listing-pages.ts`. */
import { z } from 'zod'
import type { Survey } from '../../model/fields.js'
import type { Instant } from '../../model/instant.js'
import { pendingSurveys } from '../../model/sync-tables.js'
import type { CellRow } from '../../model/warehouse.js'
import { bigintCell, cellSchema, selectCell, timestamptzCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'
import { conditionOnSurveys } from './merge-sql.js'
import { mergedSurveys } from './merged-tables.js'

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
