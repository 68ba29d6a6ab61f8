/**
 * The day on which a target is reached if the pace goes on, and its 80 % interval. In d days, `per_day` · d interviews are expected.
 * The daily gains vary by `spread`, and the pace is known from `pace_days` days only. So the gain of d days has the variance
 * spread² · (d + d² / pace_days). The interval is where the bounds of this gain reach the target (docs/explanation/forecast.md).
 */

/** A forecast further away than ten years says nothing. */
const FORECAST_DAYS_MAX = 3650

/** 80 % of a normal distribution lie within 1.28 standard deviations. */
const DEVIATIONS = 1.28

/**
 * Adds `expected_on`, `expected_from` and `expected_to` to rows with `status`, `target`, `reached`, and the columns of the pace.
 *
 * Squaring missing - per_day · d = ± 1.28 · deviation of d days gives a quadratic equation for d. Its roots are where the upper and the
 * lower bound reach the target. If the variance grows faster than the gain, the lower bound never does. A root is taken of rows with a
 * gain only, because DuckDB refuses that of a negative number.
 */
export const withForecast = (rows: string): string =>
  `SELECT *, ${dayAfter('missing * pace_days / gained')} AS expected_on,
      CASE WHEN expected_on IS NOT NULL THEN ${dayAfter('2 * missing * missing / total')} END AS expected_from,
      CASE WHEN expected_on IS NOT NULL THEN ${dayAfter('CASE WHEN growth > 0 THEN total / (2 * growth) END')} END AS expected_to
    FROM (SELECT *, 2 * missing * per_day + variance + sqrt(variance * (variance + 4 * missing * (per_day + missing / pace_days))) AS total,
        per_day * per_day - variance / pace_days AS growth
      FROM (SELECT *, CASE WHEN reached < target THEN CAST(target - reached AS DOUBLE) END AS missing,
          CASE WHEN gained > 0 THEN ${DEVIATIONS * DEVIATIONS} * spread * spread END AS variance
        FROM ${rows}))`

/** Rounding removes errors of the last digit before a day is rounded up. */
const dayAfter = (days: string): string =>
  `CASE WHEN status <> 'fieldwork' OR target <= 0 THEN NULL WHEN reached >= target THEN as_of
        WHEN gained > 0 AND ${days} <= ${FORECAST_DAYS_MAX} THEN as_of + CAST(ceil(round(${days}, 6)) AS INTEGER) END`
