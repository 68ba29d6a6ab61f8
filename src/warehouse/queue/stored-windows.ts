/** Reads which windows of surveys are stored: days, and times before the first reading. By these the run decides which windows to read. */
import { z } from 'zod'
import { type Instant, minusMs } from '../../model/instant.js'
import type { FirstReading, StoredDays } from '../../model/plan-facts.js'
import type { DailyWindows } from '../../model/run.js'
import { RECONSTRUCTED_MS_MAX } from '../../rules/windows.js'
import { bigintCell, booleanCell, timestamptzCell, varcharCell } from '../connection/cells.js'
import type { AccountSql } from '../connection/database.js'
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

/** The stored days, with the pending row of the survey if there is one, otherwise its stored row. */
export const readStoredDays = async (sql: AccountSql, surveyId: number): Promise<StoredDays> => {
  // The day of a missing row must be read again, even if it was final.
  const days = await sql.rows(
    dayRow,
    `SELECT sample_source_id AS "sampleSourceId", CAST(day AS VARCHAR) AS day, time_zone AS "timeZone",
        is_final AND _missing_since IS NULL AS "isFinal"
      FROM main.survey_progress_by_day WHERE account = $1 AND survey_id = $2`,
    [sql.account, surveyId],
  )
  const [storedSurvey] = await sql.rows(
    surveyRow,
    `SELECT coalesce(p.status, s.status) AS status, coalesce(p.updated_at, s.updated_at) AS "updatedAt",
        f.days_read_at AS "readAt", f.source_days_read_at AS "sourcesReadAt"
      FROM main.surveys s
      LEFT JOIN _sync.pending_surveys p ON p.account = s.account AND p.id = s.id
      LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
      WHERE s.account = $1 AND s.id = $2`,
    [sql.account, surveyId],
  )
  const { readAt, sourcesReadAt, ...survey } = storedSurvey ?? UNKNOWN
  return { survey, days, readAt, sourcesReadAt }
}

const UNKNOWN = { status: '', updatedAt: 0n, readAt: null, sourcesReadAt: null }

/**
 * SQL condition on `survey_progress_by_day`: the days that are read again (not `isSettled`). Days of sources count only if the settings
 * include them, and only for sources that are still listed.
 */
export const isReadAgain = ({ sources, time_zone: timeZone }: DailyWindows): string =>
  `(sample_source_id IS NULL${sources ? ' OR _missing_since IS NULL' : ''})
    AND NOT (is_final AND _missing_since IS NULL AND time_zone = ${literal(timeZone)})`

const firstReading: z.ZodType<FirstReading> = z.object({
  surveyId: bigintCell,
  createdAt: timestamptzCell,
  firstReadAt: timestamptzCell,
  reconstructedFrom: timestamptzCell.nullable(),
})

/**
 * Without surveys that opened after their first reading, whose readings cover all of their fieldwork, and without surveys that the settings
 * exclude.
 */
export const readFirstReadings = (sql: AccountSql, at: Instant): Promise<readonly FirstReading[]> =>
  sql.rows(
    firstReading,
    `SELECT s.id AS "surveyId", s.created_at AS "createdAt", p._first_seen_at AS "firstReadAt", r.from_at AS "reconstructedFrom"
      FROM (FROM main.surveys WHERE account = $1 AND status = 'fieldwork' AND _missing_since IS NULL) s
      JOIN (FROM main.survey_progress WHERE account = $1 AND epoch_us(_first_seen_at) > ${minusMs(at, RECONSTRUCTED_MS_MAX)}) p
        ON p.survey_id = s.id
      ANTI JOIN (FROM main.surveys_history WHERE account = $1 AND status <> 'fieldwork') h
        ON h.id = s.id AND h.valid_from <= p._first_seen_at
      ANTI JOIN (FROM main.freshness WHERE account = $1 AND excluded_by IS NOT NULL) e ON e.survey_id = s.id
      LEFT JOIN (SELECT survey_id, min(as_of) AS from_at FROM main.survey_progress_reconstructed WHERE account = $1 GROUP BY ALL) r
        ON r.survey_id = s.id
      ORDER BY s.created_at DESC, s.id DESC`,
    [sql.account],
  )
