/**
 * The pace of records with progress: the complete interviews that each gained in its last known days. A year of daily history has
 * hundreds of rows of each record, so window functions read only the last ones.
 */
import { bigint, double, type Fields, nullable, timestamptz } from '../../model/columns.js'
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import { withKnownDays } from './known-days.js'
import { type Observations, periodsSql } from './progress-periods.js'

/** The pace covers a week, so that each weekday counts once. */
export const PACE_DAYS = 7
/** The daily gains of these days say how much the gain varies from day to day. */
export const SPREAD_DAYS = 28
/** With fewer daily gains, their variation is not known. */
const SPREAD_GAINS_MIN = 7

/** The columns of a view of pace. */
export const PACE_FIELDS = {
  last_gain_at: nullable(
    timestamptz('When the number of complete interviews was last seen rising, server time; null = never'),
  ),
  pace_days: nullable(
    bigint(
      `Days that the pace covers, at most ${PACE_DAYS}: from the first to the last known day among the last ones, UTC; null if fewer than two days are known`,
    ),
  ),
  gained: nullable(
    bigint(
      'Complete interviews gained in the days of the pace; negative if complete interviews failed a quality check later',
    ),
  ),
  per_day: nullable(double('gained / pace_days')),
  gained_last_day: nullable(
    bigint(
      'Complete interviews gained on the last known day, and on days without a reading before it; null if the day before is not known',
    ),
  ),
} satisfies Fields

/** Interviews of all statuses, also of those that only `_extra` contains. */
export const INTERVIEWS = `${INTERVIEW_STATUSES.map((status) => `coalesce(${status}_individuals, 0)`).join(' + ')}
        + coalesce(list_sum([TRY_CAST(x AS BIGINT) for x in json_extract(_extra, '$.interview_count_by_status.*.individuals')]), 0)`

interface Pace {
  readonly observations: Observations
  /** The days before the last known one that are read. */
  readonly days: number
  /** More counts of which the first and the last one of the pace are wanted, with their SQL. */
  readonly counts: Readonly<Record<string, string>>
}

/**
 * Common table expressions that end with `pace`, one row per record: `as_of` (its last known day), `last_gain_at`, `pace_days`,
 * `gained`, `per_day`, `gained_last_day`, the first and last counts of the pace, and `spread`, the standard deviation of the daily gains.
 */
export const paceSql = ({ observations, days, counts }: Pace): string => {
  const { current, history } = observations
  const key = current.key.join(', ')
  const values = { interviews_count: 'interviews_count', ...counts }
  const names = Object.keys(values)
  const recentColumns = [...current.key, 'observed_at', ...names].map((name) => ({ name }))
  const inPace = `FILTER (WHERE interviews_count IS NOT NULL AND "day" >= as_of - ${PACE_DAYS})`
  const endsOf = (name: string) =>
    ['first', 'last'].map((end) => `${end}(${name} ORDER BY "day" ASC) ${inPace} AS ${end}_${name}`)
  return `starts AS (
      SELECT ${key}, coalesce(max(observed_at) FILTER (epoch_us(observed_at) <= before), min(observed_at)) AS start_at
      FROM main.${history.name}
      JOIN (SELECT ${key}, epoch_us(_observed_at) - ${days} * 86400000000 AS before FROM main.${current.name}) USING (${key})
      GROUP BY ALL
    ), recent AS MATERIALIZED (
      SELECT ${key}, observed_at, ${Object.entries(values)
        .map(([name, sql]) => `${sql} AS ${name}`)
        .join(', ')}
      FROM main.${history.name} JOIN starts USING (${key}) WHERE observed_at >= start_at
    ), recent_gains AS MATERIALIZED (
      ${lastGains(key, 'recent')}
    ), others AS (
      SELECT ${key} FROM main.${current.name} ANTI JOIN recent_gains USING (${key})
    ), last_gains AS (
      FROM recent_gains
      UNION ALL
      ${lastGains(key, `main.${history.name} JOIN others USING (${key})`)}
    ), known AS (
      ${withKnownDays(`(${periodsSql(observations, recentColumns, 'recent')})`, current.key)}
    ), ends AS (
      SELECT *, max(last_day) OVER (PARTITION BY ${key}) AS as_of FROM known
    ), days AS (
      SELECT *, first_day + CAST(days_after AS INTEGER) AS "day"
      FROM (SELECT *, unnest(range(greatest(0, as_of - ${days} - first_day), 1 + last_day - first_day)) AS days_after FROM ends)
    ), gains AS (
      SELECT *, CASE WHEN "day" - lag("day") OVER w = 1 THEN interviews_count - lag(interviews_count) OVER w END AS gain
      FROM days WINDOW w AS (PARTITION BY ${key} ORDER BY "day" ASC)
    ), paces AS (
      SELECT ${key}, as_of, nullif(max("day") ${inPace} - min("day") ${inPace}, 0) AS pace_days, ${names.flatMap(endsOf).join(', ')},
        max(gain) FILTER (WHERE "day" = as_of) AS gained_last_day, CASE WHEN count(gain) >= ${SPREAD_GAINS_MIN} THEN stddev_samp(gain) END AS spread
      FROM gains GROUP BY ALL
    ), pace AS (
      SELECT *, CAST(last_interviews_count - first_interviews_count AS DOUBLE) / pace_days AS per_day,
        CASE WHEN pace_days > 0 THEN last_interviews_count - first_interviews_count END AS gained
      FROM paces LEFT JOIN last_gains USING (${key})
    )`
}

const lastGains = (key: string, rows: string): string => `SELECT ${key}, max(observed_at) AS last_gain_at
      FROM (SELECT ${key}, observed_at, interviews_count,
          lag(interviews_count) OVER (PARTITION BY ${key} ORDER BY observed_at ASC) AS count_before
        FROM ${rows} WHERE interviews_count IS NOT NULL)
      WHERE interviews_count > count_before GROUP BY ALL`
