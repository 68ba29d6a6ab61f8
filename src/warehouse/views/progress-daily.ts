/**
 * Progress by day, for charts with one point per day. Days come from the step function: the last observation of a day stands for this day,
 * and for later days up to the time until which the observation is known to have held.
 */
import { bigint, type Column, columnsOf, date, timestamptz } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import {
  ofSource,
  ofSurvey,
  sampleSourceProgressHistory,
  sampleSources,
  surveyProgressHistory,
  surveys,
} from '../../model/tables.js'
import { dayStart, utcDay } from '../history/compaction.js'
import { gainOf } from './pace.js'
import { inferredSourceObservations, knownDaySteps, periodSteps } from './progress-periods.js'
import { columnOf, listed, type ViewDeclaration } from './view-declaration.js'

const indicators = columnsOf(PROGRESS_FIELDS)

const TITLE = columnOf(surveys, 'title', {
  nullable: true,
  comment: 'Title of the survey; null if none of its rows could be typed',
})

const DAY_FIELDS = columnsOf({
  day: date('The day, UTC'),
  gained: bigint.orNull(
    'Complete interviews gained since the known day before; on the first known day those since it was created if the survey or account had been read before that, else null; negative if some failed a quality check',
  ),
})

const OBSERVED = [
  columnOf(surveyProgressHistory, 'observed_at', {
    comment:
      'When these indicators were first read, server time; on an earlier day if they have not changed since',
  }),
  ...columnsOf({
    confirmed_until: timestamptz(
      'Until when on this day the indicators are known to have held, server time; at most the end of the day',
    ),
  }),
]

/**
 * The step `new_surveys`: those that were created after the account was first read. What they have gained is known from their beginning,
 * when they had no interviews.
 */
const NEW_SURVEYS_STEP = `first_listings AS (
  SELECT account, min(valid_from) AS listed_at
  FROM main.surveys_history
  GROUP BY account
),
new_surveys AS (
  SELECT s.account, s.id AS survey_id
  FROM main.surveys s
  JOIN first_listings f ON f.account = s.account AND s.created_at > f.listed_at
)`

/**
 * Steps that end with `new_sources`: those of new surveys, and those created after the first known day of their survey was read. Of that
 * day, compaction leaves the last observation.
 */
const NEW_SOURCES_STEPS = `${NEW_SURVEYS_STEP},
first_days AS (
  SELECT *
  FROM main.survey_progress_history
  QUALIFY ${utcDay('observed_at')} = min(${utcDay('observed_at')}) OVER (PARTITION BY account, survey_id)
),
first_readings AS (
  SELECT account, survey_id, max(observed_at) AS observed_at
  FROM first_days
  GROUP BY ALL
),
new_sources AS (
  SELECT a.account, a.survey_id, a.id AS sample_source_id
  FROM main.sample_sources a
  LEFT JOIN new_surveys n ON n.account = a.account AND n.survey_id = a.survey_id
  LEFT JOIN first_readings f ON f.account = a.account AND f.survey_id = a.survey_id
  WHERE n.survey_id IS NOT NULL OR a.created_at > f.observed_at
)`

/**
 * `steps` have `periods`, and in `starts` the records that gain from 0. `joins` gives the further `columns` to `d`, the rows of days.
 */
const daysOf = (
  steps: string,
  periods: string,
  starts: string,
  key: readonly Column[],
  columns: string,
  joins: string,
): string => {
  const keys = key.map(({ name }) => name).join(', ')
  return `WITH ${steps}${knownDaySteps(periods, keys)},
gains AS (
  SELECT
    *,
    ${gainOf('interviews_count', `lag(interviews_count, 1, CASE WHEN is_new THEN 0 END) OVER (PARTITION BY ${keys} ORDER BY observed_at ASC)`)} AS gained_first
  FROM known_periods
  LEFT JOIN (SELECT *, true AS is_new FROM ${starts}) USING (${keys})
  WHERE last_day >= first_day
),
numbered_days AS (
  SELECT *, unnest(range(0, 1 + last_day - first_day)) AS days_after
  FROM gains
),
days AS (
  SELECT *, first_day + CAST(days_after AS INTEGER) AS "day"
  FROM numbered_days
)
SELECT
  ${listed(key, 'd')},
  ${columns},
  d."day",
  CASE WHEN d.days_after = 0 THEN d.gained_first ELSE 0 * d.interviews_count END AS gained,
  ${listed(indicators, 'd')},
  d.observed_at,
  least(d.confirmed_until, ${dayStart('d."day" + 1')}) AS confirmed_until
FROM days d
LEFT JOIN main.surveys s ON s.account = d.account AND s.id = d.survey_id${joins}`
}

const ofWholeSurvey = ['account', 'survey_id'].map((name) => columnOf(surveyProgressHistory, name))

export const progressDaily: ViewDeclaration = {
  schema: 'main',
  name: 'progress_daily',
  comment:
    'Fieldwork progress of whole surveys at the end of each UTC day, one row per survey and day; no row for days without known progress',
  key: ['account', 'survey_id', 'day'],
  references: ofSurvey,
  columns: [...ofWholeSurvey, TITLE, ...DAY_FIELDS, ...indicators, ...OBSERVED],
  sql: daysOf(
    `${NEW_SURVEYS_STEP},\n`,
    'main.survey_progress_periods',
    'new_surveys',
    ofWholeSurvey,
    's.title',
    '',
  ),
}

const ofOneSource = [...ofWholeSurvey, columnOf(sampleSourceProgressHistory, 'sample_source_id')]

/** Null if no row of the source could be typed. */
const SOURCE = ['name', 'provider', 'country_code'].map((name) =>
  columnOf(sampleSources, name, { nullable: true }),
)

export const sourceProgressDaily: ViewDeclaration = {
  schema: 'main',
  name: 'source_progress_daily',
  comment:
    'Fieldwork progress of sample sources at the end of each UTC day, one row per source and day; no row for days without known progress. A source counts as unchanged while the list of sources and the progress of its survey are',
  key: ['account', 'survey_id', 'sample_source_id', 'day'],
  references: ofSource('sample_source_id'),
  columns: [...ofOneSource, TITLE, ...SOURCE, ...DAY_FIELDS, ...indicators, ...OBSERVED],
  sql: daysOf(
    `${NEW_SOURCES_STEPS},\n${periodSteps(inferredSourceObservations, 'main.sample_source_progress_history')},\n`,
    'periods',
    'new_sources',
    ofOneSource,
    `s.title,\n  ${listed(SOURCE, 'a')}`,
    `
LEFT JOIN main.sample_sources a
  ON a.account = d.account AND a.survey_id = d.survey_id AND a.id = d.sample_source_id`,
  ),
}
