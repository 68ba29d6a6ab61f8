/** What is stored of a survey's days, in `survey_progress_by_day`: the run tells from it which are to be read. */
import { z } from 'zod'
import type { DailyWindows, StoredDays } from '../../model/daily-windows.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { Sql } from '../connection/database.js'
import { literal } from '../connection/ddl.js'

const dayRow = z.object({
  sampleSourceId: bigintCell.nullable(),
  day: varcharCell,
  timeZone: varcharCell,
  isFinal: booleanCell,
})

const surveyRow = z.object({
  status: varcharCell,
  updatedAt: timestamptzCell,
  readAt: timestamptzCell.nullable(),
  sourcesReadAt: timestamptzCell.nullable(),
})

/** The row of the survey that waits for this refresh, if one does, else the one it has. */
export const readStoredDays = async (sql: Sql, account: string, surveyId: number): Promise<StoredDays> => {
  // A row that went missing is none that need not be read again.
  const days = await sql.rows(
    dayRow,
    `SELECT sample_source_id AS "sampleSourceId", CAST(day AS VARCHAR) AS day, time_zone AS "timeZone",
        is_final AND _missing_since IS NULL AS "isFinal"
      FROM main.survey_progress_by_day WHERE account = $1 AND survey_id = $2`,
    [account, surveyId],
  )
  const [found] = await sql.rows(
    surveyRow,
    `SELECT coalesce(p.status, s.status) AS status, coalesce(p.updated_at, s.updated_at) AS "updatedAt",
        f.days_read_at AS "readAt", f.source_days_read_at AS "sourcesReadAt"
      FROM main.surveys s
      LEFT JOIN _sync.pending_surveys p ON p.account = s.account AND p.id = s.id
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      WHERE s.account = $1 AND s.id = $2`,
    [account, surveyId],
  )
  const { readAt, sourcesReadAt, ...survey } = found ?? UNKNOWN
  return { survey, days, readAt, sourcesReadAt }
}

const UNKNOWN = { status: '', updatedAt: 0n, readAt: null, sourcesReadAt: null }

/**
 * SQL condition on `survey_progress_by_day`: days of a series that is read, which are not settled (`isSettled`). Days of
 * sources are read only where the settings ask for them, and of no source that is not listed any more.
 */
export const isReadAgain = ({ sources, timeZone }: DailyWindows): string =>
  `(sample_source_id IS NULL${sources ? ' OR _missing_since IS NULL' : ''})
    AND NOT (is_final AND _missing_since IS NULL AND time_zone = ${literal(timeZone)})`
