/**
 * The versions of surveys and sources with `confirmed_until`, the time until which a version is known to have held. Reading an equal row
 * writes no data row, so `freshness` gives this time (docs/decisions/warehouse.md#0035-views-derive-how-long-a-row-held).
 */
import { columnsOf, type TableDeclaration, timestamptz } from '../../model/columns.js'
import { ofSource, ofSurveyById, sampleSourcesHistory, surveysHistory } from '../../model/tables.js'
import { listed, type ViewDeclaration } from './view-declaration.js'

interface Versions extends Pick<ViewDeclaration, 'name' | 'comment' | 'references'> {
  readonly history: TableDeclaration
  /** SQL for the time at which the current version `h` was last read again and found equal. */
  readonly readAgainAt: string
  readonly joins: string
}

const versionPeriods = ({ history, readAgainAt, joins, ...view }: Versions): ViewDeclaration => ({
  schema: 'main',
  ...view,
  key: history.key,
  columns: [
    ...history.columns,
    ...columnsOf({
      confirmed_until: timestamptz(
        'Until when this version is known to have held, server time: valid_to; for the current one, when it was last found equal',
      ),
    }),
  ],
  sql: `SELECT
  ${listed(history.columns, 'h')},
  coalesce(h.valid_to, greatest(h.valid_from, ${readAgainAt})) AS confirmed_until
FROM main.${history.name} h
${joins}`,
})

/**
 * A listing reads a survey. If a changed row is pending, the stored row held until the pending row was read. A row that could not be typed
 * confirms nothing until a replay types it.
 */
export const surveyPeriods = versionPeriods({
  name: 'survey_periods',
  comment: 'surveys_history, and until when each version is known to have held',
  history: surveysHistory,
  references: ofSurveyById,
  readAgainAt: 'CASE WHEN r.account IS NULL THEN least(f.listed_at, p._synced_at) END',
  joins: `LEFT JOIN main.freshness f ON f.account = h.account AND f.survey_id = h.id
LEFT JOIN _sync.pending_surveys p ON p.account = h.account AND p.id = h.id
LEFT JOIN (
  SELECT DISTINCT account, survey_id, rejected_at
  FROM _sync.rejected_rows
  WHERE endpoint = 'surveys' AND replay_result IS DISTINCT FROM 'merged'
) r ON r.account = f.account AND r.survey_id = f.survey_id AND r.rejected_at = f.listed_at`,
})

/** Program versions before `sources_listed_at` existed read the list in every refresh, or dated it only if all of it could be typed. */
const LIST_READ_AT = 'coalesce(f.sources_listed_at, f.sources_read_at, f.refreshed_at)'

/** A rejected source without a readable id may be any source of the survey. */
export const sampleSourcePeriods = versionPeriods({
  name: 'sample_source_periods',
  comment: 'sample_sources_history, and until when each version is known to have held',
  history: sampleSourcesHistory,
  references: ofSource('id'),
  readAgainAt: `CASE WHEN NOT coalesce(list_contains(r.ids, h.id) OR r.any_id, false) THEN ${LIST_READ_AT} END`,
  joins: `LEFT JOIN main.freshness f ON f.account = h.account AND f.survey_id = h.survey_id
LEFT JOIN (
  SELECT account, survey_id, rejected_at, list(sample_source_id) AS ids, bool_or(sample_source_id IS NULL) AS any_id
  FROM _sync.rejected_rows
  WHERE endpoint = 'sample_sources'
  GROUP BY ALL
) r ON r.account = f.account AND r.survey_id = f.survey_id AND r.rejected_at = ${LIST_READ_AT}`,
})
