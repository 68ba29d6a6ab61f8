/**
 * The pace of records with progress: the complete interviews that a record gained in its last known days. A year of daily history has
 * hundreds of rows of each record, so window functions read only the last ones.
 */
import { bigint, double, type Fields, type TableDeclaration, timestamptz } from '../../model/columns.js'
import { clockAt, fieldworkDayOf, HALF_DAY_US, localDay } from '../history/days.js'
import { knownDaySteps, type Observations, periodSteps } from './progress-periods.js'

/** The pace covers a week in fieldwork, so that each weekday counts once. */
const PACE_DAYS = 7
/** The days before the last known day from which the pace and the variation of the daily gains are computed. */
export const READ_DAYS = 28
/** The least daily gains from which a variation is computed. */
const SPREAD_GAINS_MIN = 7

export const PACE_FIELDS = {
  last_gain_at: timestamptz.orNull(
    'When the number of complete interviews was last seen rising; also in reconstructed rows, server time; null = never',
  ),
  pace_days: bigint.orNull(
    `Days of fieldwork that the pace covers: the last ones that the survey was in fieldwork from beginning to end, at most ${PACE_DAYS}, or more with days without a reading, of the ${READ_DAYS} before the last known day; null without any`,
  ),
  gained: bigint.orNull(
    'Complete interviews gained in the days of the pace; negative if some failed a quality check later',
  ),
  per_day: double.orNull('gained / pace_days'),
  newest_gain: bigint.orNull(
    'Complete interviews gained on the last known day, and on the days before it that were not read; null without a known day before',
  ),
  newest_gain_days: bigint.orNull('How many days newest_gain covers; null without it'),
} satisfies Fields

/** HUGEINT in between, because the difference of two numbers of the API may exceed a BIGINT. */
export const gainOf = (count: string, before: string): string =>
  `TRY_CAST(CAST(${count} AS HUGEINT) - ${before} AS BIGINT)`

/** The filter of the days of the pace. */
export const IN_PACE = ' FILTER (WHERE is_in_pace)'

/** The sum of gains, if all of them are known. */
export const sumOfKnown = (gain: string, filter = ''): string =>
  `CASE WHEN count(${gain})${filter} = count(*)${filter} THEN TRY_CAST(sum(${gain})${filter} AS BIGINT) END`

/** The observed rows of a history, and the rows of a table of reconstructed observations, all of which are earlier. */
export const observationsSql = (history: TableDeclaration, reconstructed?: TableDeclaration): string => {
  const observed = `SELECT *, false AS is_reconstructed FROM main.${history.name}`
  if (reconstructed === undefined) return observed
  const columns = reconstructed.columns
    .map(({ name }) => name)
    .filter((name) => !['as_of', 'read_at'].includes(name))
  return `${observed}
  UNION ALL BY NAME
  SELECT ${columns.join(', ')}, as_of AS observed_at, true AS is_reconstructed FROM main.${reconstructed.name}`
}

/**
 * Steps that end with `day_statuses`: a row per record and known day, with `as_of` (the last known day of the record), and of the survey on
 * that day `opened` (it was in fieldwork) and `stops` (how often its status had been another one). Of the days on which neither the record
 * nor a status other than fieldwork changed, only the first and the last one have a row, and `days_after` the first one is not 0. `counts`
 * is SQL for further columns of these rows. `ofSurveys` is SQL that joins the surveys of which records are read; without it, all are. The
 * step `last_gains` has `last_gain_at`.
 */
export const dayStatusSteps = (observations: Observations, counts: string, ofSurveys = ''): string => {
  const { current, history, reconstructed } = observations
  const key = current.key.join(', ')
  // DuckDB 1.1 to 1.3 refuse a materialized step within another one of the same name.
  const last = `last_${current.name}`
  // Not a step: DuckDB 1.5 forgets NOT MATERIALIZED in a view, and would write a copy of all history to the disk.
  const rows = `(
    ${observationsSql(history, reconstructed).replaceAll('\n', '\n  ')}
  ) observations`
  return `read_since AS (
  SELECT ${key}, interviews_count AS newest_count, progress_day - ${READ_DAYS} AS since
  FROM main.${current.name}
  JOIN main.freshness USING (account, survey_id)${ofSurveys}
),
-- After the last time at which the number was below the newest one, it rose at least once.
starts AS (
  SELECT
    ${key},
    coalesce(max(observed_at) FILTER ("day" <= since), min(observed_at)) AS start_at,
    coalesce(max(observed_at) FILTER (interviews_count < newest_count), min(observed_at)) AS below_at
  FROM ${rows}
  JOIN read_since USING (${key})
  GROUP BY ALL
),
${last} AS MATERIALIZED (
  SELECT ${key}, observed_at, "day", day_before, is_reconstructed, interviews_count, ${counts} AS counts, start_at
  FROM ${rows}
  JOIN starts USING (${key})
  WHERE observed_at >= least(start_at, below_at)
),
changes AS (
  SELECT
    ${key}, observed_at, interviews_count,
    lag(interviews_count) OVER (PARTITION BY ${key} ORDER BY observed_at ASC) AS count_before
  FROM ${last}
  WHERE interviews_count IS NOT NULL
),
last_gains AS (
  SELECT ${key}, max(observed_at) AS last_gain_at
  FROM changes
  WHERE interviews_count > count_before
  GROUP BY ALL
),
recent AS (
  FROM ${last}
  WHERE observed_at >= start_at
),
${periodSteps(observations, 'recent')},
${knownDaySteps(observations)},
ends AS (
  -- Not a day that has hardly begun.
  SELECT *, least(max(last_day) OVER (PARTITION BY ${key}), progress_day) AS as_of
  FROM known_periods
),
spans AS (
  SELECT *, greatest("day", as_of - ${READ_DAYS}) AS from_day, least(last_day, as_of) AS to_day
  FROM ends
  WHERE to_day >= from_day
),
known_spans AS (
  SELECT *, sum(CASE WHEN is_reconstructed THEN 0 ELSE 1 + to_day - from_day END) OVER (PARTITION BY ${key}) AS observed_days
  FROM spans
),
-- The versions of the surveys whose progress was read. After a night, a version is of the day before.
dated_versions AS (
  SELECT
    h.account, h.id AS survey_id, h.status, h.valid_from, coalesce(h.valid_to, TIMESTAMPTZ 'infinity') AS valid_until,
    ${fieldworkDayOf('h.valid_from')} AS night_day, ${localDay('h.valid_from')} AS "day"
  FROM main.surveys_history h
  SEMI JOIN read_since r ON r.account = h.account AND r.survey_id = h.id
  ${clockAt('h.valid_from')}
),
-- With several runs a day, a version may be of its own day. The first reading that follows, before the next version, shows it.
versions_of_their_day AS (
  SELECT v.account, v.survey_id, v.valid_from, v."day"
  FROM (
    SELECT *, unnest([night_day, "day"]) AS read_on
    FROM dated_versions
    WHERE "day" > night_day
  ) v
  JOIN main.survey_progress_history o
    ON o.account = v.account AND o.survey_id = v.survey_id AND o."day" = v.read_on
      AND o.observed_at >= v.valid_from AND o.observed_at < v.valid_until
      AND epoch_us(o.observed_at) <= epoch_us(v.valid_from) + ${HALF_DAY_US}
  GROUP BY ALL
  HAVING min(o."day") = v."day"
),
-- The day of fieldwork of each version.
statuses AS (
  SELECT
    v.account, v.survey_id, v.valid_from, coalesce(d."day", v.night_day) AS "day", v.status = 'fieldwork' AS opened,
    count(*) FILTER (WHERE v.status <> 'fieldwork') OVER (PARTITION BY v.account, v.survey_id ORDER BY v.valid_from ASC) AS stops
  FROM dated_versions v
  LEFT JOIN versions_of_their_day d ON d.account = v.account AND d.survey_id = v.survey_id AND d.valid_from = v.valid_from
),
-- The last version of a day stands until the day before the next one. Before the first version, the status is not known.
status_spans AS (
  SELECT
    account, survey_id, "day" AS status_from, opened, stops,
    coalesce(lead("day") OVER (PARTITION BY account, survey_id ORDER BY valid_from ASC) - 1, DATE 'infinity') AS status_to
  FROM statuses
  UNION ALL
  SELECT account, survey_id, DATE '-infinity', NULL, NULL, min("day") - 1
  FROM statuses
  GROUP BY ALL
),
pieces AS (
  SELECT
    d.*, greatest(d.from_day, s.status_from) AS piece_from, least(d.to_day, s.status_to) AS piece_to,
    s.opened, CASE WHEN s.stops IS NULL AND d.is_reconstructed THEN 0 ELSE s.stops END AS stops
  FROM known_spans d
  LEFT JOIN status_spans s
    ON s.account = d.account AND s.survey_id = d.survey_id AND s.status_from <= d.to_day AND s.status_to >= d.from_day
),
-- Most surveys closed years ago. Out of fieldwork, a piece needs only its first day and its last one.
numbered_days AS (
  SELECT
    *,
    unnest(range(0, 1 + piece_to - piece_from, CASE WHEN NOT opened THEN greatest(1, piece_to - piece_from) ELSE 1 END)) AS days_after
  FROM pieces
),
day_statuses AS (
  SELECT * REPLACE (piece_from + CAST(days_after AS INTEGER) AS "day")
  FROM numbered_days
)`
}

/**
 * Steps that go on from `known_days` (rows of `day_statuses`) and `last_gains`, and end with `pace`, one row per record: `as_of`,
 * `last_gain_at`, `pace_days`, `reconstructed_days`, `gained`, `per_day`, `newest_gain`, `newest_gain_days`, and `spread` (the standard
 * deviation of the daily gains); and `mix`, aggregates of the days of the pace, in which `counts` are those of a day and `counts_before`
 * those of the known day before.
 *
 * A known day belongs to the pace if the survey was in fieldwork on the known day before, and has had no other status since. So the day on
 * which the survey opened, and days on which it was paused, count neither as days nor with their interviews. Reconstructed days belong to
 * it until seven days after the first one were observed.
 */
export const paceSteps = ({ current }: Observations, mix: readonly string[] = []): string => {
  const key = current.key.join(', ')
  const daily = ' FILTER (WHERE is_in_field AND passed = 1)'
  return `gains AS (
  SELECT
    *,
    ${gainOf('interviews_count', 'lag(interviews_count) OVER known')} AS gain,
    lag(counts) OVER known AS counts_before,
    -- All days of a piece are known.
    CASE WHEN days_after > 0 THEN 1 ELSE "day" - lag("day") OVER known END AS passed,
    lag(is_reconstructed) OVER known AS is_since_reconstructed,
    coalesce(
      interviews_count IS NOT NULL AND opened AND lag(opened) OVER known AND stops = lag(stops) OVER known
        AND (NOT is_since_reconstructed OR observed_days <= ${PACE_DAYS}),
      false
    ) AS is_in_field
  FROM known_days
  WINDOW known AS (PARTITION BY ${key}, interviews_count IS NULL ORDER BY "day" ASC)
),
-- field_days: days in the field from this one to the last known day, with the days that passed since the known day before.
field_gains AS (
  SELECT *, sum(passed) FILTER (WHERE is_in_field) OVER (PARTITION BY ${key} ORDER BY "day" DESC) AS field_days
  FROM gains
),
pace_gains AS (
  SELECT *, is_in_field AND field_days - passed < ${PACE_DAYS} AS is_in_pace
  FROM field_gains
),
paces AS (
  SELECT
    ${key},
    as_of,
    CAST(sum(passed)${IN_PACE} AS BIGINT) AS pace_days,
    CAST(sum(CASE WHEN is_since_reconstructed THEN passed ELSE 0 END)${IN_PACE} AS BIGINT) AS reconstructed_days,
    ${[...mix, `${sumOfKnown('gain', IN_PACE)} AS gained`].join(',\n    ')},
    max(gain) FILTER (WHERE "day" = as_of) AS newest_gain,
    max(passed) FILTER (WHERE "day" = as_of AND gain IS NOT NULL) AS newest_gain_days,
    CASE WHEN count(*)${daily} >= ${SPREAD_GAINS_MIN} THEN stddev_samp(gain ORDER BY "day" ASC)${daily} END AS spread
  FROM pace_gains
  GROUP BY ALL
),
pace AS (
  SELECT *, CAST(gained AS DOUBLE) / pace_days AS per_day
  FROM paces
  LEFT JOIN last_gains USING (${key})
)`
}
