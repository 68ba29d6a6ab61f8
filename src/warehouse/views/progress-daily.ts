/**
 * Progress by day, for charts with one point per day. Days come from the step function: the last observation of a day stands for
 * it, and for later days up to the time until which it is known to have held.
 */
import { columnsOf, date, timestamptz } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import { ofSurvey, surveyProgressHistory } from '../../model/tables.js'
import { selected } from '../connection/ddl.js'
import { dayStart, utcDay } from '../history/utc-day.js'
import { columnOf, type ViewDeclaration } from './view-declaration.js'

const indicators = columnsOf(PROGRESS_FIELDS)

export const progressDaily: ViewDeclaration = {
  schema: 'main',
  name: 'progress_daily',
  comment:
    'Fieldwork progress of whole surveys at the end of each UTC day, one row per survey and day; no row for days without known progress',
  key: ['account', 'survey_id', 'day'],
  references: ofSurvey,
  columns: [
    columnOf(surveyProgressHistory, 'account'),
    columnOf(surveyProgressHistory, 'survey_id'),
    ...columnsOf({ day: date('The day, UTC') }),
    ...indicators,
    columnOf(surveyProgressHistory, 'observed_at', {
      comment:
        'When these indicators were first read, server time; on an earlier day if they have not changed since',
    }),
    ...columnsOf({
      confirmed_until: timestamptz(
        'Until when on this day the indicators are known to have held, server time; at most the end of the day',
      ),
    }),
  ],
  sql: `WITH periods AS (
      SELECT *, ${utcDay('observed_at')} AS first_day,
        lead(${utcDay('observed_at')}) OVER (PARTITION BY account, survey_id ORDER BY observed_at) AS next_day,
        ${utcDay('confirmed_until')} - CAST(ended_at IS NOT NULL AND epoch_us(confirmed_until) % 86400000000 = 0 AS INTEGER) AS known_day
      FROM main.survey_progress_periods
    ), days AS (
      SELECT *, unnest(range(0, 1 + least(greatest(known_day, first_day), next_day - 1) - first_day)) AS days_after
      FROM periods
    )
    SELECT d.account, d.survey_id, d.first_day + CAST(d.days_after AS INTEGER) AS "day", ${selected(indicators, 'd')}, d.observed_at,
      least(d.confirmed_until, ${dayStart('d.first_day + CAST(d.days_after AS INTEGER) + 1')}) AS confirmed_until
    FROM days d`,
}
