/** What moves a survey's `updated_at` beside its own fields, by the option `touch`: interviews, or changes of its sources. */
import type { Touch } from '../option-texts.js'
import { SURVEY_STATUSES } from '../resources.js'
import { MICROS_PER_SECOND, type Micros } from '../time.js'
import { type FieldSource, IGNORED, INCOMPLETE, type Interviews } from './interviews.js'
import { QUIET_STATUSES } from './sample-sources.js'
import { type Change, statusOf } from './timeline.js'

/** The last touch at or before `at`; -Infinity where there is none. `past` are the survey's own changes by then. Late corrections do not touch. */
export const lastTouch = (
  touch: Touch,
  past: readonly Change[],
  field: readonly FieldSource[],
  at: Micros,
): Micros => {
  let last = Number.NEGATIVE_INFINITY
  const status = past.findLast(({ code }) => statusOf(code) !== null)?.code
  // No interview moves after the survey is complete, and before that none has begun. Deriving interviews takes most of the time.
  const isOpen = status !== undefined && ACTIVE_CODES.has(status)
  for (const { versions, removedAt, interviews } of field) {
    if (touch !== 'interviews')
      for (const moment of [removedAt, ...versions.map((version) => version.at)])
        if (moment !== null && moment <= at) last = Math.max(last, moment)
    if (touch !== 'sources' && isOpen)
      last = Math.max(last, lastMove(interviews(), Math.min(at, removedAt ?? at)))
  }
  return last
}

const ACTIVE_CODES: ReadonlySet<number> = new Set(
  SURVEY_STATUSES.flatMap((status, code) => (QUIET_STATUSES.includes(status) ? [] : [code])),
)

/** When an interview last began or changed its status, at or before `at`. */
const lastMove = (interviews: Interviews, at: Micros): Micros => {
  const { starts, durations, analysisMinutes, statuses } = interviews
  let last = Number.NEGATIVE_INFINITY
  for (let place = 0; place < starts.length; place++) {
    const start = starts[place] ?? 0
    if (start > at) break
    const status = statuses[place] ?? IGNORED
    if (status === IGNORED) continue
    if (start > last) last = start
    if (status === INCOMPLETE) continue
    const end = start + (durations[place] ?? 0) * MICROS_PER_SECOND
    if (end <= at && end > last) last = end
    const decided = end + 60 * (analysisMinutes[place] ?? 0) * MICROS_PER_SECOND
    if (decided <= at && decided > last) last = decided
  }
  return last
}
