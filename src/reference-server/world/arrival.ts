/**
 * When people begin interviews: in fieldwork, and for some surveys at the end of pending (a soft launch). Hardly any begin at night, most
 * in the evening, later and more evenly at weekends, by the clock of the source's country, at one pace within each local hour.
 */
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_SECOND, type Micros } from '../time.js'
import { type Change, statusOf } from './timeline.js'

/** When a survey is open for interviews: from `from` up to, but not including, `to`. */
export interface FieldWindow {
  readonly from: Micros
  readonly to: Micros
  /** When the survey is complete. After that only late corrections change its interviews. */
  readonly settledAt: Micros
}

const SOFT_LAUNCH_PART = 0.2

/** The windows of a survey with these changes, in the order of time. */
export const openWindows = (changes: readonly Change[], softLaunch: boolean): FieldWindow[] => {
  const statuses = changes.flatMap(({ at, code }) => {
    const status = statusOf(code)
    return status === null ? [] : [{ at, status }]
  })
  return statuses.flatMap(({ at, status }, index) => {
    const until = statuses[index + 1]?.at
    if (until === undefined) return []
    const settledAt = statuses.slice(index).find((later) => later.status === 'complete')?.at ?? until
    if (status === 'fieldwork') return [{ from: at, to: until, settledAt }]
    if (status === 'pending' && softLaunch)
      return [{ from: until - (until - at) * SOFT_LAUNCH_PART, to: until, settledAt }]
    return []
  })
}

const WEEKDAY_PACE = [
  0.25, 0.1, 0.04, 0.03, 0.03, 0.08, 0.3, 0.7, 0.9, 0.9, 0.95, 1, 1.3, 1.1, 0.9, 0.9, 1, 1.3, 1.7, 2.1, 2.5,
  2.4, 1.5, 0.7,
]
const WEEKEND_PACE = [
  0.4, 0.2, 0.08, 0.04, 0.03, 0.05, 0.12, 0.3, 0.7, 1.2, 1.6, 1.7, 1.4, 1.3, 1.5, 1.5, 1.4, 1.4, 1.4, 1.5,
  1.6, 1.5, 1.1, 0.7,
]
/** 1970-01-01 was a Thursday: the days since then plus this number are 0 modulo 7 on a Saturday. */
const DAYS_SINCE_SATURDAY = 5

/**
 * `windows`, which are in the order of time, from `createdAt` on, weighed by the pace at `utcOffsetMinutes` east of UTC: how many
 * interviews begin in a given time, relative to the average of a weekday.
 */
export const openTime = (windows: readonly FieldWindow[], createdAt: Micros, utcOffsetMinutes: number) => {
  const offset = utcOffsetMinutes * 60 * MICROS_PER_SECOND
  const open = windows.flatMap((window) => {
    // On a whole second, because interviews begin on one.
    const from = Math.ceil(Math.max(window.from, createdAt) / MICROS_PER_SECOND) * MICROS_PER_SECOND
    return from < window.to ? [{ ...window, from }] : []
  })
  /** The end of the local hour that holds `from`, or of the window. */
  const hourEnd = (from: Micros, { to }: FieldWindow): Micros =>
    Math.min((Math.floor((from + offset) / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR - offset, to)
  let weight = 0
  for (const window of open)
    for (let from = window.from, to = from; from < window.to; from = to) {
      to = hourEnd(from, window)
      weight += (to - from) * paceAt(from + offset)
    }
  // The position of the last moment. The open hours are walked through again, because a list of them would have hundreds of objects for
  // each source.
  let windowIndex = 0
  let from = open[0]?.from ?? 0
  let before = 0
  return {
    weight,
    /**
     * The moment, on a whole second, before which `along` of the weight lies, and the time after which an interview that begins at this
     * moment no longer changes. `along` never gets smaller from call to call: a search for each moment took a tenth of the time of a
     * survey.
     */
    momentAt: (along: number) => {
      for (let window = open[windowIndex]; window !== undefined; window = open[windowIndex]) {
        const to = hourEnd(from, window)
        const pace = paceAt(from + offset)
        const after = before + (to - from) * pace
        const next = to < window.to ? to : open[windowIndex + 1]?.from
        if (along < after || next === undefined) {
          const moment = Math.min(from + (along - before) / pace, to - 1)
          const start = Math.floor(moment / MICROS_PER_SECOND) * MICROS_PER_SECOND
          return { start, settledAt: window.settledAt }
        }
        if (to === window.to) windowIndex += 1
        before = after
        from = next
      }
      throw new Error('there is no open time')
    },
  }
}

const paceAt = (local: Micros): number => {
  const day = Math.floor(local / MICROS_PER_DAY)
  const hour = Math.floor((local - day * MICROS_PER_DAY) / MICROS_PER_HOUR)
  const isWeekend = (day + DAYS_SINCE_SATURDAY) % 7 < 2
  return (isWeekend ? WEEKEND_PACE : WEEKDAY_PACE)[hour] ?? 1
}
