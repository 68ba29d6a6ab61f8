/**
 * Progress by day of fieldwork, for charts with one point per day. Days come from the step function: the last observation of a day stands
 * for this day, and for later days up to the last one on which the observation is known to have held. The days of an inactive survey end
 * with it: its readings go on for years, and rows without a change would soon outnumber all others.
 */
import { bigint, type Column, columnsOf, date } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import {
  ofSource,
  ofSurvey,
  sampleSourceProgressHistory,
  sampleSources,
  surveyProgressHistory,
  surveys,
} from '../../model/tables.js'
import { clockAt, fieldworkDayOf, localDay } from '../history/days.js'
import { gainOf } from './pace.js'
import {
  inferredSourceObservations,
  knownDaySteps,
  type Observations,
  periodSteps,
  surveyObservations,
} from './progress-periods.js'
import { CLOSED } from './statuses.js'
import { columnOf, listed, type ViewDeclaration } from './view-declaration.js'

const indicators = columnsOf(PROGRESS_FIELDS)

const TITLE = columnOf(surveys, 'title', {
  nullable: true,
  comment: 'Title of the survey; null if none of its rows could be typed',
})

const DAY_FIELDS = columnsOf({
  day: date('The day of fieldwork, in the time zone of the settings'),
  gained: bigint.orNull(
    'Complete interviews gained since the known day before; if survey_progress_by_day has the day, those of the interviews that started on it; on the first known day those since it was created if the survey or account had been read before that, else null; negative if some failed a quality check',
  ),
  gained_days: bigint.orNull(
    'How many days the gain covers, up to this one: more than 1 if the days before were not read, or passed since it was created; null without a gain',
  ),
})

const OBSERVED = [
  columnOf(surveyProgressHistory, 'observed_at', {
    comment:
      'When these indicators were first read, server time; on an earlier day if they have not changed since',
  }),
]

/**
 * The step `new_surveys`: those that were created after the account was first read. What they have gained is known from their beginning,
 * when they had no interviews.
 */
export const NEW_SURVEYS_STEP = `first_listings AS (
  SELECT account, min(valid_from) AS listed_at
  FROM main.surveys_history
  GROUP BY account
),
new_surveys AS (
  SELECT s.account, s.id AS survey_id, s.created_at
  FROM main.surveys s
  JOIN first_listings f ON f.account = s.account AND s.created_at > f.listed_at
)`

/**
 * Steps that end with `later_sources`: those created after the first known day of their survey was read. Of that day, compaction leaves the
 * last observation.
 */
export const LATER_SOURCES_STEPS = `first_days AS (
  SELECT *
  FROM main.survey_progress_history
  QUALIFY "day" = min("day") OVER (PARTITION BY account, survey_id)
),
first_readings AS (
  SELECT account, survey_id, max(observed_at) AS observed_at
  FROM first_days
  GROUP BY ALL
),
later_sources AS (
  SELECT a.account, a.survey_id, a.id AS sample_source_id, a.created_at
  FROM main.sample_sources a
  JOIN first_readings f ON f.account = a.account AND f.survey_id = a.survey_id AND a.created_at > f.observed_at
)`

/** Steps that end with `new_sources`: those of new surveys, and later ones. */
const NEW_SOURCES_STEPS = `${NEW_SURVEYS_STEP},
${LATER_SOURCES_STEPS},
new_sources AS (
  FROM later_sources
  UNION
  SELECT a.account, a.survey_id, a.id, a.created_at
  FROM main.sample_sources a
  JOIN new_surveys n ON n.account = a.account AND n.survey_id = a.survey_id
)`

/** Steps that end with `survey_ends`: the last day of each inactive survey on which its progress changed, or on which it was modified. */
const SURVEY_ENDS_STEPS = `last_changes AS (
  SELECT account, survey_id, max("day") AS changed_on
  FROM main.survey_progress_history
  GROUP BY ALL
),
survey_ends AS (
  SELECT s.account, s.id AS survey_id, greatest(c.changed_on, ${localDay('s.updated_at')}) AS ends_on
  FROM main.surveys s
  LEFT JOIN last_changes c ON c.account = s.account AND c.survey_id = s.id
  ${clockAt('s.updated_at')}
  WHERE s.status IN ${CLOSED}
)`

interface DailyRecords {
  readonly observations: Observations
  readonly key: readonly Column[]
  /** Steps that end with `newRecords`, the records that gain from 0. */
  readonly steps: string
  readonly newRecords: string
  /** The condition on the rows of `survey_progress_by_day`, `w`, that are of a record, `p`. */
  readonly windows: string
  /** Columns of the view beside the indicators, of `g`, the rows of days, and what `joins` gives to them. */
  readonly columns: string
  readonly joins?: string
}

const daysOf = ({
  observations,
  key,
  steps,
  newRecords,
  windows,
  columns,
  joins = '',
}: DailyRecords): string => {
  const keys = key.map(({ name }) => name).join(', ')
  return `WITH ${steps},
-- Without the indicators, which would pass all steps: they come last, and only those that are selected.
counts AS (
  SELECT ${keys}, observed_at, "day", day_before, interviews_count
  FROM main.${observations.history.name}
),
${periodSteps(observations, 'counts')},
${knownDaySteps(observations)},
-- The days of the setting daily_windows say on which day each interview started, also for days that were not read.
windows AS (
  SELECT w.account, w.survey_id, w.sample_source_id, w."day", w.interviews_count AS started
  FROM main.survey_progress_by_day w
  WHERE w._missing_since IS NULL AND w.interviews_count IS NOT NULL
),
unread_days AS (
  SELECT ${listed(key, 'p').replaceAll('\n', '\n  ')}, p.observed_at, any_value(p.next_day - p.last_day) = count(*) AS are_in_windows
  FROM known_periods p
  JOIN windows w ON ${windows} AND w."day" > p.last_day AND w."day" <= p.next_day
  WHERE p.last_day >= p."day" AND p.last_day < p.next_day - 1
  GROUP BY ALL
),
${SURVEY_ENDS_STEPS},
shown_periods AS (
  SELECT
    p.* REPLACE (
      CASE
        WHEN p.next_at IS NULL THEN greatest(p."day", least(p.last_day, e.ends_on))
        WHEN u.are_in_windows THEN p.next_day - 1
        ELSE p.last_day
      END AS last_day
    )
  FROM known_periods p
  LEFT JOIN unread_days u USING (${keys}, observed_at)
  LEFT JOIN survey_ends e ON e.account = p.account AND e.survey_id = p.survey_id
),
-- As if the record had been read when it was created.
new_records AS (
  SELECT r.*, true AS is_new, ${fieldworkDayOf('r.created_at')} AS created_by
  FROM ${newRecords} r
  ${clockAt('r.created_at')}
),
first_gains AS (
  SELECT
    *,
    -- Not by the third argument of lag: DuckDB 2.0 makes it null here.
    CASE WHEN is_new AND row_number() OVER earlier = 1 THEN 0 ELSE lag(interviews_count) OVER earlier END AS count_before,
    ${gainOf('interviews_count', 'count_before')} AS gained_first,
    greatest(1, coalesce("day" - coalesce(lag(last_day) OVER earlier, created_by, day_before), 1)) AS days_first
  FROM shown_periods
  LEFT JOIN new_records USING (${keys})
  WHERE last_day >= "day"
  WINDOW earlier AS (PARTITION BY ${keys} ORDER BY observed_at ASC)
),
numbered_days AS (
  SELECT *, unnest(range(0, 1 + last_day - "day")) AS days_after
  FROM first_gains
),
days AS (
  SELECT
    * REPLACE ("day" + CAST(days_after AS INTEGER) AS "day"),
    CASE WHEN days_after = 0 THEN gained_first ELSE 0 * interviews_count END AS gained_by_readings,
    CASE WHEN days_after = 0 THEN days_first ELSE 1 END AS days_gained
  FROM numbered_days
),
gains AS (
  SELECT p.*, CASE WHEN p.days_gained = 1 THEN coalesce(w.started, p.gained_by_readings) ELSE p.gained_by_readings END AS gained
  FROM days p
  LEFT JOIN windows w ON ${windows} AND w."day" = p."day"
)
SELECT
  ${listed(key, 'g')},
  ${columns},
  g."day",
  g.gained,
  CASE WHEN g.gained IS NOT NULL THEN g.days_gained END AS gained_days,
  ${listed(indicators, 'h')},
  g.observed_at
FROM gains g
JOIN main.${observations.history.name} h ON ${key.map(({ name }) => `h.${name} = g.${name}`).join(' AND ')} AND h.observed_at = g.observed_at
LEFT JOIN main.surveys s ON s.account = g.account AND s.id = g.survey_id${joins}`
}

const ofWholeSurvey = ['account', 'survey_id'].map((name) => columnOf(surveyProgressHistory, name))

export const progressDaily: ViewDeclaration = {
  schema: 'main',
  name: 'progress_daily',
  comment:
    'Fieldwork progress of whole surveys by day of fieldwork, one row per survey and day; no row for days without known progress, and of an inactive survey none after the last day on which its progress changed or it was modified',
  key: ['account', 'survey_id', 'day'],
  references: ofSurvey,
  columns: [...ofWholeSurvey, TITLE, ...DAY_FIELDS, ...indicators, ...OBSERVED],
  sql: daysOf({
    observations: surveyObservations,
    key: ofWholeSurvey,
    steps: NEW_SURVEYS_STEP,
    newRecords: 'new_surveys',
    windows: 'w.account = p.account AND w.survey_id = p.survey_id AND w.sample_source_id IS NULL',
    columns: 's.title',
  }),
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
    'Fieldwork progress of sample sources by day of fieldwork, one row per source and day; no row for days without known progress, and of an inactive survey none after the last day on which its progress changed or it was modified. A source counts as unchanged while the list of sources and the progress of its survey are',
  key: ['account', 'survey_id', 'sample_source_id', 'day'],
  references: ofSource('sample_source_id'),
  columns: [...ofOneSource, TITLE, ...SOURCE, ...DAY_FIELDS, ...indicators, ...OBSERVED],
  sql: daysOf({
    observations: inferredSourceObservations,
    key: ofOneSource,
    steps: NEW_SOURCES_STEPS,
    newRecords: 'new_sources',
    windows:
      'w.account = p.account AND w.survey_id = p.survey_id AND w.sample_source_id = p.sample_source_id',
    columns: `s.title,\n  ${listed(SOURCE, 'a')}`,
    joins: `
LEFT JOIN main.sample_sources a
  ON a.account = g.account AND a.survey_id = g.survey_id AND a.id = g.sample_source_id`,
  }),
}
