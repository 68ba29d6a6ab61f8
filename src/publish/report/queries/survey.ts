/** The queries of the sections of surveys. On the page, each section shows the rows of its survey. */
import { z } from 'zod'
import { INTERVIEW_STATUSES, type InterviewStatus } from '../../../model/fields.js'
import { surveyProgressHistory, surveyProgressReconstructed } from '../../../model/tables.js'
import { booleanCell } from '../../../warehouse/connection/cells.js'
import { hoursBefore } from '../../../warehouse/history/days.js'
import { QUALITY_REJECTS, UNDECIDED } from '../../../warehouse/views/interview-counts.js'
import { observationsSql } from '../../../warehouse/views/pace.js'
import { CLOSED, IN_FIELD } from '../../../warehouse/views/statuses.js'
import { at, change, count, maybe, ofSurvey, paced, progress, sampleSource, sold, text } from '../rows.js'
import { NEWEST, type Query, RECENT_HOURS } from './query.js'

/** The bands of the chart of interviews by status, from the bottom to the top. */
export const BANDS = [
  ['complete', ['complete']],
  ['undecided', UNDECIDED],
  ['rejected', QUALITY_REJECTS],
  ['not_needed', ['quota_full', 'above_target']],
  ['screened_out', ['screen_out']],
  ['incomplete', ['incomplete']],
] as const satisfies readonly (readonly [string, readonly InterviewStatus[]])[]

const bandColumns = BANDS.map(([band, statuses]) => {
  const counts = statuses.map((status) => `coalesce(${status}_individuals, 0)`)
  return `${counts.join(' + ')} AS ${band}`
})

/** The last observation up to the end of a day of fieldwork, as a number of days since 1970. */
export const dayRow = z.object({
  ...{ ...ofSurvey, day: count, interviews_count: count, sample_size: maybe.count },
  ...{ complete: count, undecided: count, rejected: count },
  ...{ not_needed: count, screened_out: count, incomplete: count },
  is_reconstructed: booleanCell,
})
export type DayRow = z.output<typeof dayRow>

/** A page has room for some 250 sections (`SECTIONS_BYTES_MAX`), so the details of more surveys would be read in vain. */
const SECTIONS_MAX = 500

export const survey = {
  /**
   * The surveys that may have a section: all but drafts, demos, and surveys that closed more than two weeks ago, in the order in which they
   * need attention.
   */
  surveys: {
    name: 'surveys',
    title: 'A survey',
    row: z.object({
      ...{
        ...paced,
        last_gain_at: maybe.at,
        length_of_interview: maybe.count,
        last_error: maybe.text,
        excluded_by: maybe.text,
        hashid: maybe.text,
        slowest_source: maybe.text,
        slowest_source_on: maybe.day,
        owner: maybe.text,
        due_note: maybe.text,
      },
      ...{ _first_seen_at: at, listed_at: maybe.at, sources_listed_at: maybe.at },
      sources_known_at: maybe.at,
      ...sold,
      of_surveys: count,
    }),
    select: `SELECT p.account AS account, p.survey_id AS survey_id, p.title, p.project_id, p.status, p.interviews_count, p.sample_size, p.completion_rate,
  p.pace_days, p.gained, p.per_day, p.newest_gain, p.newest_gain_days, p.reconstructed_days, p.expected_on, p.expected_from, p.expected_to, p.due_on, p.deadline, p.needed_text, p.last_gain_at,
  p.target_incidence_rate, p.recent_incidence_rate, p.earlier_incidence_rate,
  p.drop_out_rate, p.recent_drop_out_rate, p.earlier_drop_out_rate, g.length_of_interview,
  z.name AS slowest_source, p.slowest_source_on, p.owner, p.due_note, p.sold_incidence, p.launch_incidence_rate, p.sold_loi_minutes, p.opened_on, p.expected_by_today, p.cost, p.cost_at_target, p.currency,
  s.hashid, s._first_seen_at, f.listed_at, f.refreshed_at, f.sources_listed_at, CASE WHEN f.source_progress_read_at IS NOT NULL THEN f.refreshed_at END AS sources_known_at, f.last_error, f.excluded_by,
  a.most_urgent, a.reason_due_on, a.reasons, a.reasons IS NULL AND p.status NOT IN ${IN_FIELD} AS is_beside_field,
  CASE WHEN a.reasons IS NULL AND p.status IN ${IN_FIELD} THEN p.expected_on END AS forecast_on, count(*) OVER () AS of_surveys
FROM survey_pace p
JOIN surveys s ON s.account = p.account AND s.id = p.survey_id
JOIN survey_progress g ON g.account = p.account AND g.survey_id = p.survey_id
JOIN freshness f ON f.account = p.account AND f.survey_id = p.survey_id
JOIN ${NEWEST} n ON n.account = p.account
LEFT JOIN sample_sources z ON z.account = p.account AND z.survey_id = p.survey_id AND z.id = p.slowest_source_id
LEFT JOIN (SELECT account, survey_id, min(urgency) AS most_urgent, any_value(due_on) AS reason_due_on, count(*) AS reasons FROM needs_action GROUP BY ALL) a
  ON a.account = p.account AND a.survey_id = p.survey_id
LEFT JOIN (SELECT account, survey_id, max(observed_at) AS changed_at FROM survey_status_changes WHERE from_status IS NOT NULL GROUP BY ALL) c
  ON c.account = p.account AND c.survey_id = p.survey_id
WHERE p.status NOT IN ${CLOSED} OR (p.status = 'complete' AND epoch_us(c.changed_at) > ${hoursBefore('n.newest_at', RECENT_HOURS)})`,
    order:
      'most_urgent ASC NULLS LAST, reason_due_on ASC NULLS LAST, reasons DESC NULLS LAST, is_beside_field ASC, forecast_on DESC NULLS FIRST, account ASC, survey_id ASC',
    limit: SECTIONS_MAX,
  },
  /** Points of the curves: readings with the number of complete interviews, and reconstructed days before the first reading. */
  observations: {
    name: 'observations',
    title: 'Completes and interviews by status over time',
    select: `SELECT account, survey_id, observed_at, day, interviews_count, sample_size,
  ${bandColumns.join(',\n  ')}, is_reconstructed
FROM (
  ${observationsSql(surveyProgressHistory, surveyProgressReconstructed)}
)
WHERE interviews_count IS NOT NULL`,
    order: 'account ASC, survey_id ASC, observed_at ASC',
  },
  interviews: {
    name: 'interviews',
    title: 'Interviews by status',
    row: z.object({ ...ofSurvey, status: text, individuals: count }),
    select: `SELECT account, survey_id, status, individuals
FROM interview_status_counts
WHERE sample_source_id IS NULL AND individuals > 0`,
    order: `account ASC, survey_id ASC, list_position([${INTERVIEW_STATUSES.map((status) => `'${status}'`).join(', ')}], status) ASC NULLS LAST, status ASC`,
  },
  sources: {
    name: 'sources',
    title: 'Sources side by side',
    row: z.object({
      ...{ ...ofSurvey, ...sampleSource, provider: text, ...progress, completion_rate: maybe.number },
      ...{ behind: maybe.count, gained: maybe.count, expected_on: maybe.day },
      ...{ target_incidence_rate: maybe.number, drop_out_rate: maybe.number },
      ...{ supplier: maybe.text, cpi: maybe.number, currency: maybe.text },
    }),
    select: `SELECT s.account, s.survey_id, s.sample_source_id, s.name, s.provider, s.country_code, s.interviews_count, s.sample_size,
  s.completion_rate, s.behind, s.gained, s.expected_on, p.target_incidence_rate, p.drop_out_rate,
  o.supplier, o.cpi, o.currency
FROM sample_source_pace s
LEFT JOIN sample_source_progress p USING (account, survey_id, sample_source_id)
LEFT JOIN source_overview o USING (account, survey_id, sample_source_id)`,
    order: 'account ASC, survey_id ASC, behind DESC NULLS LAST, sample_source_id ASC',
  },
  quality: {
    name: 'source-quality',
    title: 'Quality of the sources',
    row: z.object({
      ...{ ...ofSurvey, sample_source_id: count, name: text },
      ...{ rejected_rate: maybe.number, undecided: maybe.count, quota_full_rate: maybe.number },
      ...{ loi_minutes: maybe.number, cost_per_good: maybe.number, currency: maybe.text },
    }),
    select: `SELECT account, survey_id, sample_source_id, name,
  rejected_rate, undecided, quota_full_rate, loi_minutes, cost_per_good, currency
FROM source_overview`,
    order: 'account ASC, survey_id ASC, rejected_rate DESC NULLS LAST, sample_source_id ASC',
  },
  history: {
    name: 'history',
    title: 'History of status and fields',
    row: z.object({ ...ofSurvey, ...change }),
    select: `SELECT c.account AS account, c.survey_id AS survey_id, c.observed_at, c.sample_source_id, o.name, c.kind, c.field, c.from_value, c.to_value
FROM record_changes c
JOIN surveys s ON s.account = c.account AND s.id = c.survey_id
LEFT JOIN sample_sources o ON o.account = c.account AND o.survey_id = c.survey_id AND o.id = c.sample_source_id
WHERE c.kind <> 'added' OR c.sample_source_id IS NOT NULL`,
    order:
      'account ASC, survey_id ASC, observed_at DESC, sample_source_id ASC NULLS FIRST, kind ASC, field ASC',
  },
} satisfies Readonly<Record<string, Query>>

export type SurveyRow = z.output<typeof survey.surveys.row>
