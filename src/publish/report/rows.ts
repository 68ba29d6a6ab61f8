/** The rows of each query, as the page gets them. */
import { z } from 'zod'
import {
  bigintCell,
  booleanCell,
  doubleCell,
  timestamptzCell,
  varcharCell,
} from '../../warehouse/connection/cells.js'
import { TEXT_UNITS_MAX } from './shown-rows.js'

const NUMBER_MAX = 1e15

const count = bigintCell
const text = varcharCell.max(TEXT_UNITS_MAX)
const at = timestamptzCell
/** More digits than these say nothing to a reader, and a page has no room for 300 of them. */
const number = doubleCell.min(-NUMBER_MAX).max(NUMBER_MAX)
/** `2026-03-01`. `read` casts these columns to text. */
const day = z.iso.date()

const ofAccount = { account: text }
const ofSurvey = { account: text, survey_id: count }
const titled = { ...ofSurvey, title: text }
const progress = { interviews_count: count.nullable(), sample_size: count.nullable() }
const pace = {
  pace_days: count.nullable(),
  gained: count.nullable(),
  per_day: number.nullable(),
  gained_last_day: count.nullable(),
}
const forecast = { expected_on: day.nullable(), expected_from: day.nullable(), expected_to: day.nullable() }
const incidence = {
  target_incidence_rate: number.nullable(),
  recent_incidence_rate: number.nullable(),
  earlier_incidence_rate: number.nullable(),
}
const dropOut = {
  drop_out_rate: number.nullable(),
  recent_drop_out_rate: number.nullable(),
  earlier_drop_out_rate: number.nullable(),
}
const change = {
  observed_at: at,
  kind: text,
  field: text.nullable(),
  from_value: text.nullable(),
  to_value: text.nullable(),
}

export const asOfRow = z.object({ ...ofAccount, newest_at: at.nullable(), surveys: count })
export const totalsRow = z.object({
  surveys: count,
  ...progress,
  completion_rate: number.nullable(),
  gained: count.nullable(),
  gained_last_day: count.nullable(),
})
export const inFieldRow = z.object({
  ...titled,
  project_id: text.nullable(),
  status: text,
  ...progress,
  completion_rate: number.nullable(),
  ...pace,
  ...forecast,
  ...incidence,
  ...dropOut,
  refreshed_at: at.nullable(),
})
export const standsStillRow = z.object({
  ...titled,
  ...progress,
  last_gain_at: at.nullable(),
  days: count.nullable(),
})
export const pausedRow = z.object({ ...titled, ...progress, since: at.nullable() })
export const farRow = z.object({
  ...titled,
  ...progress,
  per_day: number.nullable(),
  expected_on: day.nullable(),
})
export const slipRow = z.object({
  ...titled,
  expected_before: day,
  expected_on: day.nullable(),
  days_later: count.nullable(),
})
export const sourceBehindRow = z.object({
  ...titled,
  sample_source_id: count,
  name: text,
  country_code: text,
  ...progress,
  behind: count,
  gained: count.nullable(),
})
export const ratesMovedRow = z.object({
  ...titled,
  earlier_incidence_rate: number.nullable(),
  recent_incidence_rate: number.nullable(),
  earlier_drop_out_rate: number.nullable(),
  recent_drop_out_rate: number.nullable(),
})
export const staleRow = z.object({
  ...titled,
  refreshed_at: at.nullable(),
  days: count.nullable(),
  last_error: text.nullable(),
})
export const changeCountRow = z.object({ is_source: booleanCell, kind: text, changes: count })
export const changeRow = z.object({
  ...ofSurvey,
  title: text.nullable(),
  sample_source_id: count.nullable(),
  name: text.nullable(),
  ...change,
})
export const timelineRow = z.object({
  ...titled,
  status: text,
  since: at,
  until: at.nullable(),
  changed_at: at,
})
export const besideFieldRow = z.object({
  ...titled,
  status: text,
  since: at.nullable(),
  ...progress,
  refreshed_at: at.nullable(),
})

export const surveyRow = z.object({
  ...titled,
  project_id: text.nullable(),
  status: text,
  ...progress,
  completion_rate: number.nullable(),
  ...pace,
  ...forecast,
  last_gain_at: at.nullable(),
  ...incidence,
  ...dropOut,
  length_of_interview: count.nullable(),
  _first_seen_at: at,
  listed_at: at.nullable(),
  refreshed_at: at.nullable(),
  sources_listed_at: at.nullable(),
  source_progress_read_at: at.nullable(),
  last_error: text.nullable(),
})
/** The last observation up to the end of a UTC day, as a number of days since 1970. */
export const dayRow = z.object({
  ...ofSurvey,
  day: count,
  interviews_count: count,
  sample_size: count.nullable(),
  complete: count,
  undecided: count,
  rejected: count,
  not_needed: count,
  screened_out: count,
  incomplete: count,
})
export const interviewsRow = z.object({ ...ofSurvey, status: text, individuals: count })
export const sourceRow = z.object({
  ...ofSurvey,
  sample_source_id: count,
  name: text,
  provider: text,
  country_code: text,
  ...progress,
  completion_rate: number.nullable(),
  behind: count.nullable(),
  gained: count.nullable(),
  expected_on: day.nullable(),
  target_incidence_rate: number.nullable(),
  drop_out_rate: number.nullable(),
})
export const historyRow = z.object({
  ...ofSurvey,
  sample_source_id: count.nullable(),
  name: text.nullable(),
  ...change,
})

export const runRow = z.object({
  run_id: text,
  ...ofAccount,
  command: text.nullable(),
  started_at: at,
  ended_at: at.nullable(),
  seconds: count.nullable(),
  status: text,
  reason: text.nullable(),
  requests: count.nullable(),
  retries: count.nullable(),
  refusals: count.nullable(),
  surveys_refreshed: count.nullable(),
  left_over: count.nullable(),
  rejected_rows: count.nullable(),
})
export const requestsRow = z.object({ ...ofAccount, reason: text, made: count, saved: count })
export const queueRow = z.object({ ...ofAccount, reason: text, surveys: count, failed: count, oldest_at: at })
export const problemRow = z.object({
  ...ofAccount,
  kind: text,
  resource: text,
  what: text,
  occurrences: count,
  last_seen_at: at,
})

export type SurveyRow = z.output<typeof surveyRow>
export type DayRow = z.output<typeof dayRow>
export type SourceRow = z.output<typeof sourceRow>
export type HistoryRow = z.output<typeof historyRow>
