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

const WEEKDAY_PACE = [
  0.25, 0.1, 0.04, 0.03, 0.03, 0.08, 0.3, 0.7, 0.9, 0.9, 0.95, 1, 1.3, 1.1, 0.9, 0.9, 1, 1.3, 1.7, 2.1, 2.5,
  2.4, 1.5, 0.7,
]
const WEEKEND_PACE = [
  0.4, 0.2, 0.08, 0.04, 0.03, 0.05, 0.12, 0.3, 0.7, 1.2, 1.6, 1.7, 1.4, 1.3, 1.5, 1.5, 1.4, 1.4, 1.4, 1.5,
  1.6, 1.5, 1.1, 0.7,
]
/** 1970-01-01 was a Thursday: days since then, plus so many, are 0 on a Saturday modulo 7. */
const DAYS_SINCE_SATURDAY = 5

/** A stretch of open time within one local hour, in which interviews begin at one pace. */
interface OpenHour extends FieldWindow {
  /** How many interviews begin in a given time, relative to the average of a weekday; above 0. */
  readonly pace: number
}

const openHours = (windows: readonly FieldWindow[], utcOffsetMinutes: number): OpenHour[] => {
  const offset = utcOffsetMinutes * 60 * MICROS_PER_SECOND
  return windows.flatMap((window) => {
    const hours: OpenHour[] = []
    for (let from = window.from; from < window.to; ) {
      const nextHour = (Math.floor((from + offset) / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR - offset
      const to = Math.min(nextHour, window.to)
      hours.push({ from, to, settledAt: window.settledAt, pace: paceAt(from + offset) })
      from = to
    }
    return hours
  })
}

const paceAt = (local: Micros): number => {
  const day = Math.floor(local / MICROS_PER_DAY)
  const hour = Math.floor((local - day * MICROS_PER_DAY) / MICROS_PER_HOUR)
  const isWeekend = (day + DAYS_SINCE_SATURDAY) % 7 < 2
  return (isWeekend ? WEEKEND_PACE : WEEKDAY_PACE)[hour] ?? 1
}

/** The time of the stretch, weighed by its pace. */
const weightOf = ({ from, to, pace }: OpenHour): number => (to - from) * pace

/** Finds the moments of ascending places in open time. */
export class ArrivalWalk {
  /** All open time, weighed by its pace. */
  readonly weight: number
  readonly #hours: IterableIterator<OpenHour>
  #hour: OpenHour = { from: 0, to: 0, settledAt: 0, pace: 1 }
  #before = 0

  /** `windows` are in the order of time, at `utcOffsetMinutes` east of UTC, and begin on whole seconds. None is empty. */
  constructor(windows: readonly FieldWindow[], utcOffsetMinutes: number) {
    const hours = openHours(windows, utcOffsetMinutes)
    this.weight = hours.reduce((sum, hour) => sum + weightOf(hour), 0)
    this.#hours = hours.values()
  }

  /** The moment, on a whole second, before which `along` of the weight lies; `along` never gets smaller. */
  at(along: number): Micros {
    for (let weight = weightOf(this.#hour); along - this.#before >= weight; weight = weightOf(this.#hour)) {
      const { value, done } = this.#hours.next()
      if (done === true) break
      this.#before += weight
      this.#hour = value
    }
    const { from, to, pace } = this.#hour
    const moment = Math.min(from + (along - this.#before) / pace, to - 1)
    return Math.floor(moment / MICROS_PER_SECOND) * MICROS_PER_SECOND
  }

  /** When the interview that begins at the last moment found is settled. */
  get settledAt(): Micros {
    return this.#hour.settledAt
  }
}
