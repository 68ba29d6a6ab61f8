/** Interviews by status in long form, for charts. The view includes statuses without columns of their own. */
import { bigint, columnsOf, double, varchar } from '../../model/columns.js'
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import { sampleSourceProgress } from '../../model/tables.js'
import { literal, quote } from '../connection/ddl.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

/**
 * One row per documented status with a count, then one row per status that is only in `_extra`. Readers with DuckDB before 1.3 lack
 * `json_each`. Keys and `.*` are in the order of the object. A computed text has no collation, unlike a text of a table.
 */
const countSteps = (name: 'survey' | 'source', table: string, sampleSourceId: string): string => {
  const known = INTERVIEW_STATUSES.map(
    (status) =>
      `(${literal(status)}, p.${quote(`${status}_individuals`)}, p.${quote(`${status}_percentage`)})`,
  )
  return `${name}_counts AS (
  SELECT
    p.account, p.survey_id, ${sampleSourceId} AS sample_source_id,
    u.status COLLATE C AS status, u.individuals, u.percentage, p._observed_at
  FROM main.${table} p, LATERAL (VALUES
    ${known.join(',\n    ')}
  ) u(status, individuals, percentage)
  WHERE p._missing_since IS NULL AND (u.individuals IS NOT NULL OR u.percentage IS NOT NULL)
),
further_${name}_statuses AS (
  SELECT
    p.account, p.survey_id, ${sampleSourceId} AS sample_source_id, p._observed_at,
    unnest(json_keys(p._extra, '$.interview_count_by_status')) AS status,
    unnest(json_extract(p._extra, '$.interview_count_by_status.*')) AS counts
  FROM main.${table} p
  WHERE p._missing_since IS NULL
),
further_${name}_counts AS (
  SELECT
    account, survey_id, sample_source_id,
    status COLLATE C AS status,
    TRY_CAST(counts->>'$.individuals' AS BIGINT) AS individuals,
    TRY_CAST(counts->>'$.percentage' AS DOUBLE) AS percentage,
    _observed_at
  FROM further_${name}_statuses
  WHERE status COLLATE C NOT IN (${INTERVIEW_STATUSES.map(literal).join(', ')})
)`
}

export const interviewStatusCounts: ViewDeclaration = {
  schema: 'main',
  name: 'interview_status_counts',
  comment:
    'Interviews by status in long form, of whole surveys and of sources, including statuses that this version does not know',
  key: ['account', 'survey_id', 'sample_source_id', 'status'],
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id']),
    columnOf(sampleSourceProgress, 'sample_source_id', {
      nullable: true,
      comment: 'ID of the sample source; null = the whole survey',
    }),
    ...columnsOf({
      status: { ...varchar('Interview status, as the API names it'), values: INTERVIEW_STATUSES },
      individuals: bigint.orNull('Number of interviews with this status'),
      percentage: double.orNull('Percentage of interviews with this status, as the API gives it'),
    }),
    columnOf(sampleSourceProgress, '_observed_at'),
  ],
  sql: `WITH ${countSteps('survey', 'survey_progress', 'CAST(NULL AS BIGINT)')},
${countSteps('source', 'sample_source_progress', 'p.sample_source_id')}
FROM survey_counts
UNION ALL
FROM further_survey_counts
UNION ALL
FROM source_counts
UNION ALL
FROM further_source_counts`,
}
