/** How good forecasts were: each kept forecast beside the day on which the target was reached. */
import { bigint, boolean, columnsOf, date } from '../../model/columns.js'
import { ofSurvey, surveyForecasts, surveys } from '../../model/tables.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

export const forecastAccuracy: ViewDeclaration = {
  schema: 'main',
  name: 'forecast_accuracy',
  comment:
    'The kept forecasts, each beside the day on which the survey reached its target; one row per survey and day',
  key: surveyForecasts.key,
  references: ofSurvey,
  columns: [
    ...columnsFrom(surveyForecasts, ['account', 'survey_id']),
    columnOf(surveys, 'title', {
      nullable: true,
      comment: 'Title of the survey; null if none of its rows could be typed',
    }),
    ...columnsFrom(surveyForecasts, ['day', 'expected_on', 'expected_from', 'expected_to']),
    ...columnsOf({
      reached_on: date.orNull(
        'First day of fieldwork from this day on, on which the survey had reached its target; null = not yet',
      ),
      days_before: bigint.orNull('reached_on - day: how long before that the forecast was made'),
      days_late: bigint.orNull(
        'reached_on - expected_on: by how many days it was reached later; negative = earlier',
      ),
      is_inside: boolean.orNull(
        'Whether it was reached within the interval; null if it was not reached, or without an interval',
      ),
    }),
  ],
  sql: `WITH reached AS (
  SELECT DISTINCT account, survey_id, "day" AS reached_on
  FROM main.survey_progress_history
  WHERE interviews_count >= sample_size AND sample_size > 0
)
SELECT
  f.account,
  f.survey_id,
  s.title,
  f."day",
  f.expected_on,
  f.expected_from,
  f.expected_to,
  r.reached_on,
  CAST(r.reached_on - f."day" AS BIGINT) AS days_before,
  CAST(r.reached_on - f.expected_on AS BIGINT) AS days_late,
  CASE
    WHEN r.reached_on IS NOT NULL AND f.expected_from IS NOT NULL
      -- Without expected_to it has no end.
      THEN r.reached_on >= f.expected_from AND coalesce(r.reached_on <= f.expected_to, true)
  END AS is_inside
FROM main.survey_forecasts f
-- After the target was raised, or complete interviews were taken back, a survey reaches it again.
ASOF LEFT JOIN reached r ON r.account = f.account AND r.survey_id = f.survey_id AND r.reached_on >= f."day"
LEFT JOIN main.surveys s ON s.account = f.account AND s.id = f.survey_id`,
}
