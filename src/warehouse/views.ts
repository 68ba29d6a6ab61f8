/** The views that people start from, each with a comment for itself and for its columns. SQL as text. */
import { INTERVIEW_STATUSES, PROGRESS_FIELDS } from '../model/fields.js'
import { surveys } from '../model/tables.js'
import { literal, quote } from './ddl.js'

export interface ViewDeclaration {
  readonly name: string
  readonly comment: string
  readonly columns: Readonly<Record<string, string>>
  readonly sql: string
}

export const createView = (view: ViewDeclaration): readonly string[] => [
  `CREATE OR REPLACE VIEW main.${quote(view.name)} AS ${view.sql}`,
  `COMMENT ON VIEW main.${quote(view.name)} IS ${literal(view.comment)}`,
  ...Object.entries(view.columns).map(
    ([name, comment]) => `COMMENT ON COLUMN main.${quote(view.name)}.${quote(name)} IS ${literal(comment)}`,
  ),
]

const indicatorColumns = Object.entries(PROGRESS_FIELDS).filter(([name]) => name !== '_extra')
const surveyColumns = surveys.columns.filter(({ name }) => !['_extra', '_first_seen_at'].includes(name))

const surveyOverview: ViewDeclaration = {
  name: 'survey_overview',
  comment: 'A survey a row, with its progress and as of when both are known',
  columns: {
    ...Object.fromEntries(surveyColumns.map(({ name, comment }) => [name, comment])),
    ...Object.fromEntries(indicatorColumns.map(([name, { comment }]) => [name, comment])),
    sample_sources_count: 'Number of sample sources that the API shows',
    listed_at: 'When the survey was last seen in a listing, server time',
    refreshed_at: 'When its sources and progress were last read, server time; null = never yet',
    last_error: 'Why the last attempt to read sources and progress failed; null when it did not',
  },
  sql: `SELECT ${surveyColumns.map(({ name }) => `s.${quote(name)}`).join(', ')},
      ${indicatorColumns.map(([name]) => `p.${quote(name)}`).join(', ')},
      coalesce(c.sample_sources_count, 0) AS sample_sources_count, f.listed_at, f.refreshed_at, f.last_error
    FROM main.surveys s
    LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
    LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    LEFT JOIN (SELECT account, survey_id, count(*) AS sample_sources_count FROM main.sample_sources
      WHERE _missing_since IS NULL GROUP BY ALL) c ON c.account = s.account AND c.survey_id = s.id`,
}

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

const interviewStatusCounts: ViewDeclaration = {
  name: 'interview_status_counts',
  comment:
    'Interviews by status in long form, whole surveys and sources, statuses unknown to this version included',
  columns: {
    account: 'Name of the account in the settings',
    survey_id: 'ID of the survey',
    sample_source_id: 'ID of the sample source; null = the whole survey',
    status: 'Interview status, as the API names it',
    individuals: 'Number of interviews with this status',
    percentage: 'Percentage of interviews with this status, as the API gives it',
    _observed_at: 'When these indicators were read, server time',
  },
  sql: `${longForm('survey_progress', 'CAST(NULL AS BIGINT)')} UNION ALL ${longForm('sample_source_progress', 'p.sample_source_id')}`,
}

const surveyStatusChanges: ViewDeclaration = {
  name: 'survey_status_changes',
  comment: 'Every change of status that was observed, one row a change',
  columns: {
    account: 'Name of the account in the settings',
    survey_id: 'ID of the survey',
    from_status: 'Status before; null = the survey was first seen',
    to_status: 'Status after',
    observed_at: 'When the new status was first read, server time',
  },
  sql: `SELECT account, id AS survey_id, from_status, status AS to_status, valid_from AS observed_at
    FROM (SELECT *, lag(status) OVER (PARTITION BY account, id ORDER BY valid_from) AS from_status FROM main.surveys_history)
    WHERE from_status IS DISTINCT FROM status`,
}

export const ALL_VIEWS: readonly ViewDeclaration[] = [
  surveyOverview,
  interviewStatusCounts,
  surveyStatusChanges,
]
