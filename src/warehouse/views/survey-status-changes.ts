/** The statuses of each survey, one after the other, as they were observed. */
import { columnsOf, nullable, timestamptz, varchar } from '../../model/columns.js'
import { SURVEY_STATUSES } from '../../model/fields.js'
import { ofSurvey, surveysHistory } from '../../model/tables.js'
import { columnOf, type ViewDeclaration } from './view-declaration.js'

export const surveyStatusChanges: ViewDeclaration = {
  schema: 'main',
  name: 'survey_status_changes',
  comment: 'Every observed change of status, one row per change',
  key: ['account', 'survey_id', 'observed_at'],
  references: ofSurvey,
  columns: [
    columnOf(surveysHistory, 'account'),
    columnOf(surveysHistory, 'id', { name: 'survey_id' }),
    ...columnsOf({
      from_status: {
        ...nullable(varchar('Status before; null = the survey was first seen')),
        values: SURVEY_STATUSES,
      },
      to_status: { ...varchar('Status after'), values: SURVEY_STATUSES },
      observed_at: timestamptz('When the new status was first read, server time'),
    }),
  ],
  sql: `SELECT account, id AS survey_id, from_status, status AS to_status, valid_from AS observed_at
    FROM (SELECT *, lag(status) OVER (PARTITION BY account, id ORDER BY valid_from ASC) AS from_status FROM main.surveys_history)
    WHERE from_status IS DISTINCT FROM status`,
}
