/** Interviews by status in long form, for charts: also of statuses that have no columns of their own. */
import { INTERVIEW_STATUSES } from '../../model/fields.js'
import { sampleSourceProgress } from '../../model/tables.js'
import { literal, quote } from '../ddl.js'
import { columnOf, type ViewDeclaration } from '../view-declaration.js'

/** One row a status of the document that has a count, then one a status that only `_extra` knows. */
const longForm = (table: string, sampleSourceId: string): string => {
  const known = INTERVIEW_STATUSES.map(
    (status) =>
      `(${literal(status)}, p.${quote(`${status}_individuals`)}, p.${quote(`${status}_percentage`)})`,
  )
  return `SELECT p.account, p.survey_id, ${sampleSourceId} AS sample_source_id, u.status, u.individuals, u.percentage, p._observed_at
    FROM main.${table} p, LATERAL (VALUES ${known.join(', ')}) u(status, individuals, percentage)
    WHERE p._missing_since IS NULL AND (u.individuals IS NOT NULL OR u.percentage IS NOT NULL)
    UNION ALL
    SELECT p.account, p.survey_id, ${sampleSourceId}, k.key,
      TRY_CAST(k.value->>'$.individuals' AS BIGINT), TRY_CAST(k.value->>'$.percentage' AS DOUBLE), p._observed_at
    FROM main.${table} p, json_each(p._extra, '$.interview_count_by_status') k
    WHERE p._missing_since IS NULL AND k.key NOT IN (${INTERVIEW_STATUSES.map(literal).join(', ')})`
}

export const interviewStatusCounts: ViewDeclaration = {
  schema: 'main',
  name: 'interview_status_counts',
  comment:
    'Interviews by status in long form, whole surveys and sources, statuses unknown to this version included',
  key: ['account', 'survey_id', 'sample_source_id', 'status'],
  columns: [
    columnOf(sampleSourceProgress, 'account'),
    columnOf(sampleSourceProgress, 'survey_id'),
    columnOf(sampleSourceProgress, 'sample_source_id', {
      nullable: true,
      comment: 'ID of the sample source; null = the whole survey',
    }),
    {
      name: 'status',
      type: 'VARCHAR',
      nullable: false,
      comment: 'Interview status, as the API names it',
      values: INTERVIEW_STATUSES,
    },
    {
      name: 'individuals',
      type: 'BIGINT',
      nullable: true,
      comment: 'Number of interviews with this status',
    },
    {
      name: 'percentage',
      type: 'DOUBLE',
      nullable: true,
      comment: 'Percentage of interviews with this status, as the API gives it',
    },
    columnOf(sampleSourceProgress, '_observed_at'),
  ],
  sql: `${longForm('survey_progress', 'CAST(NULL AS BIGINT)')} UNION ALL ${longForm('sample_source_progress', 'p.sample_source_id')}`,
}
