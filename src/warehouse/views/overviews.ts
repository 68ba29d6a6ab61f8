/** One row per survey, or per source: the views to start with. */
import { bigint, type Column, columnsOf, double, varchar } from '../../model/columns.js'
import { PROGRESS_FIELDS } from '../../model/fields.js'
import {
  freshness,
  ofSource,
  ofSurvey,
  sampleSourceProgress,
  sampleSources,
  surveys,
} from '../../model/tables.js'
import { minutesOf, SOURCE_SOLD_COLUMNS, sourceCostsStep } from './as-sold.js'
import { allIndividuals, individualsOf, QUALITY_REJECTS, UNDECIDED } from './interview-counts.js'
import { dayText, IS_QUIET, reasonSteps } from './needs-action.js'
import { SOURCE_PLANS_STEPS, SURVEY_PLANS_STEP } from './plan.js'
import { sampleSourcePace } from './sample-source-pace.js'
import { CLOSED } from './statuses.js'
import { surveyPace } from './survey-pace.js'
import { columnOf, columnsFrom, listed, type ViewDeclaration } from './view-declaration.js'

const surveyColumns = surveys.columns.filter(({ name }) => !['_extra', '_first_seen_at'].includes(name))
const indicators = columnsOf(PROGRESS_FIELDS).filter(({ name }) => name !== '_extra')
const freshnessColumns = columnsFrom(freshness, ['listed_at', 'refreshed_at', 'last_error', 'excluded_by'])

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
  sql: `WITH source_counts AS (
  SELECT account, survey_id, count(*) AS sample_sources_count
  FROM main.sample_sources
  WHERE _missing_since IS NULL
  GROUP BY ALL
)
SELECT
  ${listed(surveyColumns, 's')},
  ${listed(indicators, 'p')},
  coalesce(c.sample_sources_count, 0) AS sample_sources_count,
  ${listed(freshnessColumns, 'f')}
FROM main.surveys s
LEFT JOIN main.survey_progress p ON p.account = s.account AND p.survey_id = s.id
LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
LEFT JOIN source_counts c ON c.account = s.account AND c.survey_id = s.id`,
}

const PROGRESS = ['interviews_count', 'sample_size', 'completion_rate']
const progressToday = columnsFrom(surveyPace, [
  ...PROGRESS,
  'per_day',
  'newest_gain',
  'newest_gain_days',
  'expected_on',
])
/** A survey or source with unknown progress has a row too, so these columns are nullable. */
const nullable = (columns: readonly Column[]) => columns.map((column) => ({ ...column, nullable: true }))

export const surveysToday: ViewDeclaration = {
  schema: 'main',
  name: 'surveys_today',
  comment: 'The surveys that the API shows, in few columns for terminals and BI tools; one row per survey',
  key: ['account', 'survey_id'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id']),
    ...columnsFrom(surveys, ['title', 'project_id', 'status']),
    ...nullable(progressToday),
    ...columnsOf({
      needs_action: varchar.orNull(
        'What needs action, the most urgent first, and until when the plan wants the survey to be quiet; null if nothing does',
      ),
    }),
    columnOf(freshness, 'refreshed_at'),
  ],
  sql: `WITH ${reasonSteps('main.survey_pace')},
reason_texts AS (
  SELECT account, survey_id, string_agg(text, '; ' ORDER BY urgency ASC, kind ASC) AS needs_action
  FROM reasons
  GROUP BY ALL
),
quiet AS (
  SELECT l.account, l.survey_id, 'quiet until ' || ${dayText('quiet_until')} AS quiet_text
  FROM survey_plans l
  JOIN newest n ON n.account = l.account
  WHERE ${IS_QUIET}
)
SELECT
  s.account, s.id AS survey_id, s.title, s.project_id, s.status,
  ${listed(progressToday, 'p')},
  nullif(concat_ws('; ', r.needs_action, q.quiet_text), '') COLLATE C AS needs_action,
  f.refreshed_at
FROM main.surveys s
LEFT JOIN pace p ON p.account = s.account AND p.survey_id = s.id
LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
LEFT JOIN reason_texts r ON r.account = s.account AND r.survey_id = s.id
LEFT JOIN quiet q ON q.account = s.account AND q.survey_id = s.id AND s.status NOT IN ${CLOSED}
WHERE s._missing_since IS NULL`,
}

/**
 * Without `sample_size`, because the target is a column of the source itself, and without `incidence_rate`, which the API no longer
 * recommends and which equals `target_incidence_rate`.
 */
const sourceIndicators = indicators.filter(({ name }) => !['sample_size', 'incidence_rate'].includes(name))
const PACE = [
  'last_gain_at',
  'pace_days',
  'gained',
  'per_day',
  'newest_gain',
  'newest_gain_days',
  'expected_on',
]
const sourcePace = columnsFrom(sampleSourcePace, ['behind', ...PACE])
const sourceColumns = columnsFrom(sampleSources, ['name', 'provider', 'country_code', 'sample_size'])

/** What the interviews of a source are worth. */
const QUALITY = columnsOf({
  total_interviews: bigint.orNull('Interviews of every status'),
  rejected: bigint.orNull(
    'Interviews that were rejected for their quality: speeder, straightliner, failed_quality_check, inappropriate_language',
  ),
  rejected_rate: double.orNull('rejected / (complete + rejected); null without these'),
  undecided: bigint.orNull(
    'Interviews that are neither accepted nor rejected yet: manual_action, pending_analysis',
  ),
  quota_full_rate: double.orNull('quota_full / total_interviews; null without interviews'),
  loi_minutes: double.orNull('length_of_interview in minutes'),
  cost_per_good: double.orNull(
    'What a complete interview costs, in currency, if the rejected ones are paid too: cpi * (complete + rejected) / complete; null without a cpi or complete interviews',
  ),
})

/** The rows of the view. `ofSurveys` is SQL that joins the surveys of which sources are read, as in `dayStatusSteps`. */
export const sourceOverviewSql = (ofSurveys: string): string => `WITH ${SURVEY_PLANS_STEP},
${SOURCE_PLANS_STEPS},
${sourceCostsStep(ofSurveys)},
source_counts AS (
  SELECT
    g.account, g.survey_id, g.sample_source_id,
    g.complete_individuals AS complete,
    g.quota_full_individuals AS quota_full,
    ${individualsOf(QUALITY_REJECTS, 'g')} AS rejected,
    ${individualsOf(UNDECIDED, 'g')} AS undecided,
    ${allIndividuals('g')} AS total_interviews
  FROM main.sample_source_progress g
)
SELECT
  a.account, a.survey_id, s.title, s.status,
  a.id AS sample_source_id,
  ${listed(sourceColumns, 'a')},
  ${listed(sourceIndicators, 'g')},
  ${listed(sourcePace, 'p')},
  ${listed(SOURCE_SOLD_COLUMNS, 'c')},
  TRY_CAST(n.total_interviews AS BIGINT) AS total_interviews,
  TRY_CAST(n.rejected AS BIGINT) AS rejected,
  CAST(n.rejected AS DOUBLE) / nullif(n.complete + n.rejected, 0) AS rejected_rate,
  TRY_CAST(n.undecided AS BIGINT) AS undecided,
  CAST(n.quota_full AS DOUBLE) / nullif(n.total_interviews, 0) AS quota_full_rate,
  ${minutesOf('g.length_of_interview')} AS loi_minutes,
  round(c.cpi * (n.complete + n.rejected) / nullif(n.complete, 0), 6) AS cost_per_good,
  f.source_progress_read_at
FROM main.sample_sources a${ofSurveys}
JOIN main.surveys s ON s.account = a.account AND s.id = a.survey_id AND s._missing_since IS NULL
LEFT JOIN main.sample_source_progress g
  ON g.account = a.account AND g.survey_id = a.survey_id AND g.sample_source_id = a.id
LEFT JOIN main.sample_source_pace p
  ON p.account = a.account AND p.survey_id = a.survey_id AND p.sample_source_id = a.id
LEFT JOIN source_counts n
  ON n.account = a.account AND n.survey_id = a.survey_id AND n.sample_source_id = a.id
LEFT JOIN source_costs c
  ON c.account = a.account AND c.survey_id = a.survey_id AND c.sample_source_id = a.id
LEFT JOIN main.freshness f ON f.account = a.account AND f.survey_id = a.survey_id
WHERE a._missing_since IS NULL`

export const sourceOverview: ViewDeclaration = {
  schema: 'main',
  name: 'source_overview',
  comment: 'One row per sample source that the API shows, with its survey, progress, pace and what was sold',
  key: ['account', 'survey_id', 'sample_source_id'],
  references: ofSource('sample_source_id'),
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id']),
    ...columnsFrom(surveys, ['title', 'status']),
    columnOf(sampleSourceProgress, 'sample_source_id'),
    ...sourceColumns,
    ...sourceIndicators,
    ...nullable(sourcePace),
    ...SOURCE_SOLD_COLUMNS,
    ...QUALITY,
    columnOf(freshness, 'source_progress_read_at'),
  ],
  sql: sourceOverviewSql(''),
}
