/** What both test files of refusals use. */
import { scriptedSurveys } from '../support/api/scripted-api.js'
import type { Trial } from '../support/command/trial.js'

export const ids = (count: number) => scriptedSurveys(count, {}, 1)

export const missingIds = async (trial: Trial): Promise<unknown[]> =>
  (await trial.rows('SELECT id FROM surveys WHERE _missing_since IS NOT NULL ORDER BY id')).map(
    ({ id }) => id,
  )

export const refreshed = (trial: Trial) =>
  trial.rows(`SELECT survey_id AS id, refreshed_at::DATE::VARCHAR AS on_day, last_error IS NULL AS fine
      FROM freshness ORDER BY survey_id`)
