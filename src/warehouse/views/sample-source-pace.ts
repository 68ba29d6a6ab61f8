/** The pace and the forecast of sample sources, and how far each is behind its survey. */
import { bigint, columnsOf, date } from '../../model/columns.js'
import {
  freshness,
  ofSource,
  sampleSourceProgress,
  sampleSources,
  surveyProgress,
} from '../../model/tables.js'
import { FORECAST_STEPS } from './forecast.js'
import { dayStatusSteps, PACE_FIELDS, paceSteps } from './pace.js'
import { inferredSourceObservations } from './progress-periods.js'
import { OF_ACTIVE_SURVEYS } from './statuses.js'
import { columnOf, columnsFrom, type ViewDeclaration } from './view-declaration.js'

/** HUGEINT, because the product of two numbers of the API may exceed a BIGINT. A survey over its target counts as complete. */
const AS_COMPLETE = `(CAST(a.sample_size AS HUGEINT) * least(w.interviews_count, w.sample_size) + w.sample_size - 1) // w.sample_size`

/** The column `behind`, over rows `t` of `sample_source_progress`, `a` of `sample_sources` and `w` of `survey_progress`. */
export const BEHIND = `CASE
      WHEN a.sample_size > 0 AND w.sample_size > 0
        THEN TRY_CAST(greatest(0, ${AS_COMPLETE} - t.interviews_count) AS BIGINT)
    END`

/** The rows of the view. `ofSurveys` is SQL that joins the surveys of which sources are read, as in `dayStatusSteps`. */
export const sourcePaceSql = (
  ofSurveys: string,
): string => `WITH ${dayStatusSteps(inferredSourceObservations, 'NULL', ofSurveys)},
known_days AS (
  FROM day_statuses
),
${paceSteps(inferredSourceObservations)},
goals AS (
  SELECT
    p.*,
    s.status,
    a.name, a.provider, a.country_code, a.sample_size AS target,
    t.interviews_count AS reached, t.completion_rate,
    w.completion_rate AS survey_completion_rate,
    ${BEHIND} AS behind
  FROM main.sample_source_progress t
  JOIN main.sample_sources a
    ON a.account = t.account AND a.survey_id = t.survey_id AND a.id = t.sample_source_id AND a._missing_since IS NULL
  JOIN main.surveys s ON s.account = t.account AND s.id = t.survey_id AND s._missing_since IS NULL
  JOIN pace p ON p.account = t.account AND p.survey_id = t.survey_id AND p.sample_source_id = t.sample_source_id
  LEFT JOIN main.survey_progress w ON w.account = t.account AND w.survey_id = t.survey_id
),
rated_goals AS (
  SELECT *, per_day AS rate
  FROM goals
),
${FORECAST_STEPS}
SELECT
  g.account,
  g.survey_id,
  g.sample_source_id,
  g.name,
  g.provider,
  g.country_code,
  g.target AS sample_size,
  g.reached AS interviews_count,
  g.completion_rate,
  g.survey_completion_rate,
  g.behind,
  f.source_progress_read_at,
  g.last_gain_at,
  g.pace_days,
  g.gained,
  g.per_day,
  g.newest_gain,
  g.newest_gain_days,
  g.expected_on
FROM forecasts g
LEFT JOIN main.freshness f ON f.account = g.account AND f.survey_id = g.survey_id`

export const sampleSourcePace: ViewDeclaration = {
  schema: 'main',
  name: 'sample_source_pace',
  comment:
    'Pace and forecast of each sample source that the API shows, and how far it is behind its survey; one row per source with known progress. A source counts as unchanged while the list of sources and the progress of its survey are',
  key: ['account', 'survey_id', 'sample_source_id'],
  references: ofSource('sample_source_id'),
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id', 'sample_source_id']),
    ...columnsFrom(sampleSources, ['name', 'provider', 'country_code', 'sample_size']),
    ...columnsFrom(sampleSourceProgress, ['interviews_count', 'completion_rate']),
    columnOf(surveyProgress, 'completion_rate', {
      name: 'survey_completion_rate',
      comment: 'completion_rate of the whole survey',
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
        'Day on which the source reaches its target if its pace goes on; null if the survey is not in fieldwork, without target, with a pace of fewer than two days, or after more than ten years',
      ),
    }),
  ],
  sql: sourcePaceSql(''),
}

export const activeSourcePace: ViewDeclaration = {
  ...sampleSourcePace,
  name: 'active_source_pace',
  comment:
    'The rows of sample_source_pace of active surveys: not closed, and no draft or demo. Much faster after some years',
  sql: sourcePaceSql(OF_ACTIVE_SURVEYS),
}
