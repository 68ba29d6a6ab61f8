/**
 * What was planned for each survey and each source: steps for views. The most specific line that has a value decides, value by value: a
 * line with the ID of a source, then one with a pattern of its name, then one about its survey, then one about its project
 * (docs/how-to/plan.md#which-line-decides).
 */

/** `survey_plans` has a row for each survey. */
export const SURVEY_PLANS_STEP = `survey_plans AS (
  SELECT
    s.account, s.id AS survey_id,
    coalesce(d.due_on, e.due_on) AS due_on,
    CASE WHEN d.due_on IS NOT NULL THEN d.note WHEN e.due_on IS NOT NULL THEN e.note END AS due_note,
    coalesce(d.starts_on, e.starts_on) AS starts_on,
    coalesce(d.incidence, e.incidence) AS incidence,
    coalesce(d.loi_minutes, e.loi_minutes) AS loi_minutes,
    coalesce(d.cpi, e.cpi) AS cpi,
    -- Null where the cpi is null, so it comes from the same line.
    coalesce(d.currency, e.currency) AS currency,
    coalesce(d.owner, e.owner) AS owner,
    coalesce(d.quiet_until, e.quiet_until) AS quiet_until
  FROM main.surveys s
  LEFT JOIN main.plan d
    ON d.account = s.account AND d.survey_id = s.id AND d.sample_source_id IS NULL AND d.source IS NULL
  LEFT JOIN main.plan e
    ON e.account = s.account AND e.project_id = s.project_id AND e.source IS NULL
)`

/** The name of a source has `*` for any text, and every other character stands for itself. */
const PATTERN = [
  ['\\', '\\\\'],
  ['%', '\\%'],
  ['_', '\\_'],
  ['*', '%'],
].reduce((text, [one, other]) => `replace(${text}, '${one}', '${other}')`, 'p.source')
const HAS_NAME = `s.name LIKE ${PATTERN} ESCAPE '\\'`

/** What a line names, the most specific first. A join for each, so that each has a key. */
const JOINS = [
  'p.sample_source_id = s.sample_source_id AND p.survey_id = s.survey_id',
  'p.sample_source_id = s.sample_source_id AND p.survey_id IS NULL',
  `p.survey_id = s.survey_id AND ${HAS_NAME}`,
  `p.project_id = s.project_id AND ${HAS_NAME}`,
  `p.survey_id IS NULL AND p.project_id IS NULL AND ${HAS_NAME}`,
]

/** `source_lines` has a row for each source and each of the `lines` that names it. */
export const sourceLinesSteps = (lines: string): string => `named_sources AS (
  SELECT a.account, a.survey_id, a.id AS sample_source_id, a.name, s.project_id
  FROM main.sample_sources a
  LEFT JOIN main.surveys s ON s.account = a.account AND s.id = a.survey_id
),
source_lines AS (
  ${JOINS.map(
    (join, rank) => `SELECT
    s.account, s.survey_id, s.sample_source_id, ${rank} AS rank,
    p.source, p.incidence, p.loi_minutes, p.cpi, p.currency, p.supplier, p.line
  FROM named_sources s
  JOIN ${lines} p ON p.account = s.account AND ${join}`,
  ).join('\n  UNION ALL\n  ')}
)`

/** After `SURVEY_PLANS_STEP`. `source_plans` has a row for each source. */
export const SOURCE_PLANS_STEPS = `${sourceLinesSteps('main.plan')},
-- Of two patterns, the one with more text is more specific.
ranked_source_lines AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY account, survey_id, sample_source_id
      ORDER BY rank ASC, length(replace(source, '*', '')) DESC NULLS LAST, line ASC
    ) AS place
  FROM source_lines
),
-- arg_min passes over nulls.
source_values AS (
  SELECT
    account, survey_id, sample_source_id,
    arg_min(incidence, place) AS incidence,
    arg_min(loi_minutes, place) AS loi_minutes,
    arg_min(cpi, place) AS cpi,
    arg_min(currency, place) AS currency,
    arg_min(supplier, place) AS supplier
  FROM ranked_source_lines
  GROUP BY ALL
),
source_plans AS (
  SELECT
    n.account, n.survey_id, n.sample_source_id,
    coalesce(v.incidence, p.incidence) AS incidence,
    coalesce(v.loi_minutes, p.loi_minutes) AS loi_minutes,
    coalesce(v.cpi, p.cpi) AS cpi,
    coalesce(v.currency, p.currency) AS currency,
    v.supplier
  FROM named_sources n
  LEFT JOIN source_values v
    ON v.account = n.account AND v.survey_id = n.survey_id AND v.sample_source_id = n.sample_source_id
  LEFT JOIN survey_plans p ON p.account = n.account AND p.survey_id = n.survey_id
)`
