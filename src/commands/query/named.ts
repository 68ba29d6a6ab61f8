/**
 * The queries that `query NAME` runs. docs/reference/queries.md shows them and says what each means. They run on any DuckDB from 1.1 on,
 * and do not depend on settings of a session (docs/decisions/export-and-sql.md#0077-sql-for-readers-leaves-nothing-to-session-settings).
 */
import { CLOSED } from '../../warehouse/views/statuses.js'

export interface NamedQuery {
  readonly name: string
  /** Its heading on the page. */
  readonly title: string
  /** Its line in `query --list`. */
  readonly describe: string
  /** `$days` is a number of days; 1 without `--days`. */
  readonly sql: string
  /** Columns that a table leaves out, the first of them first, until it fits the terminal. */
  readonly dispensable?: readonly string[]
  /** A sentence below the table. */
  readonly note?: string
}

const RATES_ARE_OF =
  'The rates are of all interviews since a source began, in surveys of every status, up to the last reading.'

export const NAMED_QUERIES: readonly NamedQuery[] = [
  {
    name: 'needs-action',
    title: 'What needs action',
    describe: 'What needs action, the most urgent first',
    sql: `SELECT account, survey_id, title, text
FROM needs_action
ORDER BY urgency ASC, due_on ASC NULLS LAST, account ASC, survey_id ASC, kind ASC`,
  },
  {
    name: 'surveys-today',
    title: 'The surveys today',
    describe: 'Each survey with target and forecast; closed ones last',
    sql: `SELECT account, survey_id, title, status, interviews_count AS interviews, sample_size AS target, expected_on
FROM surveys_today
ORDER BY (status IN ${CLOSED}) ASC, account ASC, survey_id ASC`,
  },
  {
    name: 'pace-by-day',
    title: 'Fieldwork pace by day',
    describe: 'Complete interviews that each survey gained, by day',
    sql: `SELECT account, survey_id, title, day, interviews_count AS interviews, gained, gained_days
FROM progress_daily
ORDER BY account ASC, survey_id ASC, day ASC`,
    dispensable: ['gained_days'],
  },
  {
    name: 'source-pace-by-day',
    title: 'Fieldwork pace by source and day',
    describe: 'Complete interviews that each source gained, by day',
    sql: `SELECT account, survey_id, sample_source_id AS source_id, name, country_code AS country, day, interviews_count AS interviews, gained, gained_days
FROM source_progress_daily
ORDER BY account ASC, survey_id ASC, source_id ASC, day ASC`,
    dispensable: ['country', 'gained_days'],
  },
  {
    name: 'gains-by-country',
    title: 'Gains by country and day',
    describe: 'Complete interviews gained in each country, by day',
    sql: `WITH of_countries AS MATERIALIZED (
  SELECT account, survey_id, title, day, country_code AS country, CAST(sum(gained) AS BIGINT) AS gained
  FROM source_progress_daily
  GROUP BY ALL
)
SELECT account, survey_id, title, day, country, gained
FROM (
  FROM of_countries
  UNION ALL
  SELECT d.account, d.survey_id, d.title, d.day, NULL, CAST(d.gained - coalesce(s.gained, 0) AS BIGINT)
  FROM progress_daily d
  LEFT JOIN (SELECT account, survey_id, day, sum(gained) AS gained FROM of_countries GROUP BY ALL) s
    ON s.account = d.account AND s.survey_id = d.survey_id AND s.day = d.day
  WHERE d.gained <> coalesce(s.gained, 0)
)
ORDER BY account ASC, survey_id ASC, day ASC, country ASC NULLS LAST`,
  },
  {
    name: 'sources-behind',
    title: 'Sources behind target',
    describe: 'Sources that are less complete than their survey',
    sql: `SELECT p.account, p.survey_id, s.title, p.sample_source_id AS source_id, p.name, p.country_code AS country,
  p.interviews_count AS interviews, p.sample_size AS target, p.behind, round(p.per_day, 1) AS per_day, p.expected_on
FROM active_source_pace p
JOIN surveys s ON s.account = p.account AND s.id = p.survey_id
WHERE s.status IN ('fieldwork', 'deviating_from_specs') AND p.behind > 0
ORDER BY p.behind DESC, p.account ASC, p.survey_id ASC, source_id ASC`,
    dispensable: ['source_id', 'per_day', 'expected_on', 'country'],
  },
  {
    name: 'forecast',
    title: 'Forecast of completion',
    describe: 'When each survey in the field reaches its target',
    sql: `SELECT account, survey_id, title, interviews_count AS interviews, sample_size AS target, pace_days, round(per_day, 1) AS per_day,
  expected_on AS expected, expected_from AS earliest, expected_to AS latest,
  coalesce(sample_size > 0 AND interviews_count >= sample_size, false) AS reached
FROM active_survey_pace
WHERE status = 'fieldwork'
ORDER BY expected ASC NULLS LAST, account ASC, survey_id ASC`,
    dispensable: ['pace_days', 'per_day', 'target', 'interviews'],
  },
  {
    name: 'forecast-accuracy',
    title: 'Forecasts of two weeks before',
    describe: 'Forecasts made two weeks before the target was reached',
    sql: `SELECT account, survey_id, title, day AS made_of, expected_on AS expected, reached_on AS reached, days_late, is_inside AS inside
FROM forecast_accuracy
WHERE days_before = 14
ORDER BY reached DESC, account ASC, survey_id ASC`,
    dispensable: ['made_of', 'inside'],
  },
  {
    name: 'rates-moved',
    title: 'Incidence and drop-out against the past',
    describe: 'Incidence and drop-out of the last days, and before',
    sql: `SELECT account, survey_id, title, gained, recent_incidence_rate AS incidence, earlier_incidence_rate AS incidence_before,
  recent_drop_out_rate AS drop_out, earlier_drop_out_rate AS drop_out_before
FROM active_survey_pace
WHERE status = 'fieldwork' AND (recent_incidence_rate IS NOT NULL OR recent_drop_out_rate IS NOT NULL)
ORDER BY recent_drop_out_rate - earlier_drop_out_rate DESC NULLS LAST, account ASC, survey_id ASC`,
    dispensable: ['gained', 'survey_id'],
  },
  {
    name: 'as-sold',
    title: 'As sold',
    describe: 'Incidence, length, completes and cost, as sold and now',
    sql: `SELECT account, survey_id, title, sold_incidence AS sold, target_incidence_rate AS incidence, recent_incidence_rate AS recent,
  sold_loi_minutes AS sold_minutes, round(length_of_interview / 6) / 10 AS minutes,
  round(expected_by_today, 1) AS expected, interviews_count AS interviews,
  round(cost, 2) AS cost, round(cost_at_target, 2) AS at_target, currency
FROM survey_pace
WHERE sold_incidence IS NOT NULL OR sold_loi_minutes IS NOT NULL OR expected_by_today IS NOT NULL OR currency IS NOT NULL
ORDER BY target_incidence_rate / sold_incidence ASC NULLS LAST, account ASC, survey_id ASC`,
    // An amount never stands without its currency.
    dispensable: ['survey_id', 'at_target', 'recent', 'expected', 'interviews', 'cost', 'currency'],
  },
  {
    name: 'changes',
    title: 'Changes of the last day',
    describe: 'What changed in surveys and sources, each field',
    sql: `SELECT c.account, c.observed_at, c.survey_id, s.title, c.sample_source_id AS source_id, coalesce(c.field, c.kind) AS change,
  c.from_value, c.to_value
FROM record_changes c
JOIN surveys s ON s.account = c.account AND s.id = c.survey_id
JOIN (SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at FROM freshness GROUP BY account) n
  ON n.account = c.account
WHERE epoch_us(c.observed_at) > epoch_us(n.newest_at) - $days * 24 * 3600000000
ORDER BY c.observed_at DESC, c.account ASC, c.survey_id ASC, source_id ASC NULLS FIRST, c.kind ASC, c.field ASC`,
    dispensable: ['observed_at', 'survey_id'],
  },
  {
    name: 'status-changes',
    title: 'Status changes',
    describe: 'Changes of status, the newest first',
    sql: `SELECT account, observed_at, survey_id, title, from_status, to_status
FROM survey_status_changes
WHERE from_status IS NOT NULL
ORDER BY observed_at DESC, account ASC, survey_id ASC`,
    dispensable: ['survey_id'],
  },
  {
    name: 'interviews-by-source',
    title: 'Interviews by source and country',
    describe: 'Interviews, target and pace of each source',
    sql: `SELECT account, survey_id, title, sample_source_id AS source_id, name, provider, country_code AS country,
  interviews_count AS interviews, sample_size AS target, round(per_day, 1) AS per_day
FROM source_overview
ORDER BY account ASC, survey_id ASC, country ASC, source_id ASC`,
    dispensable: ['provider', 'source_id', 'per_day'],
  },
  {
    name: 'rates-by-source',
    title: 'Incidence and drop-out by source',
    describe: 'Incidence and drop-out of each source',
    sql: `SELECT s.account, s.survey_id, s.id AS source_id, s.name, s.provider, s.country_code AS country,
  CAST(sum(c.individuals) AS BIGINT) AS interviews, p.target_incidence_rate AS incidence,
  p.questionnaire_incidence_rate AS questionnaire_incidence, p.drop_out_rate AS drop_out
FROM sample_sources s
JOIN sample_source_progress p
  ON p.account = s.account AND p.survey_id = s.survey_id AND p.sample_source_id = s.id
LEFT JOIN interview_status_counts c
  ON c.account = s.account AND c.survey_id = s.survey_id AND c.sample_source_id = s.id
WHERE s._missing_since IS NULL
GROUP BY ALL
ORDER BY s.account ASC, s.survey_id ASC, drop_out DESC NULLS LAST, source_id ASC`,
    dispensable: ['questionnaire_incidence', 'provider', 'source_id'],
    note: RATES_ARE_OF,
  },
  {
    name: 'rates-by-provider',
    title: 'Incidence and drop-out by provider',
    describe: 'Incidence and drop-out by provider and country',
    sql: `SELECT s.account, s.provider, s.country_code AS country, count(DISTINCT s.survey_id) AS surveys, count(*) AS sources,
  CAST(sum(p.complete_individuals) AS BIGINT) AS complete,
  CAST(sum(p.complete_individuals) FILTER (p.screen_out_individuals IS NOT NULL) AS DOUBLE)
    / nullif(sum(p.complete_individuals + p.screen_out_individuals), 0) AS incidence,
  CAST(sum(p.incomplete_individuals) AS DOUBLE)
    / nullif(sum(c.interviews) FILTER (p.incomplete_individuals IS NOT NULL), 0) AS drop_out
FROM sample_sources s
JOIN sample_source_progress p
  ON p.account = s.account AND p.survey_id = s.survey_id AND p.sample_source_id = s.id
LEFT JOIN (
  SELECT account, survey_id, sample_source_id, sum(individuals) AS interviews
  FROM interview_status_counts WHERE sample_source_id IS NOT NULL GROUP BY ALL
) c ON c.account = s.account AND c.survey_id = s.survey_id AND c.sample_source_id = s.id
WHERE s._missing_since IS NULL
GROUP BY ALL
ORDER BY s.account ASC, s.provider ASC, country ASC`,
    note: RATES_ARE_OF,
  },
  {
    name: 'source-quality',
    title: 'Quality of the sources',
    describe: 'Rejects, full quotas and length of each source',
    sql: `SELECT account, survey_id, title, sample_source_id AS source_id, name, complete_individuals AS complete,
  round(100 * rejected_rate, 1) AS rejected_pct, undecided, round(100 * quota_full_rate, 1) AS quota_full_pct,
  loi_minutes AS minutes, round(cost_per_good, 2) AS cost_per_good, currency, supplier
FROM source_overview
WHERE status IN ('fieldwork', 'deviating_from_specs')
ORDER BY rejected_pct DESC NULLS LAST, account ASC, survey_id ASC, source_id ASC`,
    dispensable: ['survey_id', 'source_id', 'complete', 'cost_per_good', 'currency', 'supplier', 'undecided'],
    note: 'rejected_pct is of the complete and the rejected interviews, quota_full_pct of all interviews. cost_per_good counts the rejected ones as paid.',
  },
  {
    name: 'status-timeline',
    title: 'Status timeline',
    describe: 'Each status of a survey, with its start and end',
    sql: `SELECT c.account, c.survey_id, s.title, c.to_status AS status, c.observed_at AS since,
  lead(c.observed_at) OVER (PARTITION BY c.account, c.survey_id ORDER BY c.observed_at ASC) AS until,
  s._missing_since AS missing_since
FROM survey_status_changes c
JOIN surveys s ON s.account = c.account AND s.id = c.survey_id
ORDER BY c.account ASC, c.survey_id ASC, since ASC`,
    dispensable: ['missing_since', 'title'],
  },
  {
    name: 'stale',
    title: 'Surveys gone stale',
    describe: 'Active surveys whose numbers are old, and why',
    sql: `SELECT o.account, o.id AS survey_id, o.title, o.status, o.refreshed_at,
  make_timestamp(epoch_us(n.newest_at)) - make_timestamp(epoch_us(o.refreshed_at)) AS behind, o.last_error
FROM survey_overview o
JOIN (SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at FROM freshness GROUP BY account) n
  ON n.account = o.account
WHERE o.status NOT IN ('draft', 'user_demo', 'complete') AND o._missing_since IS NULL
  AND o.excluded_by IS NULL AND (o.refreshed_at IS NULL OR epoch_us(o.refreshed_at) < epoch_us(n.newest_at) - 24 * 3600000000 OR o.last_error IS NOT NULL)
ORDER BY o.refreshed_at ASC NULLS FIRST, o.account ASC, survey_id ASC`,
    dispensable: ['behind', 'status'],
  },
  {
    name: 'stands-still',
    title: 'In the field, but nothing moves',
    describe: 'Surveys in the field without a change for 3 days',
    sql: `SELECT o.account, o.id AS survey_id, o.title, o.interviews_count AS interviews, o.sample_size AS target,
  p.observed_at AS unchanged_since,
  make_timestamp(epoch_us(p.confirmed_until)) - make_timestamp(epoch_us(p.observed_at)) AS unchanged_for
FROM survey_overview o
JOIN survey_progress_periods p ON p.account = o.account AND p.survey_id = o.id AND p.ended_at IS NULL
WHERE o.status = 'fieldwork' AND o._missing_since IS NULL
  AND epoch_us(p.confirmed_until) >= epoch_us(p.observed_at) + 72 * 3600000000
ORDER BY unchanged_for DESC, o.account ASC, survey_id ASC`,
    dispensable: ['unchanged_since'],
  },
  {
    name: 'interviews-by-start-day',
    title: 'Interviews by start day',
    describe: 'What happened to the interviews that started on a day',
    sql: `SELECT d.account, d.survey_id, s.title, d.day, d.interviews_count AS interviews, d.drop_out_rate AS drop_out,
  d.length_of_interview AS length, d.is_final, d._observed_at AS observed_at
FROM survey_progress_by_day d
JOIN surveys s ON s.account = d.account AND s.id = d.survey_id
WHERE d.sample_source_id IS NULL AND d._missing_since IS NULL
ORDER BY d.account ASC, d.survey_id ASC, d.day ASC`,
    dispensable: ['observed_at', 'length'],
  },
  {
    name: 'last-runs',
    title: 'The last runs',
    describe: 'The last complete run, and how the last one ended',
    sql: `SELECT account, max_by(ended_at, run_number) FILTER (WHERE status = 'complete') AS last_complete_at,
  max_by(status, run_number) AS last_status, last(reason ORDER BY run_number ASC NULLS FIRST) AS last_reason,
  last(left_over ORDER BY run_number ASC NULLS FIRST) AS left_over
FROM _sync.runs
GROUP BY account ORDER BY account ASC`,
  },
]

/** The statement to copy. */
export const sqlToCopy = ({ sql }: NamedQuery): string => sql.replaceAll('$days', '1')
