/** Reads the stored sources and progress of some surveys at once. The run compares them with its readings. */
import { z } from 'zod'
import type { Column } from '../../model/columns.js'
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import type { CellRow, StoredBundle } from '../../model/warehouse.js'
import { bigintCell, cellSchema, selectCell, timestamptzCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { qualified, quote } from '../connection/ddl.js'
import { conditionOnSurveys } from './merge-sql.js'
import { type MergedTable, mergedSampleSources, mergedSurveyProgress } from './merged-tables.js'

/** The map has an entry for each of `surveyIds`. */
export const readStoredBundles = async (
  sql: Sql,
  account: string,
  surveyIds: readonly number[],
): Promise<ReadonlyMap<number, StoredBundle>> => {
  const read = new Map((await readTimes(sql, account, surveyIds)).map((row) => [row.survey_id, row]))
  const known = [...read.keys()]
  const sources = await storedRows(sql, mergedSampleSources, SOURCE_COLUMNS, account, known)
  const progress = await storedRows(sql, mergedSurveyProgress, PROGRESS_COLUMNS, account, known)
  const interviews = await readInterviews(sql, account, known)
  return new Map(
    surveyIds.map((id) => {
      const times = read.get(id)
      if (times === undefined) return [id, NEVER_READ]
      const withProgress = interviews.get(id) ?? []
      return [
        id,
        {
          sources: sources.get(id) ?? [],
          progress: progress.get(id)?.[0] ?? null,
          sourcesWithProgress: withProgress.map((one) => one.id),
          sourceInterviews: withProgress.reduce((sum, one) => sum + one.interviews, 0),
          sourcesReadAt: times.sources_read_at,
          sourceProgressReadAt: times.source_progress_read_at,
        },
      ]
    }),
  )
}

const NEVER_READ: StoredBundle = Object.freeze({
  sources: [],
  progress: null,
  sourcesWithProgress: [],
  sourceInterviews: 0,
  sourcesReadAt: null,
  sourceProgressReadAt: null,
})

const timesRow = z.object({
  survey_id: bigintCell,
  source_progress_read_at: timestamptzCell.nullable(),
  sources_read_at: timestamptzCell.nullable(),
})

/** The surveys that were refreshed before, and when their parts were last read. */
const readTimes = (sql: Sql, account: string, surveyIds: readonly number[]) => {
  const condition = conditionOnSurveys(account, surveyIds)
  return sql.rows(
    timesRow,
    `SELECT survey_id, source_progress_read_at, sources_read_at FROM main.freshness
      WHERE ${condition.on('survey_id')} AND refreshed_at IS NOT NULL`,
    condition.parameters,
  )
}

const interviewsRow = z.object({ survey_id: bigintCell, id: bigintCell, interviews: bigintCell })

const INTERVIEWS = INTERVIEW_STATUSES.map((status) => `coalesce(${quote(`${status}_individuals`)}, 0)`).join(
  ' + ',
)

/** The sources whose progress is stored, with the sum of their interviews, by survey. */
const readInterviews = async (sql: Sql, account: string, surveyIds: readonly number[]) => {
  if (surveyIds.length === 0) return new Map<number, z.output<typeof interviewsRow>[]>()
  const condition = conditionOnSurveys(account, surveyIds)
  const rows = await sql.rows(
    interviewsRow,
    `SELECT survey_id, sample_source_id AS id, (${INTERVIEWS})::BIGINT AS interviews
      FROM main.sample_source_progress WHERE ${condition.on('survey_id')} AND _missing_since IS NULL`,
    condition.parameters,
  )
  return groupedBySurvey(rows)
}

interface RowColumns {
  readonly columns: readonly Column[]
  readonly schema: z.ZodType<{ readonly survey_id: number; readonly cells: CellRow }>
}

/** The columns of a table with the fields of the API, to be compared with a new answer. */
const rowColumns = ({ key, values }: MergedTable): RowColumns => {
  const columns = [...key, ...values].filter(({ name }) => name !== 'account' && name !== 'survey_id')
  const cells = Object.fromEntries(columns.map((column) => [column.name, cellSchema(column)]))
  return {
    columns,
    schema: z
      .object({ ...cells, survey_id: bigintCell })
      .transform(({ survey_id, ...row }) => ({ survey_id, cells: row })),
  }
}

const SOURCE_COLUMNS = rowColumns(mergedSampleSources)
const PROGRESS_COLUMNS = rowColumns(mergedSurveyProgress)

/** The rows of the surveys that are not missing, by survey. */
const storedRows = async (
  sql: Sql,
  table: MergedTable,
  { columns, schema }: RowColumns,
  account: string,
  surveyIds: readonly number[],
): Promise<ReadonlyMap<number, readonly CellRow[]>> => {
  if (surveyIds.length === 0) return new Map()
  const condition = conditionOnSurveys(account, surveyIds)
  const rows = await sql.rows(
    schema,
    `SELECT survey_id, ${columns.map(selectCell).join(', ')} FROM ${qualified(table.current)}
      WHERE ${condition.on('survey_id')} AND _missing_since IS NULL`,
    condition.parameters,
  )
  return new Map([...groupedBySurvey(rows)].map(([id, ofSurvey]) => [id, ofSurvey.map(({ cells }) => cells)]))
}

const groupedBySurvey = <Row extends { readonly survey_id: number }>(
  rows: readonly Row[],
): ReadonlyMap<number, Row[]> => {
  const grouped = new Map<number, Row[]>()
  for (const row of rows) {
    const others = grouped.get(row.survey_id)
    if (others === undefined) grouped.set(row.survey_id, [row])
    else others.push(row)
  }
  return grouped
}
