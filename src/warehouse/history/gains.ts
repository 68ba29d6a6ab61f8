/** What the surveys gained together. A sum of the paces of surveys would be of other days for each of them. */

import { NEW_SURVEYS_STEP } from '../views/progress-daily.js'
import { CLOSED } from '../views/statuses.js'

const WEEK_DAYS = 7

/** The count that was known at the end of a day. Before its first reading, a new survey had none, and another one what was read first. */
const knownOn = (day: string): string =>
  `coalesce(max_by(r.interviews_count, r.observed_at) FILTER (r.day <= ${day}), any_value(n.gained_before), min_by(r.interviews_count, r.observed_at))`

/**
 * One row: the complete interviews that all surveys but drafts and demos gained up to the last day, since the known day before it and since
 * the last known one that is a week before it. The last day is the same for all accounts: of the newest day of which progress is known and
 * the day before it, the one that is the newest of more active surveys, so that a few surveys that are read again make no day. An account
 * that was not read since adds nothing and no days. `newest_gain_days` and `week_gain_days` say how many days these are: more than 1 and 7
 * after nights without a run, fewer than 7 in the first week. Gains of nights that a single survey was not read are in both.
 */
export const FIELD_GAINS = `WITH ${NEW_SURVEYS_STEP},
last_days AS (
  SELECT f.progress_day AS last_day, count(*) FILTER (v.status NOT IN ${CLOSED}) AS active_surveys
  FROM main.freshness f
  JOIN main.surveys v ON v.account = f.account AND v.id = f.survey_id
  WHERE f.progress_day IS NOT NULL
  GROUP BY f.progress_day
  QUALIFY f.progress_day >= max(f.progress_day) OVER () - 1
  ORDER BY active_surveys DESC, last_day DESC
  LIMIT 1
),
readings AS (
  SELECT account, survey_id, observed_at, day, day_before, interviews_count, false AS is_reconstructed
  FROM main.survey_progress_history
  UNION ALL
  SELECT account, survey_id, as_of, day, NULL, interviews_count, true
  FROM main.survey_progress_reconstructed
),
known_days AS (
  SELECT account, day, is_reconstructed FROM readings
  UNION
  SELECT account, day_before, false FROM readings WHERE day_before IS NOT NULL
  UNION
  SELECT account, progress_day, false FROM main.freshness WHERE progress_day IS NOT NULL
),
-- Reconstructed days count only before the first reading.
starts AS (
  SELECT
    account, last_day,
    max(day) FILTER (day <= last_day) AS known_to,
    coalesce(max(day) FILTER (day < last_day AND NOT is_reconstructed), max(day) FILTER (day < last_day)) AS day_before,
    coalesce(
      max(day) FILTER (day <= last_day - ${WEEK_DAYS} AND NOT is_reconstructed),
      max(day) FILTER (day <= last_day - ${WEEK_DAYS}),
      min(day) FILTER (day < last_day)
    ) AS week_before
  FROM known_days, last_days
  GROUP BY account, last_day
),
known AS (
  SELECT
    r.account, r.survey_id, s.last_day, s.known_to, s.day_before, s.week_before,
    v.status IN ${CLOSED} AS is_closed,
    ${knownOn('s.last_day')} AS now,
    ${knownOn('s.day_before')} AS before,
    ${knownOn('s.week_before')} AS week_ago,
    greatest(max(r.interviews_count) FILTER (r.day > s.week_before), week_ago) AS most
  FROM readings r
  JOIN starts s ON s.account = r.account
  JOIN main.surveys v ON v.account = r.account AND v.id = r.survey_id
  LEFT JOIN (SELECT *, 0 AS gained_before FROM new_surveys) n ON n.account = r.account AND n.survey_id = r.survey_id
  WHERE r.day <= s.last_day AND v._missing_since IS NULL AND v.status NOT IN ('draft', 'user_demo')
  GROUP BY ALL
),
-- What quality checks take back after the end is no loss of these days.
gains AS (
  SELECT
    CASE WHEN known_to > day_before THEN last_day - day_before END AS newest_gain_days,
    CASE WHEN known_to > week_before THEN last_day - week_before END AS week_gain_days,
    CASE WHEN is_closed THEN greatest(now, before) ELSE now END - CAST(before AS HUGEINT) AS newest_gain,
    CASE WHEN is_closed THEN most ELSE now END - CAST(week_ago AS HUGEINT) AS week_gain
  FROM known
)
SELECT
  sum(newest_gain) FILTER (newest_gain_days IS NOT NULL) AS newest_gain, max(newest_gain_days) AS newest_gain_days,
  sum(week_gain) FILTER (week_gain_days IS NOT NULL) AS week_gain, max(week_gain_days) AS week_gain_days
FROM gains`
