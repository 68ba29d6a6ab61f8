/**
 * Keeps the forecasts of each run, so that they can be held against what happened. A second run on the same day of fieldwork replaces its
 * forecasts; equal ones are not written again.
 */
import { surveyForecasts } from '../../model/tables.js'
import type { Database } from '../connection/database.js'
import { qualified } from '../connection/ddl.js'

const TABLE = qualified(surveyForecasts)

export const storeForecasts = (database: Database): Promise<void> =>
  database.transaction(async (sql) => {
    await sql.run(`CREATE OR REPLACE TEMP TABLE new_forecasts AS
      SELECT p.account, p.survey_id, f.progress_day AS "day", f.refreshed_at AS made_at, p.interviews_count, p.sample_size, p.per_day,
        p.expected_on, p.expected_from, p.expected_to
      FROM main.active_survey_pace p
      JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id AND f.progress_day IS NOT NULL
      WHERE p.status = 'fieldwork' AND p.interviews_count < p.sample_size
      EXCEPT
      SELECT account, survey_id, "day", made_at, interviews_count, sample_size, per_day, expected_on, expected_from, expected_to FROM ${TABLE}`)
    await sql.run(`DELETE FROM ${TABLE} t USING temp.new_forecasts n
      WHERE t.account = n.account AND t.survey_id = n.survey_id AND t."day" = n."day"`)
    await sql.run(`INSERT INTO ${TABLE} BY NAME FROM temp.new_forecasts`)
    await sql.run('DROP TABLE temp.new_forecasts')
  })
