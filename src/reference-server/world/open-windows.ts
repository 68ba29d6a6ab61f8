/** When a survey is open for interviews: in fieldwork, and for some surveys at the end of pending (a soft launch). */
import { MICROS_PER_SECOND, type Micros } from '../time/iso-time.js'
import { type Change, statusOf } from './timeline.js'

/** From `from` up to, but not including, `to`. */
export interface Window {
  readonly from: Micros
  readonly to: Micros
}

/** A window that is open for interviews. */
export interface FieldWindow extends Window {
  /** When the survey is complete; after that none of its interviews changes. */
  readonly settledAt: Micros
}

const SOFT_LAUNCH_PART = 0.2

/** The windows of a survey with these changes, in the order of time. */
export const openWindows = (changes: readonly Change[], softLaunch: boolean): FieldWindow[] => {
  const statuses = changes.flatMap(({ at, code }) => {
    const status = statusOf(code)
    return status === null ? [] : [{ at, status }]
  })
  return statuses.flatMap(({ at, status }, place) => {
    const until = statuses[place + 1]?.at
    if (until === undefined) return []
    const settledAt = statuses.slice(place).find((later) => later.status === 'complete')?.at ?? until
    if (status === 'fieldwork') return [{ from: at, to: until, settledAt }]
    if (status === 'pending' && softLaunch)
      return [{ from: until - (until - at) * SOFT_LAUNCH_PART, to: until, settledAt }]
    return []
  })
}

/** The parts of `windows` from `from` on. They begin on whole seconds, because interviews do. */
export const windowsFrom = (windows: readonly FieldWindow[], from: Micros): FieldWindow[] =>
  windows
    .map((window) => ({ ...window, from: ceilToSecond(Math.max(window.from, from)) }))
    .filter((window) => window.from < window.to)

const ceilToSecond = (at: Micros): Micros => Math.ceil(at / MICROS_PER_SECOND) * MICROS_PER_SECOND
