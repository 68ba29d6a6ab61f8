/** The days of fieldwork of the readings of a commit. All rows of a survey and its sources get the same day, so that their gains add up. */
import { z } from 'zod'
import type { RefreshedBundle } from '../../model/warehouse.js'
import { fieldworkDay, lastKnownDay } from '../../rules/fieldwork-day.js'
import { bigintCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
import { storedCalendar } from '../history/time-zone.js'
import { conditionOnSurveys, type ReadRow } from './merge.js'

type Days = Pick<ReadRow, 'days'>

export interface ReadingDays {
  /** The last day that is known after the reading. */
  readonly lastKnown: (surveyId: number) => string | null
  readonly ofSurvey: (surveyId: number) => Days
  readonly ofSources: (surveyId: number) => Days
}

const earlierRow = z.object({
  survey_id: bigintCell,
  refreshed_at: timestamptzCell.nullable(),
  progress_day: varcharCell.nullable(),
  source_progress_read_at: timestamptzCell.nullable(),
})

export const readingDays = async (
  sql: AccountSql,
  bundles: readonly RefreshedBundle[],
): Promise<ReadingDays> => {
  const ids = bundles.map(({ surveyId }) => surveyId)
  const condition = conditionOnSurveys(sql.account, ids)
  const rows =
    ids.length === 0
      ? []
      : await sql.rows(
          earlierRow,
          `SELECT survey_id, refreshed_at, CAST(progress_day AS VARCHAR) AS progress_day, source_progress_read_at
            FROM main.freshness WHERE ${condition.on('survey_id')}`,
          condition.parameters,
        )
  const earlier = new Map(rows.map((row) => [row.survey_id, row]))
  const calendar = await storedCalendar(sql)
  const days = new Map(
    bundles.map(({ surveyId, at }) => [
      surveyId,
      {
        day: fieldworkDay(calendar, at, earlier.get(surveyId)?.refreshed_at ?? null),
        known: lastKnownDay(calendar, at),
      },
    ]),
  )
  const daysOf = (surveyId: number, day_before: string | null): Days => {
    const day = days.get(surveyId)?.day
    return day === undefined ? {} : { days: { day, day_before } }
  }
  return {
    lastKnown: (surveyId) => days.get(surveyId)?.known ?? null,
    ofSurvey: (surveyId) => daysOf(surveyId, earlier.get(surveyId)?.progress_day ?? null),
    // Without `source_progress_read_at`, some sources may not have been read with the survey.
    ofSources: (surveyId) => {
      const before = earlier.get(surveyId)
      return daysOf(surveyId, before?.source_progress_read_at == null ? null : before.progress_day)
    },
  }
}
