/**
 * When the sources of a survey, each stopped at its own target, reach the target of the survey (docs/explanation/forecast.md#quotas).
 *
 * Sources are in the order in which they are full. While those before a source are full and the others go on, the sum grows by the pace
 * of the others. The target is reached in the first of these times in which it is reached before this source is full, too.
 */
import { FORECAST_PACE_DAYS_MIN } from './forecast.js'
import { READ_DAYS } from './pace.js'
import { IN_FIELD } from './statuses.js'

/** Rounding errors of a division must not move the target behind the last source. */
const DAYS_TOLERANCE = 1e-9

/**
 * Steps that go on from `goals`, and from `source_paces`, the pace of the sources of surveys in the field. They end with `quotas`:
 * `quota_days` after the last known day, null if the sources never reach the target, and the source that is full last. There is no row if no
 * source has a target, or the pace of a source is not known, or covers fewer days than a forecast needs; nor if the targets of the sources
 * are less than that of the survey, unless a source of the survey is gone. The pace of the survey holds what a source that is gone gained in
 * its last days. So the pace of interviews of no source is known only `READ_DAYS` later.
 *
 * Paces are doubles, so each sum of them has an order of its own. Otherwise DuckDB adds them up in the order of its rows, or in blocks of a
 * window, and the last digit differs from evaluation to evaluation.
 */
export const QUOTA_STEPS = `gone_sources AS (
  SELECT account, survey_id, CAST(make_timestamp(epoch_us(max(_missing_since))) AS DATE) AS gone_on
  FROM main.sample_sources
  WHERE _missing_since IS NOT NULL
  GROUP BY ALL
),
paced_sources AS (
  SELECT
    g.account, g.survey_id, g.target, g.reached AS reached_in_all, g.per_day AS per_day_in_all, g.as_of,
    p.sample_source_id, p.interviews_count AS reached,
    p.per_day IS NOT NULL AND p.pace_days >= ${FORECAST_PACE_DAYS_MIN} AS is_known,
    greatest(p.per_day, 0) AS rate,
    CASE WHEN p.sample_size > 0 THEN greatest(p.sample_size, p.interviews_count) END AS stop
  FROM goals g
  JOIN source_paces p ON p.account = g.account AND p.survey_id = g.survey_id
  WHERE g.status IN ${IN_FIELD} AND g.reached < g.target AND g.gained > 0
),
quota_surveys AS (
  SELECT
    account, survey_id, any_value(target) AS target, any_value(as_of) AS as_of,
    any_value(reached_in_all) - sum(reached) AS reached_elsewhere,
    CASE
      WHEN reached_elsewhere > 0 AND coalesce(any_value(gone_on) < any_value(as_of) - ${READ_DAYS}, true)
        THEN greatest(any_value(per_day_in_all) - sum(rate ORDER BY sample_source_id ASC), 0)
      ELSE 0
    END AS rate_elsewhere,
    count(*) > count(stop) OR rate_elsewhere > 0 OR sum(stop) + reached_elsewhere >= any_value(target) OR count(gone_on) > 0 AS is_enough
  FROM paced_sources
  LEFT JOIN gone_sources USING (account, survey_id)
  GROUP BY account, survey_id
  HAVING count(stop) > 0 AND bool_and(is_known) AND count(reached) = count(*)
),
-- Interviews of no source, which no target stops, count as a source.
stopped_sources AS (
  SELECT
    account, survey_id, sample_source_id, reached, rate, stop,
    CASE
      WHEN stop <= reached THEN 0
      WHEN stop IS NULL OR rate = 0 THEN DOUBLE 'infinity'
      ELSE (stop - reached) / rate
    END AS full_in
  FROM paced_sources
  UNION ALL
  SELECT account, survey_id, NULL, reached_elsewhere, rate_elsewhere, NULL, DOUBLE 'infinity'
  FROM quota_surveys
),
sums AS (
  SELECT
    s.*, q.target,
    coalesce(sum(s.stop) OVER before, 0) AS full_before,
    sum(s.reached) OVER from_here AS reached_from_here,
    list_sum(list(s.rate) OVER from_here) AS rate_from_here,
    row_number() OVER in_order AS place
  FROM stopped_sources s
  JOIN quota_surveys q ON q.account = s.account AND q.survey_id = s.survey_id AND q.is_enough
  WINDOW
    in_order AS (PARTITION BY s.account, s.survey_id ORDER BY s.full_in ASC, s.sample_source_id ASC NULLS LAST),
    before AS (in_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
    from_here AS (in_order ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),
reaching AS (
  SELECT *, (target - full_before - reached_from_here) / nullif(rate_from_here, 0) AS days
  FROM sums
),
quotas AS (
  SELECT
    account, survey_id,
    arg_min(days, place) FILTER (WHERE days <= full_in + ${DAYS_TOLERANCE}) AS quota_days,
    arg_max(sample_source_id, place) FILTER (WHERE stop > reached) AS slowest_source_id,
    max(full_in) FILTER (WHERE stop > reached) AS slowest_in
  FROM reaching
  GROUP BY account, survey_id
)`
