/**
 * What a fieldwork manager should look at first: one row per survey and reason. The report shows these rows, and has no rules of its own.
 * Ages count from the newest reading of the account, by the server's clock.
 */
import { bigint, columnsOf, json, timestamptz, varchar, varcharOf } from '../../model/columns.js'
import { ofSurvey, plan, sampleSourceProgress, surveys } from '../../model/tables.js'
import { hoursBefore, NEWEST_STEPS } from '../history/days.js'
import { individualsOf, QUALITY_REJECTS, UNDECIDED } from './interview-counts.js'
import { CHECKED_COUNTS, CHECKED_FACTS, INTERVIEWS_MIN, LEVELS_STEP } from './needs-action-checks.js'
import {
  BEHIND_MIN,
  OPEN_HOURS_MIN,
  RULES,
  reasonSql,
  SOURCE_TIMES_MIN,
  STALE_HOURS,
  STANDS_STILL_DAYS,
} from './needs-action-rules.js'
import { gainOf } from './pace.js'
import { SOURCE_PLANS_STEPS, SURVEY_PLANS_STEP } from './plan.js'
import { BEHIND } from './sample-source-pace.js'
import { CLOSED } from './statuses.js'
import { surveyPace } from './survey-pace.js'
import { columnOf, columnsFrom, listed, type ViewDeclaration } from './view-declaration.js'

/** Of rows with `today`: nobody needs to look at the survey. */
export const IS_QUIET = 'coalesce(quiet_until >= today, false)'

/** `12 March`, with the year if it differs from the year of the newest reading. */
export const dayText = (day: string): string =>
  `day(${day}) || ' ' || monthname(${day}) || CASE WHEN year(${day}) = year(today) THEN '' ELSE ' ' || year(${day}) END`

/** Whole days, rounded, because a job does not run at the same second each night. */
const daysBetween = (from: string, to: string): string =>
  `CAST(round((epoch_us(${to}) - epoch_us(${from})) / 86400000000) AS BIGINT)`

const OF_SURVEY = ['account', 'survey_id', 'title', 'project_id', 'status', 'refreshed_at']
const paceColumns = surveyPace.columns.filter(({ name }) => ![...OF_SURVEY, 'quiet_until'].includes(name))

/**
 * Steps that end with `reasons`, the rows of the view. The step `pace` has the rows of the view `pace`. `surveys_today` goes on from these
 * steps, because a view that also reads `needs_action` evaluates the pace twice.
 */
export const reasonSteps = (pace: 'main.survey_pace' | 'main.active_survey_pace') => `pace AS MATERIALIZED (
  FROM ${pace}
),
active_surveys AS (
  SELECT *
  FROM main.surveys
  WHERE _missing_since IS NULL AND status NOT IN ${CLOSED}
),
-- The forecast of a week ago, as it was kept, or the last one of the week before that.
earlier_forecasts AS (
  SELECT
    e.account, e.survey_id,
    arg_max(e.expected_on, e."day") AS expected_before, max(e.made_at) FILTER (WHERE e.expected_on IS NOT NULL) AS made_at
  FROM main.survey_forecasts e
  JOIN main.freshness f ON f.account = e.account AND f.survey_id = e.survey_id
  WHERE e."day" BETWEEN f.progress_day - 14 AND f.progress_day - 7
  GROUP BY ALL
),
${NEWEST_STEPS},
${SURVEY_PLANS_STEP},
${SOURCE_PLANS_STEPS},
${LEVELS_STEP},
-- A survey without a status before was first seen with the one it has. When that began is not known.
statuses AS (
  SELECT account, survey_id, max(observed_at) AS status_since, arg_max(from_status, observed_at) AS status_before
  FROM main.survey_status_changes
  GROUP BY ALL
),
read_sources AS (
  SELECT
    t.account, t.survey_id, t.sample_source_id, a.name, a.sample_size,
    ${BEHIND} AS behind,
    ${individualsOf(QUALITY_REJECTS, 't')} AS rejected,
    ${individualsOf(['complete', ...QUALITY_REJECTS], 't')} AS judged
  FROM main.sample_source_progress t
  SEMI JOIN active_surveys s ON s.account = t.account AND s.id = t.survey_id
  JOIN main.sample_sources a
    ON a.account = t.account AND a.survey_id = t.survey_id AND a.id = t.sample_source_id AND a._missing_since IS NULL
  LEFT JOIN main.survey_progress w ON w.account = t.account AND w.survey_id = t.survey_id
),
sources_behind AS (
  SELECT
    account, survey_id,
    count(*) AS sources_behind,
    sum(behind) AS behind,
    first(sample_source_id ORDER BY behind DESC, sample_source_id ASC) AS source_behind_most
  FROM read_sources
  WHERE CAST(behind AS DOUBLE) / nullif(sample_size, 0) >= ${BEHIND_MIN}
  GROUP BY ALL
),
source_comparisons AS (
  SELECT
    *,
    sum(rejected) OVER (PARTITION BY account, survey_id) - rejected AS rejected_elsewhere,
    sum(judged) OVER (PARTITION BY account, survey_id) - judged AS judged_elsewhere,
    CAST(rejected AS DOUBLE) / nullif(judged, 0) AS rejects_here,
    CAST(rejected_elsewhere AS DOUBLE) / nullif(judged_elsewhere, 0) AS rejects_elsewhere
  FROM read_sources
),
-- The worst source of each survey that has one.
source_rejects AS (
  SELECT c.account, c.survey_id, c.sample_source_id, c.name, p.supplier, c.rejects_here, c.rejects_elsewhere
  FROM source_comparisons c
  JOIN levels v ON c.rejects_here >= v.rejected_level
  LEFT JOIN source_plans p
    ON p.account = c.account AND p.survey_id = c.survey_id AND p.sample_source_id = c.sample_source_id
  WHERE c.judged >= ${INTERVIEWS_MIN} AND c.judged_elsewhere >= ${INTERVIEWS_MIN}
    AND c.rejects_here >= ${SOURCE_TIMES_MIN} * c.rejects_elsewhere
  QUALIFY row_number() OVER (
    PARTITION BY c.account, c.survey_id ORDER BY c.rejects_here DESC, c.sample_source_id ASC
  ) = 1
),
known_facts AS (
  SELECT
    s.account, s.id AS survey_id, s.title, s.project_id, s.status,
    n.newest_at, n.today, f.refreshed_at, f.last_error,
    CASE WHEN t.last_error IS NOT NULL THEN t.requests_needed END AS parts_of,
    c.status_since, c.status_before,
    -- The last gain of a survey without a status before may be older than its first reading, in a reconstructed row.
    CASE
      WHEN c.status_before IS NULL THEN coalesce(p.last_gain_at, c.status_since)
      ELSE greatest(p.last_gain_at, c.status_since)
    END AS still_since,
    c.status_before IS NULL AND p.last_gain_at IS NULL AS no_gain_seen,
    p.interviews_count = 0 AND p.last_gain_at IS NULL AS has_none,
    -- Not from before a pause: that it is later then is no news.
    CASE WHEN e.made_at >= c.status_since THEN e.expected_before END AS expected_before,
    ${CHECKED_COUNTS},
    ${individualsOf(UNDECIDED, 'g')} AS undecided,
    v.*,
    b.sources_behind, b.behind, b.source_behind_most,
    r.sample_source_id AS rejects_source_id, r.name AS rejects_source, r.supplier AS rejects_supplier,
    r.rejects_here, r.rejects_elsewhere,
    -- Also of a survey whose progress is not known.
    l.quiet_until,
    ${listed(paceColumns, 'p').replaceAll('\n', '\n  ')}
  FROM active_surveys s
  JOIN newest n ON n.account = s.account
  CROSS JOIN levels v
  LEFT JOIN main.freshness f ON f.account = s.account AND f.survey_id = s.id
  LEFT JOIN _sync.tasks t ON t.account = s.account AND t.survey_id = s.id
  LEFT JOIN pace p ON p.account = s.account AND p.survey_id = s.id
  LEFT JOIN main.survey_progress g ON g.account = s.account AND g.survey_id = s.id
  LEFT JOIN earlier_forecasts e ON e.account = s.account AND e.survey_id = s.id
  LEFT JOIN survey_plans l ON l.account = s.account AND l.survey_id = s.id
  LEFT JOIN statuses c ON c.account = s.account AND c.survey_id = s.id
  LEFT JOIN source_rejects r ON r.account = s.account AND r.survey_id = s.id
  LEFT JOIN sources_behind b ON b.account = s.account AND b.survey_id = s.id
  WHERE f.excluded_by IS NULL
),
texts AS (
  SELECT
    *,
    status = 'fieldwork' AND coalesce(interviews_count < nullif(sample_size, 0), true) AS is_open,
    ${CHECKED_FACTS},
    ${gainOf('sample_size', 'interviews_count')} AS missing,
    ${gainOf('interviews_count', 'sample_size')} AS excess,
    epoch_us(still_since) < ${hoursBefore('refreshed_at', 24 * STANDS_STILL_DAYS)} AS stands_still,
    epoch_us(status_since) <= ${hoursBefore('refreshed_at', OPEN_HOURS_MIN)} AS is_open_for_a_day,
    epoch_us(refreshed_at) < ${hoursBefore('newest_at', STALE_HOURS)} AS is_old,
    ${IS_QUIET} AS is_quiet,
    ${daysBetween('status_since', 'refreshed_at')} AS open_days,
    ${daysBetween('status_since', 'newest_at')} AS paused_days,
    ${daysBetween('still_since', 'refreshed_at')} AS still_days,
    expected_on - today AS days_to_target,
    ${dayText('due_on')} AS due_text,
    ${dayText('expected_on')} AS expected_text,
    ${dayText('expected_to')} AS latest_text
  FROM known_facts
),
facts AS (
  SELECT
    *,
    CASE WHEN due_on < today THEN 'was due ' ELSE 'due ' END || due_text AS due_words,
    ', ' || missing || ' missing' AS missing_words,
    CASE
      WHEN recent_interviews >= ${INTERVIEWS_MIN}
        THEN TRY_CAST(ceil(round(missing / nullif(recent_complete_rate, 0), 6)) AS BIGINT)
    END AS starts_needed,
    CASE WHEN recent_interviews >= ${INTERVIEWS_MIN} THEN recent_quota_full_rate END AS last_quota_full_rate,
    ': ' || needed_text AS need_words
  FROM texts
),
-- One list for all rules: a SELECT for each takes more memory than an export has.
rule_results AS (
  SELECT *, unnest([
    ${RULES.map(reasonSql).join(',\n    ')}
  ]) AS reason
  FROM facts
),
reasons AS (
  SELECT
    account, survey_id, title, project_id, status,
    reason.kind COLLATE C AS kind,
    reason.urgency,
    reason.since,
    reason.text COLLATE C AS text,
    reason.numbers,
    due_on,
    reason.sample_source_id
  FROM rule_results
  WHERE reason IS NOT NULL AND (reason.kind = 'late' OR NOT is_quiet)
)`

export const needsAction: ViewDeclaration = {
  schema: 'main',
  name: 'needs_action',
  comment:
    'What needs action: one row per survey and reason; of surveys that the API shows and the settings do not exclude. Up to the day quiet_until of its plan, a survey has no reason but late',
  key: ['account', 'survey_id', 'kind'],
  sortedBy: ['urgency', 'due_on', 'account', 'survey_id', 'kind'],
  references: ofSurvey,
  columns: [
    ...columnsFrom(sampleSourceProgress, ['account', 'survey_id']),
    ...columnsFrom(surveys, ['title', 'project_id', 'status']),
    ...columnsOf({
      kind: varcharOf(
        RULES.map(({ kind }) => kind),
        'The reason',
      ),
      urgency: bigint('0 = late for its due date, 1 = somebody should act today, 2 = soon, 3 = worth a look'),
      since: timestamptz.orNull('Since when, server time; null if no reading says'),
      text: varchar('The reason in words, with its numbers'),
      numbers: json('Every number and date of the text, by name'),
    }),
    columnOf(plan, 'due_on', {
      nullable: true,
      comment:
        'Due date of the survey, or else of its project; null without one. Of two equally urgent reasons, the earlier is first',
    }),
    columnOf(sampleSourceProgress, 'sample_source_id', {
      nullable: true,
      comment:
        'ID of the source that is behind most, or that has most interviews rejected; null for other reasons',
    }),
  ],
  sql: `WITH ${reasonSteps('main.active_survey_pace')}
SELECT *
FROM reasons`,
}
