/**
 * What came in, held against what was sold and planned (docs/how-to/plan.md): steps for views of surveys and sources, after the steps of
 * the plan.
 */
import { type Column, columnsOf, date, double, varchar } from '../../model/columns.js'
import { plan, surveyProgress } from '../../model/tables.js'
import { NEW_SURVEYS_STEP } from './progress-daily.js'
import { columnOf } from './view-declaration.js'

/** The first days in fieldwork, whose incidence is the one at launch: by then, a wrong screener shows. */
const LAUNCH_DAYS = 3

/** With one digit. `round(seconds / 60, 1)` of 1419 seconds is 23.7 in DuckDB 1.1 and 23.6 in 2.0. */
export const minutesOf = (seconds: string): string => `round(${seconds} / 6) / 10`

const soldColumns = (of: string): readonly Column[] => [
  columnOf(plan, 'incidence', {
    name: 'sold_incidence',
    comment: `Incidence that was sold for the ${of}, by plan`,
  }),
  columnOf(plan, 'loi_minutes', {
    name: 'sold_loi_minutes',
    comment: `Length of interview that was sold for the ${of}, minutes, by plan`,
  }),
]

export const SURVEY_SOLD_COLUMNS: readonly Column[] = [
  ...soldColumns('survey'),
  columnOf(surveyProgress, 'length_of_interview'),
  ...columnsOf({
    launch_incidence_rate: double.orNull(
      `target_incidence_rate at the last reading of the first ${LAUNCH_DAYS} days from opened_on; null before they have passed, or if nothing changed in them`,
    ),
    opened_on: date.orNull(
      'First day in fieldwork; starts_on if that day is not known, because the survey was first read later, or has not opened yet; else null',
    ),
    expected_by_today: double.orNull(
      'Complete interviews at the end of the last known day on a straight line from opened_on to the target on due_on; null without these',
    ),
    cost: double.orNull(
      'What the complete interviews of its sources cost, in currency: the sum of interviews_count * cpi, also of sources that went missing; null without a cpi, if that of a source with complete interviews or a number of these is unknown, or in different currencies',
    ),
    cost_at_target: double.orNull(
      'What sample_size complete interviews cost, at the mean cost of those so far; null without cost, complete interviews of sources, or target',
    ),
    currency: varchar.orNull(
      'Currency of cost, ISO 4217: that of the sources with complete interviews, before the first one that of all; null if no source has a cpi, or these currencies differ',
    ),
  }),
]

export const SOURCE_SOLD_COLUMNS: readonly Column[] = [
  columnOf(plan, 'supplier', { comment: 'Supplier of the source, by plan' }),
  ...soldColumns('source'),
  columnOf(plan, 'cpi', { comment: 'Cost of a complete interview of the source, in currency, by plan' }),
  columnOf(plan, 'currency'),
  ...columnsOf({
    cost: double.orNull(
      'interviews_count * cpi; 0 without complete interviews; null if the number of interviews or the cpi is unknown',
    ),
  }),
]

/**
 * After `SOURCE_PLANS_STEPS`. `source_costs` has a row for each source that the API shows, and for each missing one with complete interviews:
 * those are paid. Rounding removes the noise of binary fractions.
 */
export const sourceCostsStep = (ofSurveys = '') => `source_costs AS (
  SELECT
    a.account, a.survey_id, a.id AS sample_source_id,
    p.supplier, p.incidence AS sold_incidence, p.loi_minutes AS sold_loi_minutes, p.cpi, p.currency,
    g.interviews_count,
    CASE WHEN g.interviews_count = 0 THEN 0 ELSE round(g.interviews_count * p.cpi, 6) END AS cost
  FROM (
    FROM main.sample_sources${ofSurveys.replaceAll('\n', '\n    ')}
  ) a
  LEFT JOIN main.sample_source_progress g
    ON g.account = a.account AND g.survey_id = a.survey_id AND g.sample_source_id = a.id
  LEFT JOIN source_plans p
    ON p.account = a.account AND p.survey_id = a.survey_id AND p.sample_source_id = a.id
  WHERE a._missing_since IS NULL OR g.interviews_count > 0
)`

/** After `SURVEY_PLANS_STEP`, `SOURCE_PLANS_STEPS` and `statuses`. `survey_sales` has a row for each survey. */
export const surveySalesSteps = (ofSurveys: string) => `${sourceCostsStep(ofSurveys)},
cost_sums AS (
  SELECT
    account, survey_id,
    sum(interviews_count) AS interviews,
    count(DISTINCT currency) = 1 AS all_have_one,
    -- Those with complete interviews.
    count(DISTINCT currency) FILTER (interviews_count > 0) = 1 AS paid_have_one,
    count(cpi) > 0 AND count(cost) = count(*) AND (all_have_one OR paid_have_one) AS is_known,
    round(sum(cost ORDER BY sample_source_id ASC), 6) AS cost,
    CASE
      WHEN all_have_one THEN any_value(currency)
      WHEN paid_have_one THEN any_value(currency) FILTER (interviews_count > 0)
    END AS currency
  FROM source_costs
  GROUP BY ALL
),
${NEW_SURVEYS_STEP},
first_versions AS (
  SELECT account, id AS survey_id, min_by(status, valid_from) AS status
  FROM main.surveys_history
  GROUP BY ALL
),
first_days_in_field AS (
  SELECT account, survey_id, min("day") AS "day"
  FROM statuses
  WHERE opened
  GROUP BY ALL
),
openings AS (
  SELECT
    p.account, p.survey_id,
    -- A survey that was first read in fieldwork had opened before, unless it is new. A paused one had been in fieldwork.
    v.status IN ('draft', 'user_demo', 'pending') OR (v.status = 'fieldwork' AND n.survey_id IS NOT NULL) AS is_seen,
    CASE WHEN is_seen THEN coalesce(d."day", p.starts_on) WHEN p.starts_on IS NOT NULL THEN least(p.starts_on, d."day") END AS opened_on
  FROM survey_plans p
  LEFT JOIN first_versions v ON v.account = p.account AND v.survey_id = p.survey_id
  LEFT JOIN new_surveys n ON n.account = p.account AND n.survey_id = p.survey_id
  LEFT JOIN first_days_in_field d ON d.account = p.account AND d.survey_id = p.survey_id
),
launches AS (
  SELECT o.account, o.survey_id, max_by(h.target_incidence_rate, h.observed_at) AS launch_incidence_rate
  FROM openings o
  JOIN main.survey_progress_history h
    ON h.account = o.account AND h.survey_id = o.survey_id AND h."day" < o.opened_on + ${LAUNCH_DAYS} AND h."day" >= o.opened_on
  GROUP BY ALL
),
survey_sales AS (
  SELECT
    p.account, p.survey_id,
    p.incidence AS sold_incidence, p.loi_minutes AS sold_loi_minutes,
    l.launch_incidence_rate,
    o.opened_on,
    CASE WHEN c.is_known THEN c.cost END AS cost,
    CASE WHEN c.is_known AND c.interviews > 0 THEN c.cost / c.interviews END AS mean_cost,
    c.currency
  FROM survey_plans p
  LEFT JOIN openings o ON o.account = p.account AND o.survey_id = p.survey_id
  LEFT JOIN launches l ON l.account = p.account AND l.survey_id = p.survey_id
  LEFT JOIN cost_sums c ON c.account = p.account AND c.survey_id = p.survey_id
)`

/** Goes on from `judged` with `length_of_interview`. `held_against_plan` has the columns of `SURVEY_SOLD_COLUMNS`. */
export const HELD_AGAINST_PLAN_STEP = `held_against_plan AS (
  SELECT
    j.*,
    s.sold_incidence, s.sold_loi_minutes, s.opened_on, s.cost, s.currency,
    CASE WHEN j.as_of >= s.opened_on + ${LAUNCH_DAYS - 1} THEN s.launch_incidence_rate END AS launch_incidence_rate,
    CASE
      WHEN j.target > 0 AND j.due_on >= s.opened_on THEN
        CAST(j.target AS DOUBLE)
          * least(greatest(0, 1 + j.as_of - s.opened_on), 1 + j.due_on - s.opened_on) / (1 + j.due_on - s.opened_on)
    END AS expected_by_today,
    CASE WHEN j.target > 0 THEN round(s.mean_cost * j.target, 6) END AS cost_at_target
  FROM judged j
  LEFT JOIN survey_sales s ON s.account = j.account AND s.survey_id = j.survey_id
)`
