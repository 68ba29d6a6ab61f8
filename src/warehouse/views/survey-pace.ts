/** How fast each survey gains complete interviews, when it will be complete, and whether its last interviews differ from those before. */
import { columnsOf, date, double } from '../../model/columns.js'
import { freshness, ofSurvey, surveyProgress, surveys } from '../../model/tables.js'
import { INTERVIEWS, PACE_FIELDS, paceSql, SPREAD_DAYS, withForecast } from './pace.js'
import { surveyObservations } from './progress-periods.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

const COUNTS = {
  complete: 'complete_individuals',
  screened: 'screen_out_individuals',
  dropped: 'incomplete_individuals',
  interviews: INTERVIEWS,
}

/** part / (part + rest), or null without a pace, or if a count is unknown, or fell because interviews changed their status. */
const rate = (part: string, rest: string): string =>
  `CASE WHEN p.pace_days > 0 AND ${part} >= 0 AND ${rest} >= 0 THEN CAST(${part} AS DOUBLE) / nullif(${part} + ${rest}, 0) END`

const grown = (count: string) => `(p.last_${count} - p.first_${count})`

export const surveyPace: ViewDeclaration = {
  schema: 'main',
  name: 'survey_pace',
  comment:
    'Pace and forecast of each survey that the API shows, one row per survey with known progress. Days are UTC',
  key: ['account', 'survey_id'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(surveyProgress, ['account', 'survey_id']),
    ...columnsFrom(surveys, ['title', 'project_id', 'status']),
    ...columnsFrom(surveyProgress, ['sample_size', 'interviews_count', 'completion_rate']),
    columnOf(freshness, 'refreshed_at'),
    ...columnsOf({
      ...PACE_FIELDS,
      expected_on: date.orNull(
        'Day on which the target is reached if the pace goes on; null if the status is not fieldwork, without target or pace, or after more than ten years',
      ),
      expected_from: date.orNull(
        'First day of the 80 % interval of expected_on; null without expected_on or a week of daily gains',
      ),
      expected_to: date.orNull(
        'Last day of the 80 % interval; null with expected_from set: the interval has no end',
      ),
    }),
    columnOf(surveyProgress, 'target_incidence_rate'),
    ...columnsOf({
      recent_incidence_rate: double.orNull(
        'complete / (complete + screen_out) of the interviews of the pace days; null if one of these counts fell',
      ),
      earlier_incidence_rate: double.orNull(
        'complete / (complete + screen_out) of the interviews before the pace days',
      ),
    }),
    columnOf(surveyProgress, 'drop_out_rate'),
    ...columnsOf({
      recent_drop_out_rate: double.orNull(
        'incomplete / all interviews of the pace days; null if one of these counts fell',
      ),
      earlier_drop_out_rate: double.orNull('incomplete / all interviews before the pace days'),
    }),
  ],
  sql: `WITH ${paceSql(surveyObservations, SPREAD_DAYS, COUNTS)}, goals AS (
      SELECT p.*, s.title, s.project_id, s.status, t.sample_size AS target, t.interviews_count AS reached, t.completion_rate,
        t.target_incidence_rate, t.drop_out_rate
      FROM main.survey_progress t
      JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id AND s._missing_since IS NULL
      JOIN pace p ON p.account = t.account AND p.survey_id = t.survey_id
    )
    SELECT p.account, p.survey_id, p.title, p.project_id, p.status, p.target AS sample_size, p.reached AS interviews_count,
      p.completion_rate, f.refreshed_at, p.last_gain_at, p.pace_days, p.gained, p.per_day, p.gained_last_day, p.expected_on, p.expected_from, p.expected_to,
      p.target_incidence_rate, ${rate(grown('complete'), grown('screened'))} AS recent_incidence_rate,
      ${rate('p.first_complete', 'p.first_screened')} AS earlier_incidence_rate,
      p.drop_out_rate, ${rate(grown('dropped'), `(${grown('interviews')} - ${grown('dropped')})`)} AS recent_drop_out_rate,
      ${rate('p.first_dropped', '(p.first_interviews - p.first_dropped)')} AS earlier_drop_out_rate
    FROM (${withForecast('goals')}) p
    LEFT JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id`,
}
