/**
 * The day on which a target is reached if the pace goes on, and its 80 % interval. After d days, `per_day` · d interviews are
 * expected. The daily gains vary by `spread`, and the pace itself is known from `pace_days` days only. So the gain of d days has the
 * variance spread² · (d + d² / pace_days). The interval is where the bounds of this gain reach the target
 * (docs/explanation/forecast.md).
 */

/** A forecast further away than ten years says nothing. */
const FORECAST_DAYS_MAX = 3650

/** 80 % of a normal distribution lie within 1.28 standard deviations. */
const DEVIATIONS = 1.28

interface Goal {
  /** SQL for the complete interviews that are expected, and for those that there are. */
  readonly target: string
  readonly reached: string
  /** SQL for the status of the survey. */
  readonly status: string
}

const cases = ({ target, reached, status }: Goal, days: string): string =>
  `CASE WHEN ${status} <> 'fieldwork' OR ${target} <= 0 THEN NULL
        WHEN ${reached} >= ${target} THEN p.as_of
        WHEN p.gained > 0 AND ${days} <= ${FORECAST_DAYS_MAX} THEN p.as_of + CAST(ceil(round(${days}, 6)) AS INTEGER) END`

/** SQL for the expected day, by the row `p` of the pace. */
export const expectedOn = (goal: Goal): string =>
  cases(goal, `(CAST(${goal.target} - ${goal.reached} AS DOUBLE) * p.pace_days / p.gained)`)

/**
 * SQL for the first and the last day of the interval. Squaring (missing - per_day · d) = ± 1.28 · deviation of d days gives a
 * quadratic equation for d, with one root for each bound. The variance may grow faster than the gain: then the lower bound never
 * reaches the target. Rounding removes errors of the last digit before a day is rounded up.
 */
export const expectedBetween = (goal: Goal): { readonly from: string; readonly to: string } => {
  const missing = `CAST(${goal.target} - ${goal.reached} AS DOUBLE)`
  const variance = `(${DEVIATIONS * DEVIATIONS} * p.spread * p.spread)`
  const sum = `(2 * ${missing} * p.per_day + ${variance}
          + sqrt(${variance} * (${variance} + 4 * ${missing} * (p.per_day + ${missing} / p.pace_days))))`
  const growth = `(p.per_day * p.per_day - ${variance} / p.pace_days)`
  return {
    from: cases(goal, `(2 * ${missing} * ${missing} / ${sum})`),
    to: cases(goal, `(CASE WHEN ${growth} > 0 THEN ${sum} / (2 * ${growth}) END)`),
  }
}
