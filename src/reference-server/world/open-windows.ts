/** When a survey takes interviews: while it is in fieldwork, and for some in the last hours of pending (a soft launch). */
import { MICROS_PER_SECOND, type Micros } from '../time/iso-time.js'
import { type Change, statusOf } from './timeline.js'

/** From `from` on, up to but without `to`. */
export interface Window {
  readonly from: Micros
  readonly to: Micros
}

const SOFT_LAUNCH_SHARE = 0.2

/** The windows of a survey with these changes, in the order of time. */
export const openWindows = (changes: readonly Change[], softLaunch: boolean): Window[] => {
  const statuses = changes.flatMap(({ at, code }) => {
    const status = statusOf(code)
    return status === null ? [] : [{ at, status }]
  })
  return statuses.flatMap(({ at, status }, place) => {
    const until = statuses[place + 1]?.at
    if (until === undefined) return []
    if (status === 'fieldwork') return [{ from: at, to: until }]
    if (status === 'pending' && softLaunch)
      return [{ from: until - (until - at) * SOFT_LAUNCH_SHARE, to: until }]
    return []
  })
}

/** The parts of `windows` from `from` on; they begin on whole seconds, since interviews do. */
export const windowsFrom = (windows: readonly Window[], from: Micros): Window[] =>
  windows
    .map((window) => ({ from: ceilToSecond(Math.max(window.from, from)), to: window.to }))
    .filter((window) => window.from < window.to)

export const lengthOf = (windows: readonly Window[]): Micros =>
  windows.reduce((sum, { from, to }) => sum + (to - from), 0)

const ceilToSecond = (at: Micros): Micros => Math.ceil(at / MICROS_PER_SECOND) * MICROS_PER_SECOND
