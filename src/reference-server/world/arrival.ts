/**
 * The pace at which people begin interviews: hardly any at night, most in the evening, later and more evenly at weekends,
 * by the clock of the source's country. The pace is constant within each local hour, so the open hours of a source are a
 * short list, and every start finds its place in it without a search.
 */
import { MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_SECOND, type Micros } from '../time/iso-time.js'
import type { FieldWindow } from './open-windows.js'

/** A stretch of open time, at most an hour, in which interviews begin at one pace. It begins on a whole second. */
export interface OpenHour extends FieldWindow {
  /** How many interviews begin in a given time, relative to the average of a weekday; above 0. */
  readonly pace: number
}

/** By local hour, from midnight on. */
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

/** The open hours of `windows`, in the order of time, at `utcOffsetMinutes` east of UTC. */
export const openHours = (windows: readonly FieldWindow[], utcOffsetMinutes: number): OpenHour[] => {
  const offset = utcOffsetMinutes * 60 * MICROS_PER_SECOND
  const hours: OpenHour[] = []
  for (const window of windows) {
    for (let from = window.from; from < window.to; ) {
      const nextHour = (Math.floor((from + offset) / MICROS_PER_HOUR) + 1) * MICROS_PER_HOUR - offset
      const to = Math.min(nextHour, window.to)
      hours.push({ from, to, settledAt: window.settledAt, pace: paceAt(from + offset) })
      from = to
    }
  }
  return hours
}

/** The total time of `hours`, each weighed by its pace. */
export const weightOf = (hours: readonly OpenHour[]): number =>
  hours.reduce((sum, { from, to, pace }) => sum + (to - from) * pace, 0)

const paceAt = (local: Micros): number => {
  const day = Math.floor(local / MICROS_PER_DAY)
  const hour = Math.floor((local - day * MICROS_PER_DAY) / MICROS_PER_HOUR)
  const isWeekend = (day + DAYS_SINCE_SATURDAY) % 7 < 2
  return (isWeekend ? WEEKEND_PACE : WEEKDAY_PACE)[hour] ?? 1
}

/** Finds the moments of ascending places in open hours. */
export class ArrivalWalk {
  readonly #hours: readonly OpenHour[]
  #place = 0
  #before = 0

  constructor(hours: readonly OpenHour[]) {
    this.#hours = hours
  }

  /** The moment, on a whole second, before which `along` of the weight lies; `along` never gets smaller. */
  at(along: number): Micros {
    for (;;) {
      const hour = this.#hours[this.#place]
      if (hour === undefined) return 0
      const weight = (hour.to - hour.from) * hour.pace
      const isLast = this.#place === this.#hours.length - 1
      if (along - this.#before < weight || isLast) {
        const moment = Math.min(hour.from + (along - this.#before) / hour.pace, hour.to - 1)
        return Math.floor(moment / MICROS_PER_SECOND) * MICROS_PER_SECOND
      }
      this.#before += weight
      this.#place += 1
    }
  }

  /** When the interview that begins at the last moment found is settled. */
  get settledAt(): Micros {
    return this.#hours[this.#place]?.settledAt ?? 0
  }
}
