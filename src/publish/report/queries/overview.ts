/** The queries of the overview: what needs action, what is in the field, and what has changed. */
import { z } from 'zod'
import { booleanCell } from '../../../warehouse/connection/cells.js'
import { utcDay } from '../../../warehouse/history/compaction.js'
import { FORECAST_PACE_DAYS_MIN } from '../../../warehouse/views/pace.js'
import {
  at,
  change,
  count,
  day,
  maybe,
  movedRates,
  ofSurvey,
  paced,
  progress,
  sampleSource,
  text,
  titled,
} from '../rows.js'
import { CLOSED, hoursBefore, IN_FIELD, NEWEST, type Query } from './query.js'

/** The API has no date on which a survey must end. Few surveys are planned for longer than a quarter. */
export const FAR_DAYS = 90

const LAST_DAY = `FROM record_changes c
JOIN ${NEWEST} n ON n.account = c.account
LEFT JOIN surveys s ON s.account = c.account AND s.id = c.survey_id
LEFT JOIN sample_sources o ON o.account = c.account AND o.survey_id = c.survey_id AND o.id = c.sample_source_id
WHERE epoch_us(c.observed_at) > ${hoursBefore('n.newest_at', 24)}
  AND (c.kind <> 'added' OR c.sample_source_id IS NULL OR c.observed_at > s._first_seen_at)`

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
      gained: maybe.count,
      gained_last_day: maybe.count,
    }),
    select: `SELECT count(*) AS surveys, sum(p.interviews_count) AS interviews_count, sum(p.sample_size) AS sample_size,
  CAST(sum(p.interviews_count) FILTER (p.sample_size > 0) AS DOUBLE) / nullif(sum(p.sample_size), 0) AS completion_rate, sum(p.gained) AS gained,
  sum(p.gained_last_day) FILTER (epoch_us(p.refreshed_at) >= ${hoursBefore('n.newest_at', 24)}) AS gained_last_day
FROM survey_pace p
JOIN ${NEWEST} n ON n.account = p.account
WHERE p.status IN ${IN_FIELD}`,
    order: 'surveys ASC',
  },
  paused: {
    name: 'paused',
    title: 'Paused',
    row: z.object({ ...titled, ...progress, since: maybe.at }),
    select: `SELECT p.account, p.survey_id, p.title, p.interviews_count, p.sample_size, max(c.observed_at) AS since
FROM survey_pace p
LEFT JOIN survey_status_changes c USING (account, survey_id)
WHERE p.status = 'deviating_from_specs'
GROUP BY ALL`,
    order: 'since ASC, account ASC, survey_id ASC',
  },
  standsStill: {
    name: 'stands-still',
    title: 'Stand still',
    row: z.object({ ...titled, ...progress, last_gain_at: maybe.at, days: maybe.count }),
    select: `SELECT account, survey_id, title, interviews_count, sample_size, last_gain_at,
  ${utcDay('refreshed_at')} - ${utcDay('last_gain_at')} AS days
FROM survey_pace
WHERE status = 'fieldwork' AND coalesce(interviews_count < sample_size, true)
  AND (epoch_us(last_gain_at) < ${hoursBefore('refreshed_at', 72)} OR (last_gain_at IS NULL AND pace_days >= 3))`,
    order: 'last_gain_at ASC NULLS FIRST, account ASC, survey_id ASC',
  },
  /** Those that stand still have a list of their own. A pace of one or two days says too little. */
  far: {
    name: 'far',
    title: 'Far from target',
    row: z.object({ ...titled, ...progress, per_day: maybe.number, expected_on: maybe.day }),
    select: `SELECT account, survey_id, title, interviews_count, sample_size, per_day, expected_on
FROM survey_pace
WHERE status = 'fieldwork' AND pace_days >= 3 AND ${FAR_DAYS} * per_day < sample_size - interviews_count
  AND epoch_us(last_gain_at) >= ${hoursBefore('refreshed_at', 72)}`,
    order: 'expected_on DESC NULLS FIRST, account ASC, survey_id ASC',
  },
  slips: {
    name: 'slips',
    title: 'Forecast slips',
    row: z.object({ ...titled, expected_before: day, expected_on: maybe.day, days_later: maybe.count }),
    select: `WITH earlier AS (
  SELECT h.account, h.survey_id, p.refreshed_at,
    max_by(h.sample_size, h.observed_at) FILTER (epoch_us(h.observed_at) < ${hoursBefore('p.refreshed_at', 156)}) AS sample_size,
    max_by(h.interviews_count, h.observed_at) FILTER (epoch_us(h.observed_at) < ${hoursBefore('p.refreshed_at', 156)}) AS week_ago,
    max_by(h.interviews_count, h.observed_at) FILTER (epoch_us(h.observed_at) < ${hoursBefore('p.refreshed_at', 324)}) AS two_weeks_ago
  FROM survey_progress_history h
  JOIN survey_pace p ON p.account = h.account AND p.survey_id = h.survey_id
  WHERE p.status = 'fieldwork'
  GROUP BY ALL
), forecasts AS (
  SELECT account, survey_id, ${utcDay('refreshed_at')} - 7 + CAST(ceil(7 * CAST(sample_size - week_ago AS DOUBLE) / (week_ago - two_weeks_ago)) AS INTEGER) AS expected_before
  FROM earlier
  WHERE week_ago > two_weeks_ago AND week_ago < sample_size AND 7 * CAST(sample_size - week_ago AS DOUBLE) / (week_ago - two_weeks_ago) <= 3650
)
SELECT p.account, p.survey_id, p.title, f.expected_before, p.expected_on, CAST(p.expected_on - f.expected_before AS BIGINT) AS days_later
FROM survey_pace p
JOIN forecasts f USING (account, survey_id)
WHERE p.interviews_count < p.sample_size AND p.pace_days >= ${FORECAST_PACE_DAYS_MIN}
  AND (p.expected_on IS NULL OR (p.expected_on >= f.expected_before + 3 AND p.expected_from > f.expected_before))`,
    order: 'days_later DESC NULLS FIRST, account ASC, survey_id ASC',
  },
  sourcesBehind: {
    name: 'sources-behind',
    title: 'Sources behind',
    row: z.object({ ...titled, ...sampleSource, ...progress, behind: count, gained: maybe.count }),
    select: `SELECT s.account, s.survey_id, p.title, s.sample_source_id, s.name, s.country_code, s.interviews_count, s.sample_size,
  s.behind, s.gained
FROM sample_source_pace s
JOIN survey_pace p USING (account, survey_id)
WHERE p.status IN ${IN_FIELD} AND s.behind >= 0.1 * s.sample_size`,
    order: 'behind DESC, account ASC, survey_id ASC, sample_source_id ASC',
  },
  ratesMoved: {
    name: 'rates-moved',
    title: 'Rates have moved',
    row: z.object({ ...titled, ...movedRates }),
    select: `SELECT account, survey_id, title, earlier_incidence_rate, recent_incidence_rate, earlier_drop_out_rate, recent_drop_out_rate
FROM survey_pace
WHERE status = 'fieldwork' AND gained >= 20
  AND (abs(recent_incidence_rate - earlier_incidence_rate) >= 0.1 OR abs(recent_drop_out_rate - earlier_drop_out_rate) >= 0.1)`,
    order: 'account ASC, survey_id ASC',
  },
  stale: {
    name: 'stale',
    title: 'Stale',
    row: z.object({ ...titled, refreshed_at: maybe.at, days: maybe.count, last_error: maybe.text }),
    select: `SELECT o.account, o.id AS survey_id, o.title, o.refreshed_at,
  ${utcDay('n.newest_at')} - ${utcDay('o.refreshed_at')} AS days, o.last_error
FROM survey_overview o
JOIN ${NEWEST} n USING (account)
WHERE o.status NOT IN ${CLOSED} AND o._missing_since IS NULL
  AND (o.refreshed_at IS NULL OR epoch_us(o.refreshed_at) < ${hoursBefore('n.newest_at', 24)} OR o.last_error IS NOT NULL)`,
    order: 'refreshed_at ASC NULLS FIRST, account ASC, survey_id ASC',
  },
  inField: {
    name: 'in-field',
    title: 'Surveys in the field',
    row: z.object(paced),
    select: `SELECT account, survey_id, title, project_id, status, interviews_count, sample_size, completion_rate, pace_days, gained, per_day,
  gained_last_day, expected_on, expected_from, expected_to, target_incidence_rate, recent_incidence_rate, earlier_incidence_rate,
  drop_out_rate, recent_drop_out_rate, earlier_drop_out_rate, refreshed_at
FROM survey_pace
WHERE status IN ${IN_FIELD}`,
    order: 'expected_on DESC NULLS FIRST, account ASC, survey_id ASC',
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
HAVING p.status <> 'complete' OR epoch_us(max(c.observed_at) FILTER (c.from_status IS NOT NULL)) > ${hoursBefore('any_value(n.newest_at)', 336)}`,
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
WHERE epoch_us(p.changed_at) > ${hoursBefore('n.newest_at', 336)} AND epoch_us(coalesce(p.until, n.newest_at)) > ${hoursBefore('n.newest_at', 1440)}`,
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
