/** Which days of a survey's fieldwork are read: pure rules (settings `refresh.daily_windows`). */
import { addDays, createCalendar, type DayWindow } from './calendar.js'
import type { Instant } from './instant.js'
import { isActive } from './refresh-rules.js'
import type { DailyWindows } from './run.js'

/** A day to be read. It is final when this reading is its last. */
export interface DueDay extends DayWindow {
  readonly isFinal: boolean
}

/** A day that is stored: of the whole survey, or of a source. */
export interface StoredDay {
  readonly sampleSourceId: number | null
  readonly day: string
  readonly timeZone: string
  /** There is no reason to read it again. */
  readonly isFinal: boolean
}

/** What decides how far a survey's days go on. */
export interface SurveyLife {
  readonly status: string
  readonly updatedAt: Instant
}

export interface DueDays {
  readonly days: readonly DueDay[]
  /** Whether there are more than are read at once. */
  readonly more: boolean
  /** Whether one of them is stored as it was cut in another time zone. */
  readonly recut: boolean
}

/** Days before the open ones that are read at once: after a pause of a year, no night reads them all. */
export const CATCH_UP_DAYS_MAX = 31

/**
 * The days to read at `now`, of a whole survey or of one of its sources, in order: of a live survey all up to today that
 * are not final, from the first that is stored, else the open ones. Nobody answers a survey that is not live any more:
 * its days go on until its last modification, and end.
 */
export const dueDays = (
  rule: DailyWindows,
  survey: SurveyLife,
  stored: readonly StoredDay[],
  now: Instant,
): DueDays => {
  const calendar = createCalendar(rule.timeZone)
  const today = calendar.dayOf(now)
  const open = addDays(today, 1 - rule.days)
  const known = stored.map(({ day }) => day).toSorted()
  const [from = open] = [open, ...known.slice(0, 1)].toSorted()
  const last = isActive(survey.status)
    ? today
    : lastDay(known.at(-1), calendar.dayOf(survey.updatedAt), rule.days, today)
  const final = new Set(stored.filter((row) => isSettled(row, rule)).map(({ day }) => day))
  const older: string[] = []
  const days: string[] = []
  // An open day that is marked final was marked by a clock that was ahead: the mark is not believed.
  for (let day = from; last !== null && day <= last; day = addDays(day, 1)) {
    if (day >= open) days.push(day)
    else if (!final.has(day)) older.push(day)
  }
  const due = [...older.slice(0, CATCH_UP_DAYS_MAX), ...days].flatMap((day) => {
    const window = calendar.windowOf(day)
    return window === null ? [] : [{ ...window, isFinal: day < open }]
  })
  const cutOtherwise = new Set(
    stored.filter(({ timeZone }) => timeZone !== rule.timeZone).map(({ day }) => day),
  )
  return {
    days: due,
    more: older.length > CATCH_UP_DAYS_MAX,
    recut: due.some(({ day }) => cutOtherwise.has(day)),
  }
}

/** Whether a stored day will never be read again. One that was cut in another time zone is another day. */
export const isSettled = ({ isFinal, timeZone }: StoredDay, rule: DailyWindows): boolean =>
  isFinal && timeZone === rule.timeZone

/** Of a survey that is not live. Null where it has no days. */
const lastDay = (
  latest: string | undefined,
  modified: string,
  days: number,
  today: string,
): string | null => {
  if (latest === undefined) return null
  const furthest = addDays(latest, days)
  const goesOn = modified < furthest ? modified : furthest
  const last = goesOn > latest ? goesOn : latest
  return last < today ? last : today
}
