/** Reads the stored sources and progress of one survey. The run compares them with its readings. */
import { z } from 'zod'
import type { Column } from '../../model/columns.js'
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'
import { bigintCell, cellSchema, selectCell, timestamptzCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'
import { type MergedTable, mergedSampleSources, mergedSurveyProgress } from './merged-tables.js'

export const readStoredBundle = async (
  sql: Sql,
  account: string,
  surveyId: number,
): Promise<StoredBundle> => {
  const [read] = await sql.rows(
    z.object({
      source_progress_read_at: timestamptzCell.nullable(),
      sources_read_at: timestamptzCell.nullable(),
    }),
    'SELECT source_progress_read_at, sources_read_at FROM main.freshness WHERE account = $1 AND survey_id = $2 AND refreshed_at IS NOT NULL',
    [account, surveyId],
  )
  if (read === undefined) return NEVER_READ
  const withProgress = await sql.rows(
    z.object({ id: bigintCell, interviews: bigintCell }),
    `SELECT sample_source_id AS id, (${INTERVIEWS})::BIGINT AS interviews FROM main.sample_source_progress
      WHERE account = $1 AND survey_id = $2 AND _missing_since IS NULL`,
    [account, surveyId],
  )
  const [progress] = await storedRows(sql, mergedSurveyProgress, account, surveyId)
  return {
    sources: await storedRows(sql, mergedSampleSources, account, surveyId),
    progress: progress ?? null,
    sourcesWithProgress: withProgress.map(({ id }) => id),
    sourceInterviews: withProgress.reduce((sum, { interviews }) => sum + interviews, 0),
    sourcesReadAt: read.sources_read_at,
    sourceProgressReadAt: read.source_progress_read_at,
  }
}

const INTERVIEWS = INTERVIEW_STATUSES.map((status) => `coalesce(${quote(`${status}_individuals`)}, 0)`).join(
  ' + ',
)

const NEVER_READ: StoredBundle = Object.freeze({
  sources: [],
  progress: null,
  sourcesWithProgress: [],
  sourceInterviews: 0,
  sourcesReadAt: null,
  sourceProgressReadAt: null,
})

/** The rows of a survey with the fields of the API, to be compared with a new answer. */
const storedRows = (
  sql: Sql,
  table: MergedTable,
  account: string,
  surveyId: number,
): Promise<readonly CellRow[]> => {
  const columns = [...table.key, ...table.values].filter(
    ({ name }) => name !== 'account' && name !== 'survey_id',
  )
  return sql.rows(
    rowSchema(columns),
    `SELECT ${columns.map(selectCell).join(', ')} FROM ${qualified(table.current)}
      WHERE account = $1 AND survey_id = $2 AND _missing_since IS NULL`,
    [account, surveyId],
  )
}

const rowSchema = (columns: readonly Column[]): z.ZodType<CellRow> =>
  z.object(Object.fromEntries(columns.map((column) => [column.name, cellSchema(column)])))
