/** The queries of the overview: what needs action, what is in the field, and what has changed. */
import { z } from 'zod'
import { booleanCell } from '../../../warehouse/connection/cells.js'
import { hoursBefore, NEWEST_STEPS } from '../../../warehouse/history/days.js'
import { FIELD_GAINS } from '../../../warehouse/history/gains.js'
import { IS_QUIET } from '../../../warehouse/views/needs-action.js'
import { SURVEY_PLANS_STEP } from '../../../warehouse/views/plan.js'
import { CLOSED, IN_FIELD } from '../../../warehouse/views/statuses.js'
import {
  at,
  change,
  count,
  day,
  maybe,
  newestGain,
  ofSurvey,
  paced,
  progress,
  text,
  titled,
} from '../rows.js'
import { NEWEST, type Query, RECENT_HOURS } from './query.js'

const LAST_DAY = `FROM record_changes c
JOIN ${NEWEST} n ON n.account = c.account
LEFT JOIN surveys s ON s.account = c.account AND s.id = c.survey_id
LEFT JOIN sample_sources o ON o.account = c.account AND o.survey_id = c.survey_id AND o.id = c.sample_source_id
WHERE epoch_us(c.observed_at) > ${hoursBefore('n.newest_at', 24)}`

export const CHANGES_SHOWN = 100

export const overview = {
  asOf: {
    name: 'as-of',
    title: 'As of when each account is known',
    row: z.object({ account: text, newest_at: maybe.at, surveys: count }),
    select: `SELECT account, max(greatest(listed_at, refreshed_at)) AS newest_at, count(*) AS surveys
FROM freshness
GROUP BY account`,
    order: 'account ASC',
  },
  totals: {
    name: 'totals',
    title: 'Totals of the field',
    row: z.object({
      surveys: count,
      ...progress,
      completion_rate: maybe.number,
      ...newestGain,
      ...{ week_gain: maybe.count, week_gain_days: maybe.count },
    }),
    select: `SELECT *
FROM (
  SELECT count(*) AS surveys, coalesce(sum(interviews_count) FILTER (sample_size > 0), sum(interviews_count)) AS interviews_count,
    sum(sample_size) AS sample_size,
    CAST(sum(interviews_count) FILTER (sample_size > 0) AS DOUBLE) / nullif(sum(sample_size), 0) AS completion_rate
  FROM survey_pace
  WHERE status IN ${IN_FIELD}
), (
${FIELD_GAINS}
)`,
    order: 'surveys ASC',
  },
  needsAction: {
    name: 'needs-action',
    title: 'Today',
    row: z.object({
      ...{ ...titled, project_id: maybe.text, ...progress, completion_rate: maybe.number },
      ...{ kind: text, urgency: count, text, source_name: maybe.text, supplier: maybe.text, since: maybe.at },
    }),
    select: `SELECT a.account, a.survey_id, a.title, a.project_id, g.interviews_count, g.sample_size, g.completion_rate,
  a.kind, a.urgency, a.text, o.name AS source_name, o.supplier, a.since, a.due_on,
  min(a.urgency) OVER (PARTITION BY a.account, a.survey_id) AS most_urgent,
  count(*) OVER (PARTITION BY a.account, a.survey_id) AS reasons
FROM needs_action a
LEFT JOIN survey_progress g USING (account, survey_id)
LEFT JOIN source_overview o USING (account, survey_id, sample_source_id)`,
    order:
      'most_urgent ASC, due_on ASC NULLS LAST, reasons DESC, account ASC, survey_id ASC, urgency ASC, kind ASC',
  },
  quiet: {
    name: 'quiet',
    title: 'Surveys that the plan keeps quiet',
    row: z.object({ ...titled, quiet_until: day }),
    select: `WITH ${NEWEST_STEPS},
${SURVEY_PLANS_STEP}
SELECT s.account, s.id AS survey_id, s.title, l.quiet_until
FROM survey_plans l
JOIN newest n ON n.account = l.account
JOIN surveys s ON s.account = l.account AND s.id = l.survey_id AND s._missing_since IS NULL AND s.status NOT IN ${CLOSED}
WHERE ${IS_QUIET}`,
    order: 'quiet_until ASC, account ASC, survey_id ASC',
  },
  inField: {
    name: 'in-field',
    title: 'Surveys in the field',
    row: z.object(paced),
    select: `SELECT account, survey_id, title, project_id, status, interviews_count, sample_size, completion_rate, pace_days, gained, per_day,
  newest_gain, newest_gain_days, reconstructed_days, expected_on, expected_from, expected_to, due_on, deadline, needed_text,
  target_incidence_rate, recent_incidence_rate, earlier_incidence_rate,
  drop_out_rate, recent_drop_out_rate, earlier_drop_out_rate, refreshed_at
FROM survey_pace
WHERE status IN ${IN_FIELD}`,
    order: 'expected_on DESC NULLS FIRST, account ASC, survey_id ASC',
  },
  goodNews: {
    name: 'good-news',
    title: 'Good news',
    row: z.object({ ...titled, kind: text, text }),
    select: `SELECT account, survey_id, title, kind, text
FROM good_news`,
    order: `kind = 'soft_launch' DESC, account ASC, survey_id ASC, kind ASC`,
    limit: CHANGES_SHOWN,
  },
  /** Of the targets that were reached in the last four weeks. */
  accuracy: {
    name: 'forecast-accuracy',
    title: 'How good the forecasts of two weeks before were',
    row: z.object({ reached: count, ranges: count, inside: count, days_off: maybe.number }),
    select: `SELECT count(*) AS reached, count(is_inside) AS ranges, count(*) FILTER (is_inside) AS inside, median(abs(days_late)) AS days_off
FROM forecast_accuracy
WHERE days_before = 14 AND expected_on IS NOT NULL AND reached_on > (SELECT max(progress_day) FROM freshness) - 28`,
    order: 'reached ASC',
  },
  besideField: {
    name: 'beside-field',
    title: 'Before and after the field',
    row: z.object({ ...titled, status: text, since: maybe.at, ...progress, refreshed_at: maybe.at }),
    select: `SELECT p.account, p.survey_id, p.title, p.status, max(c.observed_at) AS since, p.interviews_count, p.sample_size, p.refreshed_at
FROM survey_pace p
JOIN ${NEWEST} n USING (account)
LEFT JOIN survey_status_changes c USING (account, survey_id)
WHERE p.status NOT IN ('draft', 'user_demo', 'fieldwork', 'deviating_from_specs')
GROUP BY ALL
HAVING p.status <> 'complete' OR epoch_us(max(c.observed_at) FILTER (c.from_status IS NOT NULL)) > ${hoursBefore('any_value(n.newest_at)', RECENT_HOURS)}`,
    order: 'status ASC, since DESC, account ASC, survey_id ASC',
  },
  /** Statuses of the last 60 days of the surveys whose status changed in the last 14 days. */
  timeline: {
    name: 'timeline',
    title: 'Status timeline',
    row: z.object({ ...titled, status: text, since: at, until: maybe.at, changed_at: at }),
    select: `WITH periods AS (
  SELECT account, survey_id, to_status AS status, observed_at AS since,
    lead(observed_at) OVER (PARTITION BY account, survey_id ORDER BY observed_at ASC) AS until,
    max(observed_at) FILTER (from_status IS NOT NULL) OVER (PARTITION BY account, survey_id) AS changed_at
  FROM survey_status_changes
)
SELECT p.account AS account, p.survey_id, s.title, p.status, p.since, p.until, p.changed_at
FROM periods p
JOIN ${NEWEST} n ON n.account = p.account
JOIN surveys s ON s.account = p.account AND s.id = p.survey_id AND s._missing_since IS NULL
WHERE epoch_us(p.changed_at) > ${hoursBefore('n.newest_at', RECENT_HOURS)} AND epoch_us(coalesce(p.until, n.newest_at)) > ${hoursBefore('n.newest_at', 1440)}`,
    order: 'changed_at DESC, account ASC, survey_id ASC, since ASC',
  },
  changeCounts: {
    name: 'change-counts',
    title: 'Number of changes in the last 24 hours',
    row: z.object({ is_source: booleanCell, kind: text, changes: count }),
    select: `SELECT c.sample_source_id IS NOT NULL AS is_source, c.kind, count(*) AS changes
${LAST_DAY}
GROUP BY ALL`,
    order: 'is_source ASC, kind ASC',
  },
  changes: {
    name: 'changes',
    title: 'Changes in the last 24 hours',
    row: z.object({ ...ofSurvey, title: maybe.text, ...change }),
    select: `SELECT c.account AS account, c.survey_id AS survey_id, s.title, c.sample_source_id, o.name, c.observed_at, c.kind, c.field, c.from_value, c.to_value
${LAST_DAY}`,
    order: `field IS DISTINCT FROM 'status' ASC, sample_source_id ASC NULLS FIRST, account ASC, survey_id ASC, observed_at ASC, kind ASC, field ASC`,
    limit: CHANGES_SHOWN,
  },
} satisfies Readonly<Record<string, Query>>
