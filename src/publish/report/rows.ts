/** The types of columns, and the columns that rows of several queries share. */
import { z } from 'zod'
import { bigintCell, doubleCell, timestamptzCell, varcharCell } from '../../warehouse/connection/cells.js'
import { TEXT_UNITS_MAX } from './shown-rows.js'

const NUMBER_MAX = 1e15

export const count = bigintCell
export const text = varcharCell.max(TEXT_UNITS_MAX)
export const at = timestamptzCell
/** `2026-03-01`. `read` casts these columns to text. */
export const day = z.iso.date()
/** A larger number says nothing to a reader, and a page has no room for 300 digits. */
const number = doubleCell.min(-NUMBER_MAX).max(NUMBER_MAX)
/** Types of values that may be unknown, which is null. */
export const maybe = {
  count: count.nullable(),
  text: text.nullable(),
  at: at.nullable(),
  day: day.nullable(),
  number: number.nullable(),
}

export const ofSurvey = { account: text, survey_id: count }
export const titled = { ...ofSurvey, title: text }
export const sampleSource = { sample_source_id: count, name: text, country_code: text }
export const progress = { interviews_count: maybe.count, sample_size: maybe.count }
/** The rates of the last days, and of the days before. */
const movedRates = {
  recent_incidence_rate: maybe.number,
  earlier_incidence_rate: maybe.number,
  recent_drop_out_rate: maybe.number,
  earlier_drop_out_rate: maybe.number,
}
/** A change of a survey, or of the named source. */
export const change = {
  sample_source_id: maybe.count,
  name: maybe.text,
  observed_at: at,
  kind: text,
  field: maybe.text,
  from_value: maybe.text,
  to_value: maybe.text,
}
/** What was sold and planned for a survey, and what came in beside it. */
export const sold = {
  ...{ sold_incidence: maybe.number, launch_incidence_rate: maybe.number, sold_loi_minutes: maybe.number },
  ...{ opened_on: maybe.day, expected_by_today: maybe.number },
  ...{ cost: maybe.number, cost_at_target: maybe.number, currency: maybe.text },
}
/** A gain, and how many days it covers. */
export const newestGain = { newest_gain: maybe.count, newest_gain_days: maybe.count }
export const paced = {
  ...{ ...titled, project_id: maybe.text, status: text, ...progress, completion_rate: maybe.number },
  ...{ pace_days: maybe.count, gained: maybe.count, per_day: maybe.number },
  ...newestGain,
  reconstructed_days: maybe.count,
  ...{ expected_on: maybe.day, expected_from: maybe.day, expected_to: maybe.day },
  ...{ due_on: maybe.day, deadline: maybe.text, needed_text: maybe.text },
  ...{ target_incidence_rate: maybe.number, drop_out_rate: maybe.number, ...movedRates },
  refreshed_at: maybe.at,
}
