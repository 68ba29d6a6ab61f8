/**
 * Progress by day, for charts with one point per day. Days come from the step function: the last observation of a day stands for
 * it, and for later days up to the time until which it is known to have held.
 */
import { bigint, columnsOf, date, timestamptz } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import { ofSurvey, surveyProgressHistory, surveys } from '../../model/tables.js'
import { selected } from '../connection/ddl.js'
import { dayStart } from '../history/compaction.js'
import { gainOf, withKnownDays } from './pace.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

const indicators = columnsOf(PROGRESS_FIELDS)

export const progressDaily: ViewDeclaration = {
  schema: 'main',
  name: 'progress_daily',
  comment:
    'Fieldwork progress of whole surveys at the end of each UTC day, one row per survey and day; no row for days without known progress',
  key: ['account', 'survey_id', 'day'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(surveyProgressHistory, ['account', 'survey_id']),
    columnOf(surveys, 'title', {
      nullable: true,
      comment: 'Title of the survey; null if none of its rows could be typed',
    }),
    ...columnsOf({
      day: date('The day, UTC'),
      gained: bigint.orNull(
        'Complete interviews gained since the known day before; negative if complete interviews failed a quality check; null on the first known day',
      ),
    }),
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
      SELECT *, ${gainOf('interviews_count', 'lag(interviews_count) OVER (PARTITION BY account, survey_id ORDER BY observed_at ASC)')} AS gained_first
      FROM (${withKnownDays('main.survey_progress_periods', ['account', 'survey_id'])})
      WHERE last_day >= first_day
    ), days AS (
      SELECT *, unnest(range(0, 1 + last_day - first_day)) AS days_after FROM periods
    )
    SELECT d.account, d.survey_id, s.title, d.first_day + CAST(d.days_after AS INTEGER) AS "day",
      CASE WHEN d.days_after = 0 THEN d.gained_first ELSE 0 * d.interviews_count END AS gained, ${selected(indicators, 'd')}, d.observed_at,
      least(d.confirmed_until, ${dayStart('d.first_day + CAST(d.days_after AS INTEGER) + 1')}) AS confirmed_until
    FROM days d
    LEFT JOIN main.surveys s ON s.account = d.account AND s.id = d.survey_id`,
}
