/**
 * Which windows of a survey's fieldwork are read beside the whole, and how many requests they take: single days (settings
 * `refresh.daily_windows`), and the windows up to some times before its first reading (`refresh.reconstruct`). Pure.
 */
import { DAY_MS } from '../base/durations.js'
import { addDays, createCalendar, type Window } from '../model/calendar.js'
import { formatInstant, type Instant, minusMs } from '../model/instant.js'
import type { DueDay, FirstReading, StoredDay, StoredDays } from '../model/plan-facts.js'
import type { DailyWindows, RefreshRules } from '../model/run.js'
import type { ReadExtent } from '../model/survey-source.js'
import { ageMs, believed } from './believed.js'
import { isActive } from './refresh.js'

/** The most days before the open days that one reading takes, so that no night reads all days after a year without runs. */
export const CATCH_UP_DAYS_MAX = 31

/**
 * The days to read at `now`, of a whole survey or of one of its sources, in order. For an active survey: the days up to today that are not
 * final, from the first stored day on; without stored days, the open days. For an inactive survey, the days end with its last modification.
 * `more`: more days are due than one reading takes. `recut`: a day is stored with the bounds of another time zone.
 */
export const dueDays = (
  rule: DailyWindows,
  survey: StoredDays['survey'],
  stored: readonly StoredDay[],
  now: Instant,
) => {
  const calendar = createCalendar(rule.time_zone)
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
  // If an open day is marked as final, a clock was ahead, and the mark does not count.
  for (let day = from; last !== null && day <= last; day = addDays(day, 1)) {
    if (day >= open) days.push(day)
    else if (!final.has(day)) older.push(day)
  }
  const due = [...older.slice(0, CATCH_UP_DAYS_MAX), ...days].flatMap((day) => {
    const window = calendar.windowOf(day)
    return window === null ? [] : [{ ...window, isFinal: day < open }]
  })
  const cutOtherwise = new Set(
    stored.filter(({ timeZone }) => timeZone !== rule.time_zone).map(({ day }) => day),
  )
  const recut = due.some(({ day }) => cutOtherwise.has(day))
  return { days: due, more: older.length > CATCH_UP_DAYS_MAX, recut }
}

/** Whether a stored day is never read again. A day of another time zone is another day. */
const isSettled = ({ isFinal, timeZone }: StoredDay, rule: DailyWindows): boolean =>
  isFinal && timeZone === rule.time_zone

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
  /** Number of due days that are known to be unchanged. */
  readonly unchanged: number
  /** Which of the due days of the whole survey are in `days`. */
  readonly ofSurvey: ReadExtent
  /** Which of the due days of the sources are in `days`; `some` if the settings exclude days of sources. */
  readonly ofSources: ReadExtent
}

export interface SeriesDay {
  /** Null for the whole survey. */
  readonly sampleSourceId: number | null
  readonly day: DueDay
}

type SkipRules = Pick<RefreshRules, 'recheck_sources_after'>

interface DaysQuestion {
  readonly stored: StoredDays
  /** The survey's own progress, which is read before its days. */
  readonly progress: { readonly readAt: Instant }
  /** Whether the survey's progress and its sources equal the stored ones. */
  readonly isUnchanged: boolean
  readonly sourceIds: readonly number[]
}

/**
 * Days are read after the survey's whole progress, so that they contain everything that the whole contains. Only series that this reading
 * has count: the whole survey, and its sources if the settings include them.
 */
export const daysToRead = (rules: SkipRules, rule: DailyWindows, question: DaysQuestion): DaysToRead => {
  const { stored, progress, sourceIds } = question
  const of = (series: readonly (number | null)[], readAt: Instant | null): Due => {
    const due = series.map((sampleSourceId) => {
      const days = stored.days.filter((row) => row.sampleSourceId === sampleSourceId)
      return { sampleSourceId, ...dueDays(rule, stored.survey, days, progress.readAt) }
    })
    const days = due.flatMap((source) =>
      source.days.map((day) => ({ sampleSourceId: source.sampleSourceId, day })),
    )
    const isRecut = due.some(({ recut }) => recut)
    if (!isRecut && canSkip(rules, question, readAt))
      return { days: [], unchanged: days.length, extent: 'none' }
    return { days, unchanged: 0, extent: due.some(({ more }) => more) ? 'some' : 'all' }
  }
  const ofSurvey = of([null], stored.readAt)
  const ofSources = rule.sources ? of(sourceIds, stored.sourcesReadAt) : NOT_READ
  return {
    timeZone: rule.time_zone,
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

/** The result if days are not read, and therefore become older than the rest of the survey. */
const NOT_READ: Due = Object.freeze({ days: [], unchanged: 0, extent: 'some' })

/**
 * Whether the survey is the same as at `readAt`, and `readAt` is not too long ago. Equal totals could hide two changes that cancel out, and
 * `recheck_sources_after` limits how long they stay hidden, as for sources.
 */
const canSkip = (
  { recheck_sources_after: recheckMs }: SkipRules,
  { progress, isUnchanged }: DaysQuestion,
  readAt: Instant | null,
): boolean => isUnchanged && ageMs(readAt, progress.readAt) < recheckMs

/**
 * Estimated requests for the days of one bundle. An active survey takes its open days and the day that becomes final. Any other survey
 * takes its stored days that are not final (`daysOpen`).
 */
export const dayRequests = (
  { days, sources: ofSources }: DailyWindows,
  { status, daysOpen }: { readonly status: string; readonly daysOpen: number },
  sources: number,
): number => (isActive(status) ? (days + 1) * (1 + (ofSources ? sources : 0)) : daysOpen)

const RECONSTRUCTED_DAYS = [1, 2, 3, 4, 5, 6, 7, 14, 21, 28]
/** No rule looks further back than 28 days, and a survey may wait another day for its turn. */
export const RECONSTRUCTED_MS_MAX = 29 * DAY_MS

/**
 * The windows that are still to be read of a survey in fieldwork, the newest first. Each window ends a number of whole days before the
 * first reading, as if a run had read the survey each day at the same time. So the days between two windows have 24 hours. Before a survey
 * was created, it had no interviews. Windows are stored in this order, so `reconstructedFrom` is the end of the stored ones.
 */
export const windowsBefore = (
  { createdAt, firstReadAt, reconstructedFrom }: Omit<FirstReading, 'surveyId'>,
  now: Instant,
): readonly Window[] =>
  RECONSTRUCTED_DAYS.map((days) => minusMs(firstReadAt, days * DAY_MS))
    .filter(
      (at) =>
        at > createdAt &&
        at < (reconstructedFrom ?? firstReadAt) &&
        believed(firstReadAt, now) !== null &&
        ageMs(at, now) < RECONSTRUCTED_MS_MAX,
    )
    .map((at) => ({ day: formatInstant(at).slice(0, 10), startedAfter: null, startedBefore: at }))
