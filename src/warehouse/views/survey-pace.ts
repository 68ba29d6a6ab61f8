/** The pace and the forecast of surveys, with the pace that their due dates need, and how the mix of their interviews changes. */
import { bigint, columnsOf, date, double, nullable, varchar, varcharOf } from '../../model/columns.js'
import { freshness, ofSurvey, plan, sampleSources, surveyProgress, surveys } from '../../model/tables.js'
import { NEWEST_STEPS } from '../history/days.js'
import { HELD_AGAINST_PLAN_STEP, SURVEY_SOLD_COLUMNS, surveySalesSteps } from './as-sold.js'
import { DEADLINE_STEPS, dayAfter, FORECAST_DAYS_MAX, FORECAST_STEPS } from './forecast.js'
import { allIndividuals } from './interview-counts.js'
import { dayStatusSteps, gainOf, IN_PACE, PACE_FIELDS, paceSteps, sumOfKnown } from './pace.js'
import { SOURCE_PLANS_STEPS, SURVEY_PLANS_STEP } from './plan.js'
import { surveyObservations } from './progress-periods.js'
import { QUOTA_STEPS } from './quotas.js'
import { OF_ACTIVE_SURVEYS } from './statuses.js'
import { columnOf, columnsFrom, listed, type ViewDeclaration } from './view-declaration.js'

const COUNTS = `{
    'complete': complete_individuals,
    'screened': screen_out_individuals,
    'dropped': incomplete_individuals,
    'quota_full': quota_full_individuals,
    'interviews': ${allIndividuals('observations')}
  }`

const MIX = ['complete', 'screened', 'dropped', 'quota_full', 'interviews'].flatMap((name) => [
  `${sumOfKnown(gainOf(`counts.${name}`, `counts_before.${name}`), IN_PACE)} AS recent_${name}`,
  `arg_min(counts_before.${name}, "day")${IN_PACE} AS earlier_${name}`,
])

/** The days up to the last known one in which a fall counts. */
const TAKEN_BACK_DAYS = 7

const TAKEN_BACK = `TRY_CAST(
      coalesce(-sum(gain) FILTER (WHERE gain < 0 AND "day" > as_of - ${TAKEN_BACK_DAYS}), 0) AS BIGINT
    ) AS taken_back`

/** part / (part + rest), or null if a count is unknown, or fell because interviews changed their status. */
const share = (part: string, rest: string): string =>
  `CASE WHEN ${part} >= 0 AND ${rest} >= 0 THEN CAST(${part} AS DOUBLE) / nullif(${part} + ${rest}, 0) END`

/** HUGEINT in between, because the sum of two numbers of the API may exceed a BIGINT. */
const sumOfTwo = (one: string, other: string): string =>
  `TRY_CAST(CAST(${one} AS HUGEINT) + ${other} AS BIGINT)`

/**
 * The rows of the view. `ofSurveys` is SQL that joins the surveys that are read, as in `dayStatusSteps`. No step holds another WITH: opening a
 * file with such a view takes DuckDB 1.4 a second and 500 MB.
 */
export const surveyPaceSql = (
  ofSurveys: string,
): string => `WITH ${dayStatusSteps(surveyObservations, COUNTS, ofSurveys)},
modifications AS (
  SELECT account, id AS survey_id, min(updated_at) AS modified_at
  FROM main.surveys_history
  GROUP BY ALL
),
-- A day before the first version of a survey is a reconstructed one. The survey counts as in fieldwork on it if it had interviews, or
-- was last modified before: a status that was changed since is not known.
known_days AS (
  SELECT
    d.* REPLACE (
      CASE
        WHEN d.opened IS NULL AND d.is_reconstructed THEN d.counts.interviews > 0 OR d.observed_at >= m.modified_at
        ELSE d.opened
      END AS opened
    )
  FROM day_statuses d
  LEFT JOIN modifications m ON m.account = d.account AND m.survey_id = d.survey_id
),
${paceSteps(surveyObservations, [...MIX, TAKEN_BACK])},
-- Reconstructed days have the statuses of today, so nothing shows how they moved.
rates AS (
  SELECT
    *,
    pace_days > 0 AND reconstructed_days = 0 AS has_rates,
    CASE WHEN has_rates THEN ${share('recent_complete', 'recent_screened')} END AS recent_incidence_rate,
    CASE WHEN has_rates THEN ${share('earlier_complete', 'earlier_screened')} END AS earlier_incidence_rate,
    CASE WHEN has_rates THEN ${share('recent_dropped', '(recent_interviews - recent_dropped)')} END AS recent_drop_out_rate,
    CASE WHEN has_rates THEN ${share('earlier_dropped', '(earlier_interviews - earlier_dropped)')} END AS earlier_drop_out_rate,
    CASE WHEN has_rates THEN ${share('recent_complete', '(recent_interviews - recent_complete)')} END AS recent_complete_rate,
    CASE WHEN has_rates THEN ${share('recent_quota_full', '(recent_interviews - recent_quota_full)')} END AS recent_quota_full_rate,
    CASE WHEN has_rates THEN ${share('earlier_quota_full', '(earlier_interviews - earlier_quota_full)')} END AS earlier_quota_full_rate
  FROM pace
),
${NEWEST_STEPS},
${SURVEY_PLANS_STEP},
${SOURCE_PLANS_STEPS},
${surveySalesSteps(ofSurveys)},
goals AS (
  SELECT
    p.*,
    s.title, s.project_id, s.status,
    t.sample_size AS target, t.interviews_count AS reached,
    t.completion_rate, t.target_incidence_rate, t.drop_out_rate, t.length_of_interview,
    n.today,
    l.due_on, l.due_note, l.starts_on, l.owner, l.quiet_until
  FROM main.survey_progress t
  JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id AND s._missing_since IS NULL
  JOIN rates p ON p.account = t.account AND p.survey_id = t.survey_id
  LEFT JOIN newest n ON n.account = t.account
  LEFT JOIN survey_plans l ON l.account = t.account AND l.survey_id = t.survey_id
),
source_paces AS (
  FROM main.active_source_pace
),
${QUOTA_STEPS},
rated_goals AS (
  SELECT
    g.*,
    CASE WHEN q.account IS NULL THEN g.per_day ELSE coalesce((g.target - g.reached) / q.quota_days, 0) END AS rate,
    CASE WHEN g.status = 'fieldwork' THEN q.slowest_source_id END AS slowest_source_id,
    CASE
      WHEN g.status = 'fieldwork' AND q.slowest_in <= ${FORECAST_DAYS_MAX} THEN ${dayAfter('q.slowest_in', 'g.as_of')}
    END AS slowest_source_on
  FROM goals g
  LEFT JOIN quotas q ON q.account = g.account AND q.survey_id = g.survey_id
),
${FORECAST_STEPS},
${DEADLINE_STEPS},
${HELD_AGAINST_PLAN_STEP}
SELECT
  j.account,
  j.survey_id,
  j.title,
  j.project_id,
  j.status,
  j.target AS sample_size,
  j.reached AS interviews_count,
  j.completion_rate,
  f.refreshed_at,
  j.last_gain_at,
  j.pace_days,
  j.gained,
  j.per_day,
  j.newest_gain,
  j.newest_gain_days,
  j.reconstructed_days,
  j.taken_back,
  j.rate AS expected_per_day,
  j.expected_on,
  j.expected_from,
  j.expected_to,
  j.slowest_source_id,
  j.slowest_source_on,
  j.due_on,
  j.due_note,
  j.starts_on,
  j.owner,
  j.quiet_until,
  j.deadline COLLATE C AS deadline,
  j.needed_per_day,
  j.needed_text COLLATE C AS needed_text,
  j.target_incidence_rate,
  j.recent_incidence_rate,
  j.earlier_incidence_rate,
  j.drop_out_rate,
  j.recent_drop_out_rate,
  j.earlier_drop_out_rate,
  j.recent_complete_rate,
  j.recent_quota_full_rate,
  j.earlier_quota_full_rate,
  j.recent_interviews,
  TRY_CAST(j.earlier_interviews AS BIGINT) AS earlier_interviews,
  ${sumOfTwo('j.recent_complete', 'j.recent_screened')} AS recent_screened,
  ${sumOfTwo('j.earlier_complete', 'j.earlier_screened')} AS earlier_screened,
  ${listed(SURVEY_SOLD_COLUMNS, 'j')}
FROM held_against_plan j
LEFT JOIN main.freshness f ON f.account = j.account AND f.survey_id = j.survey_id`

export const surveyPace: ViewDeclaration = {
  schema: 'main',
  name: 'survey_pace',
  comment: 'Pace and forecast of each survey that the API shows, one row per survey with known progress',
  key: ['account', 'survey_id'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(surveyProgress, ['account', 'survey_id']),
    ...columnsFrom(surveys, ['title', 'project_id', 'status']),
    ...columnsFrom(surveyProgress, ['sample_size', 'interviews_count', 'completion_rate']),
    columnOf(freshness, 'refreshed_at'),
    ...columnsOf({
      ...PACE_FIELDS,
      reconstructed_days: bigint.orNull(
        'How many of pace_days begin with a row of survey_progress_reconstructed; with any, the rates of the days and before are null',
      ),
      taken_back: bigint(
        `Complete interviews that were taken back in the ${TAKEN_BACK_DAYS} days up to the last known one: by how many the number fell, added up over the days on which it did. Interviews that came in on such a day hide as many`,
      ),
      expected_per_day: double.orNull(
        'Complete interviews a day, on average until the target: per_day, or fewer if sources stop at their own targets before; 0 if the target is never reached then',
      ),
      expected_on: date.orNull(
        'Day on which the target is reached if the pace goes on, and each source stops at its own target; null if the status is not fieldwork, without target, with a pace of fewer than two days, or after more than ten years',
      ),
      expected_from: date.orNull(
        'First day of the 80 % interval of expected_on; null without expected_on or a week of daily gains',
      ),
      expected_to: date.orNull(
        'Last day of the 80 % interval; null with expected_from set: the interval has no end',
      ),
    }),
    columnOf(sampleSources, 'id', {
      name: 'slowest_source_id',
      nullable: true,
      comment:
        'ID of the source that is full last, if each source stops at its own target; null if no source with a target is below it, or the pace of one is not known',
    }),
    ...columnsOf({
      slowest_source_on: date.orNull(
        'Day on which that source reaches its target; null if it gains nothing, or after more than ten years',
      ),
    }),
    columnOf(plan, 'due_on', {
      nullable: true,
      comment:
        'Due date of the survey in plan, or else of its project: the last day, in the time zone of the settings, on which it may reach its target; null without one',
    }),
    columnOf(plan, 'note', { name: 'due_note', comment: 'Note of that line' }),
    ...columnsFrom(plan, ['starts_on', 'owner', 'quiet_until']),
    ...columnsOf({
      deadline: nullable(
        varcharOf(
          ['reached', 'on_time', 'at_risk', 'late'],
          'Whether it reaches its target by due_on. late: expected after it, passed, not gaining, or today and a day is too little; at_risk: only the end of the 80 % interval is after it, paused, or today; null without due date or target, before and after fieldwork, or too early to say',
        ),
      ),
      needed_per_day: double.orNull(
        'Complete interviews needed on each day after the last known one, up to and including due_on; null if the target is reached or no such day is left',
      ),
      needed_text: varchar.orNull(
        'needed_per_day, rounded up, and per_day and expected_per_day, rounded, in words: below 100 with one digit after the point; null without needed_per_day',
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
      recent_complete_rate: double.orNull(
        'complete / all interviews of the pace days: the part of the starts that become complete; null if one of these counts fell',
      ),
      recent_quota_full_rate: double.orNull(
        'quota_full / all interviews of the pace days; null if one of these counts fell',
      ),
      earlier_quota_full_rate: double.orNull('quota_full / all interviews before the pace days'),
      recent_interviews: bigint.orNull('All interviews of the pace days, of every status'),
      earlier_interviews: bigint.orNull('All interviews before the pace days'),
      recent_screened: bigint.orNull('complete + screen_out of the pace days'),
      earlier_screened: bigint.orNull('complete + screen_out before the pace days'),
    }),
    ...SURVEY_SOLD_COLUMNS,
  ],
  sql: surveyPaceSql(''),
}

export const activeSurveyPace: ViewDeclaration = {
  ...surveyPace,
  name: 'active_survey_pace',
  comment:
    'The rows of survey_pace of active surveys: not closed, and no draft or demo. Much faster after some years',
  sql: surveyPaceSql(OF_ACTIVE_SURVEYS),
}
