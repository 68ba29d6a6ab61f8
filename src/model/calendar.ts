/** The days of a time zone: the day of a moment, and its first and last instant. A day with a change of clocks may have 23 or 25 hours. */
import { DAY_MS, SECOND_MS } from '../base/durations.js'
import { type Instant, instantFromMs, instantToMs } from './instant.js'

/** A part of a survey as a request names it: interviews that started from `startedAfter` to `startedBefore`, both included. */
export interface Window {
  /** The day at whose end the window ends: `2026-03-01`. */
  readonly day: string
  /** Null: all interviews up to the end. */
  readonly startedAfter: Instant | null
  readonly startedBefore: Instant
}

/** The window of a whole day. */
export interface DayWindow extends Window {
  readonly startedAfter: Instant
}

export type Calendar = ReturnType<typeof createCalendar>

export interface ClockChange {
  readonly atMs: number
  readonly aheadMs: number
}

/** An upper bound: no time zone is further from UTC. */
const OFFSET_MS_MAX = DAY_MS
/** Clocks do not change twice within this time: since 1970, two changes of a time zone were always more than two days apart. */
const CHANGES_APART_MS = DAY_MS

/**
 * A day begins with the first instant of its date, or of a later date if the time zone skips that day. It ends a microsecond, the
 * smallest step of an `Instant`, before the next day begins. So every instant is in exactly one day, also when clocks go back past
 * midnight (docs/decisions/bundles-and-refusals.md#0008-a-day-ends-one-microsecond-before-the-next-begins).
 * Throws a `RangeError` for an unknown time zone.
 */
export const createCalendar = (timeZone: string) => {
  const aheadMs = readOffsets(timeZone)

  /** The first instant after `fromMs` with another offset; null without one up to `untilMs`. */
  const nextChange = (fromMs: number, untilMs: number): number | null => {
    const offset = aheadMs(fromMs)
    let [before, after] = [fromMs, fromMs]
    do {
      if (after >= untilMs) return null
      before = after
      after = Math.min(before + CHANGES_APART_MS, untilMs)
    } while (aheadMs(after) === offset)
    while (after - before > SECOND_MS) {
      const middle = before + Math.floor((after - before) / 2 / SECOND_MS) * SECOND_MS
      if (aheadMs(middle) === offset) before = middle
      else after = middle
    }
    return after
  }

  /** Searches from one change of the clocks to the next, because a change may move midnight or skip it. */
  const startMsOf = (day: string): number => {
    const utcMidnight = Date.parse(`${day}T00:00:00Z`)
    let from = utcMidnight - OFFSET_MS_MAX
    for (;;) {
      const midnight = Math.max(from, utcMidnight - aheadMs(from))
      const change = nextChange(from, midnight)
      if (change === null) return midnight
      from = change
    }
  }

  return {
    /** By how much the clocks are ahead of UTC, ms: at `fromMs`, and after each change up to `untilMs`. */
    changes: (fromMs: number, untilMs: number): readonly ClockChange[] => {
      const changes: ClockChange[] = []
      for (let at: number | null = fromMs; at !== null; at = nextChange(at, untilMs))
        changes.push({ atMs: at, aheadMs: aheadMs(at) })
      return changes
    },
    /** The day whose window contains a moment. */
    dayOf: (at: Instant): string => {
      const ms = instantToMs(at)
      let day = isoDay(ms + aheadMs(ms))
      for (let next = addDays(day, 1); startMsOf(next) <= ms; next = addDays(day, 1)) day = next
      return day
    },
    /** Null for a day that the time zone skipped, as when it moved across the date line. */
    windowOf: (day: string): DayWindow | null => {
      const [start, next] = [startMsOf(day), startMsOf(addDays(day, 1))]
      if (next <= start) return null
      return { day, startedAfter: instantFromMs(start), startedBefore: instantFromMs(next) - 1n }
    },
  }
}

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

/** The function that says by how much the clocks of a time zone are ahead of UTC at a moment, milliseconds. */
const readOffsets = (timeZone: string): ((ms: number) => number) => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  return (ms) => {
    const text = format.format(ms)
    const match = OFFSET.exec(text)
    if (match === null) throw new TypeError(`Intl writes the offset of ${timeZone} as "${text}"`)
    const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] = match
    const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * SECOND_MS
    return sign === '-' ? -offset : offset
  }
}

export const addDays = (day: string, days: number): string =>
  isoDay(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS)

/** The UTC date. Years past 9999 have a sign and six digits. */
const isoDay = (ms: number): string => new Date(ms).toISOString().split('T')[0] ?? ''
