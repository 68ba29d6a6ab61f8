/**
 * When a record reaches its target if its pace goes on, and whether it meets its due date (docs/explanation/forecast.md).
 *
 * The gain of d days is expected to be `rate` · d, with the variance spread² · (d + d² / pace_days) + (0.2 · rate · d)². If sources that are
 * full make the rate a part of the pace, the spread is the same part of that of the daily gains. Squaring
 * missing - rate · d = ± 1.28 · deviation of d days gives a quadratic equation for d. Its roots are where the upper and the lower bound
 * reach the target. If the variance grows faster than the gain, the lower bound never reaches it. Roots are computed only for rows with a
 * gain, because DuckDB refuses the root of a negative number.
 */

/** The furthest forecast: ten years. Beyond that it says nothing. */
export const FORECAST_DAYS_MAX = 3650

/** 80 % of a normal distribution lie within 1.28 standard deviations. */
const DEVIATIONS = 1.28

/** The least days of a pace for a forecast. */
export const FORECAST_PACE_DAYS_MIN = 2

/**
 * The standard deviation of a pace from now on, as a part of the pace so far: quotas fill up, sources end, others are added. With this
 * value, in reference worlds of three seeds, the interval covers 8 of 10 targets that are reached (docs/explanation/forecast.md).
 */
const PACE_CHANGE = 0.2

/** Rounding removes errors of the last digit before a day is rounded up. */
export const dayAfter = (days: string, asOf = 'as_of'): string =>
  `${asOf} + CAST(ceil(round(${days}, 6)) AS INTEGER)`

/**
 * Steps that go on from `rated_goals`: rows with `status`, `target`, `reached`, the columns of the pace, and `rate`, the mean interviews a
 * day until the target, 0 if it is never reached. They end with `forecasts`, which has `expected_on`, `expected_from` and `expected_to`.
 */
export const FORECAST_STEPS = `variances AS (
  SELECT
    *,
    CASE WHEN reached < target THEN CAST(target - reached AS DOUBLE) END AS missing,
    CASE WHEN gained > 0 THEN least(1, rate / per_day) * spread END AS rate_spread,
    ${DEVIATIONS} * ${DEVIATIONS} * rate_spread * rate_spread AS variance
  FROM rated_goals
),
far_variances AS (
  SELECT
    *,
    variance / pace_days + ${DEVIATIONS} * ${DEVIATIONS} * ${PACE_CHANGE} * ${PACE_CHANGE} * rate * rate AS far_variance
  FROM variances
),
bounds AS (
  SELECT
    *,
    2 * missing * rate + variance
      + sqrt(variance * (variance + 4 * missing * rate) + 4 * missing * missing * far_variance) AS total,
    rate * rate - far_variance AS growth
  FROM far_variances
),
days_left AS (
  SELECT
    *,
    CASE WHEN pace_days >= ${FORECAST_PACE_DAYS_MIN} AND gained > 0 THEN missing / nullif(rate, 0) END AS days,
    CASE WHEN gained > 0 THEN 2 * missing * missing / total END AS days_from,
    CASE WHEN gained > 0 AND growth > 0 THEN total / (2 * growth) END AS days_to
  FROM bounds
),
means AS (
  SELECT
    *,
    CASE
      WHEN status <> 'fieldwork' OR target <= 0 THEN NULL
      WHEN reached >= target THEN as_of
      WHEN days <= ${FORECAST_DAYS_MAX} THEN ${dayAfter('days')}
    END AS expected_on
  FROM days_left
),
forecasts AS (
  SELECT
    *,
    CASE
      WHEN expected_on IS NULL THEN NULL
      WHEN reached >= target THEN as_of
      WHEN days_from <= ${FORECAST_DAYS_MAX} THEN ${dayAfter('days_from')}
    END AS expected_from,
    CASE
      WHEN expected_on IS NULL THEN NULL
      WHEN reached >= target THEN as_of
      WHEN days_to <= ${FORECAST_DAYS_MAX} THEN ${dayAfter('days_to')}
    END AS expected_to
  FROM means
)`

/**
 * Interviews a day: below 100 with one digit after the point, as the report shows a pace. `ceil` is for a needed number, which must never
 * look smaller than it is.
 */
export const perDayText = (rate: string, round: 'ceil' | 'round'): string =>
  `CASE
      WHEN ${rate} < 100 THEN replace(CAST(${round}(round(10 * ${rate}, 6)) / 10 AS VARCHAR), '.0', '')
      ELSE CAST(TRY_CAST(${round}(round(${rate}, 6)) AS BIGINT) AS VARCHAR)
    END`

/**
 * Steps that go on from `forecasts` with `due_on`, and `today`, the day of the newest reading of the account. They end with `judged`, which
 * has `needed_per_day`, `needed_text` and `deadline`. Like the forecast, the steps count the days after the last known one, so `rate` is
 * below the needed pace exactly if `expected_on` is late. A survey whose last known day is the due date still has the rest of that day: it
 * is late only if a whole day would not be enough.
 */
export const DEADLINE_STEPS = `waited_for AS (
  SELECT *, status NOT IN ('draft', 'user_demo', 'data_processing', 'complete') AS is_waited_for
  FROM forecasts
),
verdicts AS (
  SELECT
    *,
    CASE
      WHEN due_on IS NULL THEN NULL
      WHEN target > 0 AND reached >= target THEN 'reached'
      WHEN NOT is_waited_for OR missing IS NULL THEN NULL
      WHEN due_on < greatest(as_of, today) THEN 'late'
      WHEN due_on <= today AND status NOT IN ('fieldwork', 'deviating_from_specs') THEN 'late'
      WHEN due_on = as_of AND missing > rate THEN 'late'
      WHEN due_on = as_of THEN 'at_risk'
      WHEN status = 'deviating_from_specs' AND missing > rate * (due_on - as_of) THEN 'late'
      WHEN status = 'deviating_from_specs' THEN 'at_risk'
      WHEN status <> 'fieldwork' OR coalesce(pace_days, 0) < ${FORECAST_PACE_DAYS_MIN} THEN NULL
      WHEN expected_on IS NULL OR expected_on > due_on THEN 'late'
      WHEN expected_from IS NOT NULL AND coalesce(expected_to > due_on, true) THEN 'at_risk'
      ELSE 'on_time'
    END AS deadline
  FROM waited_for
),
needs AS (
  SELECT
    *,
    CASE
      WHEN deadline IS DISTINCT FROM 'reached' AND is_waited_for AND due_on > as_of AND due_on >= today
        THEN missing / (due_on - as_of)
    END AS needed_per_day
  FROM verdicts
),
judged AS (
  SELECT
    *,
    ${perDayText('per_day', 'round')} AS pace_text,
    ${perDayText('rate', 'round')} AS rate_text,
    'needs ' || ${perDayText('needed_per_day', 'ceil')} || ' a day' || CASE
      WHEN per_day > 0 THEN CASE WHEN status = 'fieldwork' THEN ', has ' ELSE ', had ' END || pace_text
      ELSE ''
    END || CASE
      WHEN per_day > 0 AND rate = 0 THEN ', but its sources are full before'
      WHEN per_day > 0 AND rate_text <> pace_text THEN ', ' || rate_text || ' as sources fill up'
      ELSE ''
    END AS needed_text
  FROM needs
)`
