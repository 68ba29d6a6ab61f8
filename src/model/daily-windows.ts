/**
 * Which days of a survey's fieldwork are read, and how many requests that takes: everything that follows from the settings
 * `refresh.daily_windows`. Pure.
 */
import { ageMs } from './believed.js'
import { addDays, createCalendar, type DayWindow } from './calendar.js'
import type { Instant } from './instant.js'
import type { ReadExtent } from './survey-source.js'
import { isActive } from './survey-status.js'

/** Settings `refresh.daily_windows`. */
export interface DailyWindows {
  /** So many days, today among them, are read again and again; an older one once more, and then it is final. */
  readonly days: number
  /** IANA name of the time zone whose days they are. */
  readonly timeZone: string
  /** Read the days of each sample source as well. */
  readonly sources: boolean
}

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

/** What is stored of a survey's days: to tell which are to be read. */
export interface StoredDays {
  readonly survey: SurveyLife
  readonly days: readonly StoredDay[]
  /** When all due days of the whole survey were last read; null when they may be behind what is stored of the survey. */
  readonly readAt: Instant | null
  /** The same for the days of its sources. */
  readonly sourcesReadAt: Instant | null
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

export interface DaysToRead {
  readonly timeZone: string
  readonly days: readonly SeriesDay[]
  /** How many that would be due are known to be unchanged. */
  readonly unchanged: number
  /** How many of the due days of the whole survey are in `days`. */
  readonly ofSurvey: ReadExtent
  /** The same for its sources; `some` where the settings leave them out. */
  readonly ofSources: ReadExtent
}

export interface SeriesDay {
  /** Null: of the whole survey. */
  readonly sampleSourceId: number | null
  readonly day: DueDay
}

/** Of `RefreshRules`. */
interface SkipRules {
  readonly skipUnchanged: boolean
  readonly recheckUnchangedAfterMs: number
}

export interface DaysQuestion {
  readonly stored: StoredDays
  /** The survey's own progress, which is read before its days. */
  readonly progress: { readonly readAt: Instant }
  /** The survey's progress and its sources equal what is stored. */
  readonly isUnchanged: boolean
  readonly sourceIds: readonly number[]
}

/**
 * Days are read after the survey's whole progress, so that whatever is in the whole can be in them. Only the series that are
 * read now decide: the whole survey, and the sources that it has if the settings ask for these.
 */
export const daysToRead = (rules: SkipRules, rule: DailyWindows, question: DaysQuestion): DaysToRead => {
  const { stored, progress, sourceIds } = question
  const of = (series: readonly (number | null)[], readAt: Instant | null): Due => {
    const due = series.map((sampleSourceId) => {
      const days = stored.days.filter((row) => row.sampleSourceId === sampleSourceId)
      return { sampleSourceId, ...dueDays(rule, stored.survey, days, progress.readAt) }
    })
    const days = due.flatMap((one) => one.days.map((day) => ({ sampleSourceId: one.sampleSourceId, day })))
    if (canSkip(rules, question, readAt, due)) return { days: [], unchanged: days.length, extent: 'none' }
    return { days, unchanged: 0, extent: due.some(({ more }) => more) ? 'some' : 'all' }
  }
  const ofSurvey = of([null], stored.readAt)
  const ofSources = rule.sources ? of(sourceIds, stored.sourcesReadAt) : NOT_ASKED
  return {
    timeZone: rule.timeZone,
    days: [...ofSurvey.days, ...ofSources.days],
    unchanged: ofSurvey.unchanged + ofSources.unchanged,
    ofSurvey: ofSurvey.extent,
    ofSources: ofSources.extent,
  }
}

interface Due {
  readonly days: readonly SeriesDay[]
  readonly unchanged: number
  readonly extent: ReadExtent
}

/** Days that are not asked for are behind what is stored beside them from now on. */
const NOT_ASKED: Due = Object.freeze({ days: [], unchanged: 0, extent: 'some' })

/**
 * Whether no day of these series has to be read: nothing differs from what the days were read with at `readAt`, not too long
 * ago, and none of them was cut in another time zone. Counts that are equal as a whole could hide two changes that cancel
 * out (an interview that is ignored from now on, another that was added with the same status): as with sources,
 * `recheck_unchanged_after` bounds how long.
 */
const canSkip = (
  { skipUnchanged, recheckUnchangedAfterMs }: SkipRules,
  { progress, isUnchanged }: DaysQuestion,
  readAt: Instant | null,
  due: readonly DueDays[],
): boolean =>
  skipUnchanged &&
  isUnchanged &&
  ageMs(readAt, progress.readAt) < recheckUnchangedAfterMs &&
  !due.some(({ recut }) => recut)

/**
 * Requests for the days of one bundle, estimated. A live survey takes its open days and the one that becomes final; any other
 * takes its stored days that are not final (`daysOpen`).
 */
export const dayRequests = (
  { days, sources: ofSources }: DailyWindows,
  { status, daysOpen }: { readonly status: string; readonly daysOpen: number },
  sources: number,
): number => (isActive(status) ? (days + 1) * (1 + (ofSources ? sources : 0)) : daysOpen)
