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
import { dayStart } from '../history/compaction.js'
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
    'Complete interviews gained since the known day before; negative if some failed a quality check; null on the first known day',
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

/** `steps` end with `periods`. `joins` gives the further `columns` to `d`, the rows of days. */
const daysOf = (
  steps: string,
  periods: string,
  key: readonly Column[],
  columns: string,
  joins: string,
): string => {
  const keys = key.map(({ name }) => name).join(', ')
  return `WITH ${steps}${knownDaySteps(periods, keys)},
gains AS (
  SELECT
    *,
    ${gainOf('interviews_count', `lag(interviews_count) OVER (PARTITION BY ${keys} ORDER BY observed_at ASC)`)} AS gained_first
  FROM known_periods
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
  sql: daysOf('', 'main.survey_progress_periods', ofWholeSurvey, 's.title', ''),
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
    `${periodSteps(inferredSourceObservations, 'main.sample_source_progress_history')},\n`,
    'periods',
    ofOneSource,
    `s.title,\n  ${listed(SOURCE, 'a')}`,
    `
LEFT JOIN main.sample_sources a
  ON a.account = d.account AND a.survey_id = d.survey_id AND a.id = d.sample_source_id`,
  ),
}
