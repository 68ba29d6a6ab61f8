/** Selects the observations of the curves. A year has hundreds of them per survey; a curve needs some dozens. */
import * as survey from './queries/survey.js'
import { dayRow } from './rows.js'

/** Each of the last days has a point of its own, as the sparkline shows them. */
export const LAST_DAYS = 28
/** Earlier days are thinned out to this many points. */
export const EARLIER_POINTS = 24

/** Number of the UTC day since 1970. */
const dayOf = (at: string): string => `epoch_us(${at}) // 86400000000`

const KEY = ['account', 'survey_id', 'day']
const values = Object.keys(dayRow.shape).filter((name) => !KEY.includes(name))

/**
 * The observations at the ends of chosen days, of the surveys in the table `shown`. The days of a survey end with its last reading. A
 * chosen day without an observation has no row.
 */
export const thinnedDays = (shown: string): string => `WITH observations AS (
${survey.observations.select}
), spans AS (
  SELECT account, survey_id, ${dayOf('any_value(r.refreshed_at)')} AS last_day, ${dayOf('min(o.observed_at)')} AS first_day
  FROM observations o JOIN ${shown} r USING (account, survey_id) GROUP BY ALL
), steps AS (
  SELECT *, greatest(1, (last_day - first_day - ${LAST_DAYS}) // ${EARLIER_POINTS}) AS step FROM spans
), placed AS (
  SELECT o.*, s.last_day - ${dayOf('o.observed_at')} AS age,
    last_day - CASE WHEN age <= ${LAST_DAYS} THEN age ELSE ${LAST_DAYS} + (age - ${LAST_DAYS}) // step * step END AS day
  FROM observations o JOIN steps s USING (account, survey_id)
), chosen AS (
  SELECT account, survey_id, day, max_by(p, observed_at) AS newest FROM placed p GROUP BY ALL
)
SELECT account, survey_id, day, ${values.map((name) => `newest.${name}`).join(', ')}
FROM chosen
ORDER BY account, survey_id, day`
