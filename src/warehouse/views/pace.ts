/**
 * The pace of records with progress: the complete interviews that each gained in its last known days. A year of daily history has
 * hundreds of rows of each record, so window functions read only the last ones.
 */
import {
  bigint,
  columnsOf,
  date,
  double,
  type Fields,
  nullable,
  type TableDeclaration,
  timestamptz,
  varcharOf,
} from '../../model/columns.js'
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import {
  deadlines,
  freshness,
  ofSource,
  ofSurvey,
  sampleSourceProgress,
  sampleSources,
  surveyProgress,
  surveys,
} from '../../model/tables.js'
import { selected } from '../connection/ddl.js'
import { dayStart, utcDay } from '../history/compaction.js'
import {
  inferredSourceObservations,
  type Observations,
  periodsSql,
  surveyObservations,
  withKnownDays,
} from './progress-periods.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

/** The pace covers a week in fieldwork, so that each weekday counts once. */
const PACE_DAYS = 7
/** The pace and the variation of the daily gains are taken from these days before the last known one. */
const READ_DAYS = 28
/** With fewer daily gains, their variation is not known. */
const SPREAD_GAINS_MIN = 7

/** The days on which a new progress of the account was read. On other days perhaps no run took place. */
export const OBSERVED_DAYS = `SELECT DISTINCT account, ${utcDay('observed_at')} AS "day" FROM main.survey_progress_history`

const PACE_FIELDS = {
  last_gain_at: timestamptz.orNull(
    'When the number of complete interviews was last seen rising; also in reconstructed rows, server time; null = never',
  ),
  pace_days: bigint.orNull(
    `Days that the pace covers, UTC: the last ones that the survey was in fieldwork from beginning to end, at most ${PACE_DAYS}, or more with days without a reading, of the ${READ_DAYS} before the last known day; null without any`,
  ),
  gained: bigint.orNull(
    'Complete interviews gained in the days of the pace; negative if some failed a quality check later',
  ),
  per_day: double.orNull('gained / pace_days'),
  gained_last_day: bigint.orNull(
    'Complete interviews gained on the last known day; null if some may be of a day without a reading before it',
  ),
} satisfies Fields

/** Interviews of all statuses, also of those that only `_extra` contains. */
const INTERVIEWS = `${INTERVIEW_STATUSES.map((status) => `coalesce(${status}_individuals, 0)`).join(' + ')}
        + coalesce(list_sum([TRY_CAST(x AS BIGINT) for x in json_extract(_extra, '$.interview_count_by_status.*.individuals')]), 0)`

/**
 * Common table expressions that end with `pace`, one row per record: `as_of` (its last known day), `last_gain_at`, `pace_days`,
 * `gained`, `per_day`, `gained_last_day`, `spread` (the standard deviation of the daily gains), and for each of `counts`, with their SQL,
 * `grown_…` in the days of the pace and `first_…` before them.
 *
 * A known day belongs to the pace if the survey was in fieldwork on the known day before, and has had no other status since. So the day on
 * which it opened, and those on which it was paused, count neither as days nor with their interviews. A day on which no progress of the
 * account changed may be one without a run, so the next gain is that of both days.
 *
 * Reconstructed rows are known on their own day only. Before its first version, a survey counts as in fieldwork if it had interviews, or was
 * last modified before: a status that was changed since is not known.
 */
const paceSql = (observations: Observations, counts: Readonly<Record<string, string>>): string => {
  const { current, history, reconstructed } = observations
  const key = current.key.join(', ')
  const values = { interviews_count: 'interviews_count', ...counts }
  const names = Object.keys(values)
  const recentColumns = [...current.key, 'observed_at', 'is_reconstructed', ...names].map((name) => ({
    name,
  }))
  const rows = rowsOf(history, reconstructed)
  const inPace = `FILTER (WHERE is_in_field AND field_days - passed < ${PACE_DAYS})`
  const grownOf = (name: string) =>
    `CASE WHEN count(grown_${name}) ${inPace} = count(*) ${inPace} THEN TRY_CAST(sum(grown_${name}) ${inPace} AS BIGINT) END AS grown_${name},
        arg_min(before_${name}, "day") ${inPace} AS first_${name}`
  return `starts AS (
      SELECT ${key}, coalesce(max(observed_at) FILTER (epoch_us(observed_at) <= before), min(observed_at)) AS start_at
      FROM ${rows}
      JOIN (SELECT ${key}, epoch_us(_observed_at) - ${READ_DAYS} * 86400000000 AS before FROM main.${current.name}) USING (${key})
      GROUP BY ALL
    ), recent AS MATERIALIZED (
      SELECT ${key}, observed_at, is_reconstructed, ${Object.entries(values)
        .map(([name, sql]) => `${sql} AS ${name}`)
        .join(', ')}
      FROM ${rows} JOIN starts USING (${key}) WHERE observed_at >= start_at
    ), recent_gains AS MATERIALIZED (
      ${lastGains(key, 'recent')}
    ), others AS (
      SELECT ${key} FROM main.${current.name} ANTI JOIN recent_gains USING (${key})
    ), last_gains AS (
      FROM recent_gains
      UNION ALL
      ${lastGains(key, `${rows} JOIN others USING (${key})`)}
    ), known AS (
      SELECT * REPLACE (CASE WHEN is_reconstructed THEN least(first_day, last_day) ELSE last_day END AS last_day)
      FROM (${withKnownDays(`(${periodsSql(observations, recentColumns, 'recent')})`, current.key)})
    ), ends AS (
      SELECT *, max(last_day) OVER (PARTITION BY ${key}) AS as_of FROM known
    ), observed_days AS (
      ${OBSERVED_DAYS}
    ), days AS (
      SELECT *, first_day + CAST(days_after AS INTEGER) AS "day"
      FROM (SELECT *, unnest(range(greatest(0, as_of - ${READ_DAYS} - first_day), 1 + last_day - first_day)) AS days_after FROM ends)
    ), statuses AS (
      SELECT account, id AS survey_id, valid_from, status = 'fieldwork' AS opened,
        count(*) FILTER (WHERE status <> 'fieldwork') OVER (PARTITION BY account, id ORDER BY valid_from ASC) AS stops
      FROM main.surveys_history
    ), known_days AS (
      SELECT d.*, ${reconstructed === undefined ? 's.opened, s.stops' : KNOWN_STATUS} FROM (SELECT o.* FROM days o LEFT JOIN observed_days r ON r.account = o.account AND r."day" = o."day"
        WHERE o."day" IN (o.first_day, o.as_of) OR r.account IS NOT NULL) d
      ASOF LEFT JOIN statuses s ON s.account = d.account AND s.survey_id = d.survey_id AND ${dayStart('d."day" + 1')} > s.valid_from${reconstructed === undefined ? '' : MODIFIED}
    ), gains AS (
      SELECT *, "day" - lag("day") OVER w AS passed, lag(is_reconstructed) OVER w AS is_since_reconstructed,
        coalesce(interviews_count IS NOT NULL AND opened AND lag(opened) OVER w AND stops = lag(stops) OVER w, false) AS is_in_field,
        ${names.map((name) => `lag(${name}) OVER w AS before_${name}, ${gainOf(name, `before_${name}`)} AS grown_${name}`).join(', ')}
      FROM known_days WINDOW w AS (PARTITION BY ${key}, interviews_count IS NULL ORDER BY "day" ASC)
    ), gains_in_field AS (
      SELECT *, sum(passed) FILTER (WHERE is_in_field) OVER (PARTITION BY ${key} ORDER BY "day" DESC) AS field_days FROM gains
    ), paces AS (
      SELECT ${key}, as_of, CAST(sum(passed) ${inPace} AS BIGINT) AS pace_days,
        CAST(sum(CASE WHEN is_since_reconstructed THEN passed ELSE 0 END) ${inPace} AS BIGINT) AS reconstructed_days, ${names.map(grownOf).join(', ')},
        max(grown_interviews_count) FILTER (WHERE "day" = as_of AND (passed = 1 OR grown_interviews_count = 0)) AS gained_last_day,
        CASE WHEN count(*) FILTER (WHERE is_in_field AND passed = 1) >= ${SPREAD_GAINS_MIN}
          THEN stddev_samp(grown_interviews_count) FILTER (WHERE is_in_field AND passed = 1) END AS spread
      FROM gains_in_field GROUP BY ALL
    ), pace AS (
      SELECT *, grown_interviews_count AS gained, CAST(gained AS DOUBLE) / pace_days AS per_day
      FROM paces LEFT JOIN last_gains USING (${key})
    )`
}

/** The observed rows of a history, and those of a table of reconstructed ones, which are all earlier. */
export const rowsOf = (history: TableDeclaration, reconstructed?: TableDeclaration): string =>
  `(SELECT *, false AS is_reconstructed FROM main.${history.name}${
    reconstructed === undefined
      ? ''
      : ` UNION ALL BY NAME
        SELECT ${selected(reconstructed.columns.filter(isObserved), 'r')}, r.as_of AS observed_at, true AS is_reconstructed
        FROM main.${reconstructed.name} r`
  })`

const isObserved = ({ name }: { readonly name: string }): boolean => name !== 'as_of' && name !== 'read_at'

const MODIFIED = `
      LEFT JOIN (SELECT account, id AS survey_id, min(updated_at) AS modified_at FROM main.surveys_history GROUP BY ALL) m
        ON m.account = d.account AND m.survey_id = d.survey_id`

/** A day before the first version of a survey is a reconstructed one. */
const KNOWN_STATUS = `CASE WHEN s.account IS NULL AND d.is_reconstructed THEN d.interviews > 0 OR d.observed_at >= m.modified_at ELSE s.opened END AS opened,
        CASE WHEN s.account IS NULL AND d.is_reconstructed THEN 0 ELSE s.stops END AS stops`

/** The numbers of the API may be so far apart that their difference is no BIGINT. */
export const gainOf = (count: string, before: string): string =>
  `TRY_CAST(CAST(${count} AS HUGEINT) - ${before} AS BIGINT)`

const lastGains = (key: string, rows: string): string => `SELECT ${key}, max(observed_at) AS last_gain_at
      FROM (SELECT ${key}, observed_at, interviews_count,
          lag(interviews_count) OVER (PARTITION BY ${key} ORDER BY observed_at ASC) AS count_before
        FROM ${rows} WHERE interviews_count IS NOT NULL)
      WHERE interviews_count > count_before GROUP BY ALL`

/** A forecast further away than ten years says nothing. */
const FORECAST_DAYS_MAX = 3650

/** 80 % of a normal distribution lie within 1.28 standard deviations. */
const DEVIATIONS = 1.28

/** With fewer days, a pace says too little for a forecast. */
export const FORECAST_PACE_DAYS_MIN = 2

/**
 * The standard deviation of a pace from now on, as a part of the pace so far: quotas fill up, sources end, others are added. In reference
 * worlds of three seeds the interval then covers 8 of 10 targets that are reached (docs/explanation/forecast.md).
 */
const PACE_CHANGE = 0.25

/**
 * Adds `expected_on`, `expected_from` and `expected_to` to rows with `status`, `target`, `reached`, and the columns of the pace
 * (docs/explanation/forecast.md). The gain of d days is expected to be `per_day` · d, with the variance
 * spread² · (d + d² / pace_days) + (0.25 · per_day · d)².
 *
 * Squaring missing - per_day · d = ± 1.28 · deviation of d days gives a quadratic equation for d. Its roots are where the upper and the
 * lower bound reach the target. If the variance grows faster than the gain, the lower bound never does. A root is taken of rows with a
 * gain only, because DuckDB refuses that of a negative number.
 */
export const withForecast = (rows: string): string =>
  `SELECT *, ${dayAfter('missing * pace_days / gained')} AS expected_on,
      CASE WHEN expected_on IS NOT NULL THEN ${dayAfter('2 * missing * missing / total')} END AS expected_from,
      CASE WHEN expected_on IS NOT NULL THEN ${dayAfter('CASE WHEN growth > 0 THEN total / (2 * growth) END')} END AS expected_to
    FROM (SELECT *, 2 * missing * per_day + variance + sqrt(variance * (variance + 4 * missing * per_day) + 4 * missing * missing * far_variance) AS total,
        per_day * per_day - far_variance AS growth
      FROM (SELECT *, variance / pace_days + ${DEVIATIONS * DEVIATIONS * PACE_CHANGE * PACE_CHANGE} * per_day * per_day AS far_variance
        FROM (SELECT *, CASE WHEN reached < target THEN CAST(target - reached AS DOUBLE) END AS missing,
            CASE WHEN gained > 0 THEN ${DEVIATIONS * DEVIATIONS} * spread * spread END AS variance
          FROM ${rows})))`

/** Rounding removes errors of the last digit before a day is rounded up. */
const dayAfter = (days: string): string =>
  `CASE WHEN status <> 'fieldwork' OR target <= 0 THEN NULL WHEN reached >= target THEN as_of
        WHEN pace_days >= ${FORECAST_PACE_DAYS_MIN} AND gained > 0 AND ${days} <= ${FORECAST_DAYS_MAX} THEN as_of + CAST(ceil(round(${days}, 6)) AS INTEGER) END`

/** Statuses in which nobody waits for interviews of a survey, whatever its due date. */
const WITHOUT_DUE_DATE = `('draft', 'user_demo', 'data_processing', 'complete')`

/**
 * Adds `needed_per_day` and `deadline` to rows with a forecast, `due_on`, and `today`, the day of the newest reading of the account. Like
 * the forecast, it counts the days after the last known one, so the pace is below the needed one exactly where `expected_on` is late. A
 * survey whose last known day is the due date still has the rest of that day: it is late only if a whole day would not do.
 */
const withDeadline = (rows: string): string =>
  `SELECT *, CASE WHEN deadline IS DISTINCT FROM 'reached' AND status NOT IN ${WITHOUT_DUE_DATE} AND due_on > as_of AND due_on >= today
        THEN missing / (due_on - as_of) END AS needed_per_day
    FROM (SELECT *, CASE WHEN due_on IS NULL THEN NULL
        WHEN target > 0 AND reached >= target THEN 'reached'
        WHEN status IN ${WITHOUT_DUE_DATE} OR missing IS NULL THEN NULL
        WHEN due_on < greatest(as_of, today) THEN 'late'
        WHEN due_on = as_of THEN CASE WHEN missing > per_day OR status NOT IN ('fieldwork', 'deviating_from_specs') THEN 'late' ELSE 'at_risk' END
        WHEN status = 'deviating_from_specs' THEN CASE WHEN missing > per_day * (due_on - as_of) THEN 'late' ELSE 'at_risk' END
        WHEN status <> 'fieldwork' OR coalesce(pace_days, 0) < ${FORECAST_PACE_DAYS_MIN} THEN NULL
        WHEN expected_on IS NULL OR expected_on > due_on THEN 'late'
        WHEN expected_from IS NOT NULL AND coalesce(expected_to > due_on, true) THEN 'at_risk'
        ELSE 'on_time' END AS deadline
      FROM ${rows})`

const COUNTS = {
  complete: 'complete_individuals',
  screened: 'screen_out_individuals',
  dropped: 'incomplete_individuals',
  interviews: INTERVIEWS,
}

/**
 * part / (part + rest), or null without a pace, or if a count is unknown, or fell because interviews changed their status. Reconstructed days
 * have the statuses of today, so nothing shows how they moved.
 */
const rate = (part: string, rest: string): string =>
  `CASE WHEN p.pace_days > 0 AND p.reconstructed_days = 0 AND ${part} >= 0 AND ${rest} >= 0 THEN CAST(${part} AS DOUBLE) / nullif(${part} + ${rest}, 0) END`

const grown = (count: string) => `p.grown_${count}`

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
      reconstructed_days: bigint.orNull(
        'How many of pace_days begin with a row of survey_progress_reconstructed; with any, the rates of the days and before are null',
      ),
      expected_on: date.orNull(
        'Day on which the target is reached if the pace goes on; null if the status is not fieldwork, without target, with a pace of fewer than two days, or after more than ten years',
      ),
      expected_from: date.orNull(
        'First day of the 80 % interval of expected_on; null without expected_on or a week of daily gains',
      ),
      expected_to: date.orNull(
        'Last day of the 80 % interval; null with expected_from set: the interval has no end',
      ),
    }),
    columnOf(deadlines, 'due_on', {
      nullable: true,
      comment:
        'Due date of the survey in deadlines, or else of its project: the last day, UTC, on which it may reach its target; null without one',
    }),
    columnOf(deadlines, 'note', { name: 'due_note', comment: 'Note of that line' }),
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
  sql: `WITH ${paceSql(surveyObservations, COUNTS)}, goals AS (
      SELECT p.*, s.title, s.project_id, s.status, t.sample_size AS target, t.interviews_count AS reached, t.completion_rate,
        t.target_incidence_rate, t.drop_out_rate, n.today, coalesce(d.due_on, e.due_on) AS due_on,
        CASE WHEN d.due_on IS NULL THEN e.note ELSE d.note END AS due_note
      FROM main.survey_progress t
      JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id AND s._missing_since IS NULL
      JOIN pace p ON p.account = t.account AND p.survey_id = t.survey_id
      LEFT JOIN (SELECT account, ${utcDay('max(greatest(listed_at, refreshed_at))')} AS today FROM main.freshness GROUP BY account) n
        ON n.account = t.account
      LEFT JOIN main.deadlines d ON d.account = t.account AND d.survey_id = t.survey_id
      LEFT JOIN main.deadlines e ON e.account = t.account AND e.survey_id IS NULL AND e.project_id = s.project_id
    )
    SELECT p.account, p.survey_id, p.title, p.project_id, p.status, p.target AS sample_size, p.reached AS interviews_count,
      p.completion_rate, f.refreshed_at, p.last_gain_at, p.pace_days, p.gained, p.per_day, p.gained_last_day, p.reconstructed_days, p.expected_on, p.expected_from, p.expected_to,
      p.due_on, p.due_note, p.deadline COLLATE C AS deadline, p.needed_per_day, p.target_incidence_rate, ${rate(grown('complete'), grown('screened'))} AS recent_incidence_rate,
      ${rate('p.first_complete', 'p.first_screened')} AS earlier_incidence_rate,
      p.drop_out_rate, ${rate(grown('dropped'), `(${grown('interviews')} - ${grown('dropped')})`)} AS recent_drop_out_rate,
      ${rate('p.first_dropped', '(p.first_interviews - p.first_dropped)')} AS earlier_drop_out_rate
    FROM (${withDeadline(`(${withForecast('goals')})`)}) p
    LEFT JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id`,
}

/** The numbers of the API may be so large that their product is no BIGINT. A survey over its target counts as complete. */
const AS_COMPLETE =
  '(CAST(a.sample_size AS HUGEINT) * least(w.interviews_count, w.sample_size) + w.sample_size - 1) // w.sample_size - t.interviews_count'

export const sampleSourcePace: ViewDeclaration = {
  schema: 'main',
  name: 'sample_source_pace',
  comment:
    'Pace and forecast of each sample source that the API shows, and how far it is behind its survey; one row per source with known progress. Days are UTC. A source counts as unchanged while the sum of its survey shows it',
  key: ['account', 'survey_id', 'sample_source_id'],
  references: ofSource('sample_source_id'),
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id', 'sample_source_id']),
    ...columnsFrom(sampleSources, ['name', 'provider', 'country_code', 'sample_size']),
    ...columnsFrom(sampleSourceProgress, ['interviews_count', 'completion_rate']),
    columnOf(surveyProgress, 'completion_rate', {
      name: 'survey_completion_rate',
      comment: 'completion_rate of the whole survey',
    }),
    ...columnsOf({
      behind: bigint.orNull(
        'Complete interviews that the source lacks to be as complete as its survey, at most to reach its target; 0 if it is not behind, null without targets',
      ),
    }),
    columnOf(freshness, 'source_progress_read_at'),
    ...columnsOf({
      ...PACE_FIELDS,
      expected_on: date.orNull(
        'Day on which the source reaches its target if its pace goes on; null if the survey is not in fieldwork, without target, with a pace of fewer than two days, or after more than ten years',
      ),
    }),
  ],
  sql: `WITH ${paceSql(inferredSourceObservations, {})}, goals AS (
      SELECT p.*, s.status, a.name, a.provider, a.country_code, a.sample_size AS target, t.interviews_count AS reached, t.completion_rate,
        w.completion_rate AS survey_completion_rate,
        CASE WHEN a.sample_size > 0 AND w.sample_size > 0 THEN TRY_CAST(greatest(0, ${AS_COMPLETE}) AS BIGINT) END AS behind
      FROM main.sample_source_progress t
      JOIN main.sample_sources a
        ON a.account = t.account AND a.survey_id = t.survey_id AND a.id = t.sample_source_id AND a._missing_since IS NULL
      JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id AND s._missing_since IS NULL
      JOIN pace p ON p.account = t.account AND p.survey_id = t.survey_id AND p.sample_source_id = t.sample_source_id
      LEFT JOIN main.survey_progress w ON w.account = t.account AND w.survey_id = t.survey_id
    )
    SELECT p.account, p.survey_id, p.sample_source_id, p.name, p.provider, p.country_code, p.target AS sample_size,
      p.reached AS interviews_count, p.completion_rate, p.survey_completion_rate, p.behind, f.source_progress_read_at,
      p.last_gain_at, p.pace_days, p.gained, p.per_day, p.gained_last_day, p.expected_on
    FROM (${withForecast('goals')}) p
    LEFT JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id`,
}
