/** The days of a time zone: which one a moment is in, and from when to when it is. 23 or 25 hours where clocks change. */
import { type Instant, instantFromMs, instantToMs } from './instant.js'

/** A day as the API is asked for it: interviews that started from `startedAfter` to `startedBefore`, both included. */
export interface DayWindow {
  /** `2026-03-01`. */
  readonly day: string
  readonly startedAfter: Instant
  readonly startedBefore: Instant
}

export interface Calendar {
  /** The day of a moment. */
  dayOf(at: Instant): string
  /** Null where the time zone leaves out that day, as some did that moved across the date line. */
  windowOf(day: string): DayWindow | null
}

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
/** No time zone is further from UTC. */
const OFFSET_MS_MAX = DAY_MS

/**
 * Both bounds of the API are inclusive (API document, "View the fieldwork progress of a survey"), so a day ends a
 * microsecond, the smallest step of an `Instant`, before the next begins: no interview is in two days, and one that
 * starts at midnight is in the day that begins with it. Throws a `RangeError` where there is no such time zone.
 */
export const createCalendar = (timeZone: string): Calendar => {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  const localDay = (ms: number): string => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
    return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`
  }
  /**
   * The first minute whose local date is that day, or a later one. Searched for, by halving: no arithmetic knows when
   * clocks change, and a day need not begin at midnight.
   */
  const startOf = (day: string): Instant => {
    const midnightMs = Date.parse(`${day}T00:00:00Z`)
    let before = (midnightMs - OFFSET_MS_MAX) / MINUTE_MS
    let from = (midnightMs + OFFSET_MS_MAX) / MINUTE_MS
    while (from - before > 1) {
      const middle = Math.floor((before + from) / 2)
      if (localDay(middle * MINUTE_MS) >= day) from = middle
      else before = middle
    }
    return instantFromMs(from * MINUTE_MS)
  }
  return {
    dayOf: (at) => localDay(instantToMs(at)),
    windowOf: (day) => {
      const startedAfter = startOf(day)
      const next = startOf(addDays(day, 1))
      return next > startedAfter ? { day, startedAfter, startedBefore: next - 1n } : null
    },
  }
}

export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
