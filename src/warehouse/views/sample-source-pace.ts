/** How fast each sample source gains complete interviews, and how far it is behind its survey. */
import { bigint, columnsOf, date } from '../../model/columns.js'
import {
  freshness,
  ofSource,
  sampleSourceProgress,
  sampleSources,
  surveyProgress,
} from '../../model/tables.js'
import { PACE_DAYS, PACE_FIELDS, paceSql, withForecast } from './pace.js'
import { inferredSourceObservations } from './progress-periods.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

/** The numbers of the API may be so large that their product is no BIGINT. A survey over its target counts as complete. */
const AS_COMPLETE =
  '(CAST(a.sample_size AS HUGEINT) * least(w.interviews_count, w.sample_size) + w.sample_size - 1) // w.sample_size - t.interviews_count'

export const sampleSourcePace: ViewDeclaration = {
  schema: 'main',
  name: 'sample_source_pace',
  comment:
    'Pace and forecast of each sample source that the API shows, and how far it is behind its survey; one row per source with known progress. Days are UTC. A source counts as unchanged while its survey does',
  key: ['account', 'survey_id', 'sample_source_id'],
  references: ofSource('sample_source_id'),
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id', 'sample_source_id']),
    ...columnsFrom(sampleSources, ['name', 'provider', 'country_code', 'sample_size']),
    ...columnsFrom(sampleSourceProgress, ['interviews_count', 'completion_rate']),
    columnOf(surveyProgress, 'completion_rate', {
      name: 'survey_completion_rate',
      comment: 'The same of the whole survey',
    }),
    ...columnsOf({
      behind: bigint.orNull(
        'Complete interviews that the source lacks to be as complete as its survey, at most to reach its target; 0 if it is not behind, null without targets',
      ),
    }),
    columnOf(freshness, 'source_progress_read_at'),
    ...columnsOf({
      ...PACE_FIELDS,
      expected_on: date.orNull(
        'Day on which the source reaches its target if its pace goes on; null if the survey is not in fieldwork, without target or pace, or after more than ten years',
      ),
    }),
  ],
  sql: `WITH ${paceSql(inferredSourceObservations, PACE_DAYS, {})}, goals AS (
      SELECT p.*, s.status, a.name, a.provider, a.country_code, a.sample_size AS target, t.interviews_count AS reached, t.completion_rate,
        w.completion_rate AS survey_completion_rate,
        CASE WHEN a.sample_size > 0 AND w.sample_size > 0 THEN TRY_CAST(greatest(0, ${AS_COMPLETE}) AS BIGINT) END AS behind
      FROM main.sample_source_progress t
      JOIN main.sample_sources a
        ON a.account = t.account AND a.survey_id = t.survey_id AND a.id = t.sample_source_id AND a._missing_since IS NULL
      JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id AND s._missing_since IS NULL
      JOIN pace p ON p.account = t.account AND p.survey_id = t.survey_id AND p.sample_source_id = t.sample_source_id
      LEFT JOIN main.survey_progress w ON w.account = t.account AND w.survey_id = t.survey_id
    )
    SELECT p.account, p.survey_id, p.sample_source_id, p.name, p.provider, p.country_code, p.target AS sample_size,
      p.reached AS interviews_count, p.completion_rate, p.survey_completion_rate, p.behind, f.source_progress_read_at,
      p.last_gain_at, p.pace_days, p.gained, p.per_day, p.gained_last_day, p.expected_on
    FROM (${withForecast('goals')}) p
    LEFT JOIN main.freshness f ON f.account = p.account AND f.survey_id = p.survey_id`,
}
