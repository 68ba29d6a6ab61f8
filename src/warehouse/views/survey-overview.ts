/** One row per survey: the view to start with. */
import { bigint, columnsOf } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import { freshness, surveys } from '../../model/tables.js'
import { selected } from '../connection/ddl.js'
import { columnsFrom, type ViewDeclaration } from './view-declaration.js'

const surveyColumns = surveys.columns.filter(({ name }) => !['_extra', '_first_seen_at'].includes(name))
const indicators = columnsOf(PROGRESS_FIELDS).filter(({ name }) => name !== '_extra')
const freshnessColumns = columnsFrom(freshness, ['listed_at', 'refreshed_at', 'last_error'])

export const surveyOverview: ViewDeclaration = {
  schema: 'main',
  name: 'survey_overview',
  comment: 'One row per survey, with its progress and the times of their last readings',
  key: surveys.key,
  columns: [
    ...surveyColumns,
    ...indicators,
    ...columnsOf({ sample_sources_count: bigint('Number of sample sources that the API shows') }),
    ...freshnessColumns,
  ],
  sql: `SELECT ${selected(surveyColumns, 's')}, ${selected(indicators, 'p')},
      coalesce(c.sample_sources_count, 0) AS sample_sources_count, ${selected(freshnessColumns, 'f')}
    FROM main.surveys s
    LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
    LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
    LEFT JOIN (SELECT account, survey_id, count(*) AS sample_sources_count FROM main.sample_sources
      WHERE _missing_since IS NULL GROUP BY ALL) c ON c.account = s.account AND c.survey_id = s.id`,
}
