/** Every observed change of a survey or a sample source, one row per changed field: what happened since yesterday. */
import {
  type Column,
  columnsOf,
  type TableDeclaration,
  timestamptz,
  varchar,
  varcharOf,
} from '../../model/columns.js'
import { SURVEY_STATUSES } from '../../model/fields.js'
import { ofSurvey, sampleSourcesHistory, surveysHistory } from '../../model/tables.js'
import { literal, quote } from '../connection/ddl.js'
import { LATER_SOURCES_STEPS, NEW_SURVEYS_STEP } from './progress-daily.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

/** Columns that are not compared. Each modification also changes `updated_at`, which therefore says nothing more. */
const NOT_COMPARED = ['updated_at', 'valid_from', 'valid_to']

/** Text as DuckDB shows it in UTC, for any time zone of the session. */
const asText = ({ name, type }: Column, prefix = ''): string => {
  const column = quote(`${prefix}${name}`)
  return type === 'TIMESTAMPTZ'
    ? `CAST(make_timestamp(epoch_us(${column})) AS VARCHAR) || '+00'`
    : `CAST(${column} AS VARCHAR)`
}

/** A JSON column has no collation, so the collation of the session could hide changes of case. */
const compared = ({ name, type }: Column, prefix = ''): string =>
  type === 'JSON' ? `CAST(${quote(`${prefix}${name}`)} AS VARCHAR) COLLATE C` : quote(`${prefix}${name}`)

const event = (kind: string): string =>
  `{'kind': ${literal(kind)}, 'field': CAST(NULL AS VARCHAR), 'from_value': CAST(NULL AS VARCHAR), 'to_value': CAST(NULL AS VARCHAR)}`

/** Steps that end with `…_events`: an event for each change of a record, with nulls for fields that did not change. */
const eventSteps = (
  name: 'survey' | 'source',
  history: TableDeclaration,
  surveyId: string,
  sampleSourceId: string,
): string => {
  const record = history.key.filter((column) => column !== 'valid_from').join(', ')
  const fields = history.columns.filter((column) => ![...history.key, ...NOT_COMPARED].includes(column.name))
  const before = ['valid_from', 'valid_to', ...fields.map((field) => field.name)].map(
    (column) => `lag(${quote(column)}) OVER versions AS ${quote(`before_${column}`)}`,
  )
  const changes = fields.map(
    (column) => `CASE WHEN ${compared(column, 'before_')} IS DISTINCT FROM ${compared(column)}
          THEN {'kind': 'changed', 'field': ${literal(column.name)}, 'from_value': ${asText(column, 'before_')}, 'to_value': ${asText(column)}} END`,
  )
  return `${name}_versions AS (
  SELECT
    *,
    lead(valid_from) OVER versions AS next_from,
    ${before.join(',\n    ')}
  FROM main.${history.name}
  WINDOW versions AS (PARTITION BY ${record} ORDER BY valid_from ASC)
),
${name}_events AS (
  SELECT
    account, ${surveyId} AS survey_id, ${sampleSourceId} AS sample_source_id, valid_from AS observed_at,
    unnest(CASE
      WHEN before_valid_from IS NULL THEN [${event('added')}]
      ELSE [
        CASE WHEN before_valid_to IS DISTINCT FROM valid_from THEN ${event('returned')} END,
        ${changes.join(',\n        ')}
      ]
    END) AS event
  FROM ${name}_versions
  UNION ALL
  SELECT account, ${surveyId}, ${sampleSourceId}, valid_to, ${event('missing')}
  FROM ${name}_versions
  WHERE valid_to IS NOT NULL AND next_from IS DISTINCT FROM valid_to
)`
}

export const recordChanges: ViewDeclaration = {
  schema: 'main',
  name: 'record_changes',
  comment:
    'Every observed change of surveys and sample sources: one row for each changed field except updated_at, and one when a record is added, missing or returned. A survey that is older than the first reading of its account is not added, and a source that is older than that of its survey is not',
  key: ['account', 'survey_id', 'sample_source_id', 'observed_at', 'kind', 'field'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(sampleSourcesHistory, ['account', 'survey_id']),
    columnOf(sampleSourcesHistory, 'id', {
      name: 'sample_source_id',
      nullable: true,
      comment: 'ID of the sample source; null = the survey itself changed',
    }),
    ...columnsOf({
      observed_at: timestamptz('When the change was first read, server time'),
      kind: varcharOf(['added', 'changed', 'missing', 'returned'], 'Kind of change'),
      field: varchar.orNull('The changed field; null unless the kind is changed'),
      from_value: varchar.orNull('Its value before, as text'),
      to_value: varchar.orNull('Its value after, as text'),
    }),
  ],
  sql: `WITH ${NEW_SURVEYS_STEP},
${LATER_SOURCES_STEPS},
new_records AS (
  SELECT account, survey_id, CAST(NULL AS BIGINT) AS sample_source_id
  FROM new_surveys
  UNION ALL
  SELECT account, survey_id, sample_source_id
  FROM later_sources
),
${eventSteps('survey', surveysHistory, 'id', 'CAST(NULL AS BIGINT)')},
${eventSteps('source', sampleSourcesHistory, 'survey_id', 'id')},
events AS (
  FROM survey_events
  UNION ALL
  FROM source_events
)
SELECT
  e.account,
  e.survey_id,
  e.sample_source_id,
  e.observed_at,
  ${['kind', 'field', 'from_value', 'to_value'].map((name) => `e.event.${name} COLLATE C AS ${name}`).join(',\n  ')}
FROM events e
LEFT JOIN new_records n
  ON n.account = e.account AND n.survey_id = e.survey_id AND n.sample_source_id IS NOT DISTINCT FROM e.sample_source_id
-- What a first reading finds is not added.
WHERE e.event IS NOT NULL AND (e.event.kind <> 'added' OR n.account IS NOT NULL)`,
}

export const surveyStatusChanges: ViewDeclaration = {
  schema: 'main',
  name: 'survey_status_changes',
  comment: 'Every observed change of status, one row per change',
  key: ['account', 'survey_id', 'observed_at'],
  references: ofSurvey,
  columns: [
    columnOf(surveysHistory, 'account'),
    columnOf(surveysHistory, 'id', { name: 'survey_id' }),
    columnOf(surveysHistory, 'title', { comment: 'Title then' }),
    ...columnsOf({
      from_status: {
        ...varchar.orNull('Status before; null = the survey was first seen'),
        values: SURVEY_STATUSES,
      },
      to_status: { ...varchar('Status after'), values: SURVEY_STATUSES },
      observed_at: timestamptz('When the new status was first read, server time'),
    }),
  ],
  sql: `WITH versions AS (
  SELECT *, lag(status) OVER (PARTITION BY account, id ORDER BY valid_from ASC) AS from_status
  FROM main.surveys_history
)
SELECT account, id AS survey_id, title, from_status, status AS to_status, valid_from AS observed_at
FROM versions
WHERE from_status IS DISTINCT FROM status`,
}
