/**
 * The days of every time zone of Intl, around every clock change from 1970 to 2030. Days follow each other without gap or
 * overlap, and each begins with the first instant of its date. The oracle reads the wall clock of a zone minute by minute
 * and uses no offsets.
 */
import { expect, test } from 'vitest'
import { addDays, createCalendar, type DayWindow } from '../../../src/model/calendar.js'
import { instantFromMs, instantToMs } from '../../../src/model/instant.js'
import { ALL_CASES } from '../../support/suite/cases.js'
import { chance } from '../../support/suite/chance.js'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
const [FROM_MS, TO_MS] = [Date.UTC(1970, 0, 1), Date.UTC(2031, 0, 1)]

/** The wall clock of a zone as text: `2010-11-07 00:00:59`. */
const wallClock = (timeZone: string) => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  return (ms: number): string => format.format(ms)
}
type WallClock = ReturnType<typeof wallClock>

const dateOf = (wall: WallClock, ms: number): string => wall(ms).slice(0, 10)

/** How far the wall clock is ahead of UTC, milliseconds. */
const aheadMs = (wall: WallClock, ms: number): number => Date.parse(`${wall(ms).replace(' ', 'T')}Z`) - ms

/** The second of a clock change in the week from `weekMs`. Null if the offset is the same before and after the week. */
const changeIn = (wall: WallClock, weekMs: number): number | null => {
  let [before, after] = [weekMs, weekMs + WEEK_MS]
  if (aheadMs(wall, before) === aheadMs(wall, after)) return null
  while (after - before > 1000) {
    const middle = Math.floor((before + after) / 2000) * 1000
    if (aheadMs(wall, middle) === aheadMs(wall, weekMs)) before = middle
    else after = middle
  }
  return after
}

const changesIn = (wall: WallClock, fromMs: number, toMs: number): number[] => {
  const found: number[] = []
  for (let ms = fromMs; ms < toMs; ms += WEEK_MS) {
    const change = changeIn(wall, ms)
    if (change !== null) found.push(change)
  }
  return found
}

/** The broken rules of the days around a time. */
const wrongAround = (timeZone: string, aroundMs: number): string[] => {
  const calendar = createCalendar(timeZone)
  const wall = wallClock(timeZone)
  const middle = dateOf(wall, aroundMs)
  const windows = [-2, -1, 0, 1, 2].flatMap((days) => calendar.windowOf(addDays(middle, days)) ?? [])
  const [first, last] = [windows[0], windows.at(-1)]
  if (first === undefined || last === undefined) return [`${timeZone} has no days`]
  const minutes = minutesOf(instantToMs(first.startedAfter), instantToMs(last.startedBefore), aroundMs)
  return [...wrongBounds(windows, wall), ...wrongMinutes(windows, minutes, wall, calendar)].map(
    (line) => `${timeZone}: ${line}`,
  )
}

const wrongBounds = (windows: readonly DayWindow[], wall: WallClock): string[] =>
  windows.flatMap(({ day, startedAfter }, place) => {
    const before = windows[place - 1]
    const beginMs = instantToMs(startedAfter)
    return [
      ...(before !== undefined && startedAfter !== before.startedBefore + 1n
        ? [`${day} does not begin where ${before.day} ends`]
        : []),
      ...(dateOf(wall, beginMs) === day ? [] : [`${day} begins on ${dateOf(wall, beginMs)}`]),
      ...(dateOf(wall, beginMs - 1) < day ? [] : [`${day} begins too late`]),
    ]
  })

/** The times at which the oracle reads the wall clock: every minute near `aroundMs`, and every hour elsewhere. */
const minutesOf = (fromMs: number, toMs: number, aroundMs: number): number[] => {
  const nearMs = 4 * 60 * MINUTE_MS
  const found: number[] = []
  for (let ms = fromMs; ms <= toMs; ms += Math.abs(ms - aroundMs) < nearMs ? MINUTE_MS : 60 * MINUTE_MS)
    found.push(ms)
  return found
}

/** The current day is the largest date that the wall clock has shown so far. Its window must contain the minute. */
const wrongMinutes = (
  windows: readonly DayWindow[],
  minutes: readonly number[],
  wall: WallClock,
  calendar: ReturnType<typeof createCalendar>,
): string[] => {
  const wrong: string[] = []
  let reached = ''
  for (const [place, ms] of minutes.entries()) {
    const at = instantFromMs(ms)
    const date = dateOf(wall, ms)
    if (date > reached) reached = date
    const days = windows
      .filter(({ startedAfter, startedBefore }) => startedAfter <= at && at <= startedBefore)
      .map(({ day }) => day)
    // `dayOf` is slower, so only every 50th minute checks it.
    if (place % 50 === 0) days.push(calendar.dayOf(at))
    if (days.length === 0 || days.some((day) => day !== reached))
      wrong.push(`${new Date(ms).toISOString()} is in ${days.join(' and ')}, not in ${reached}`)
  }
  return wrong
}

const ALL_ZONES = Intl.supportedValuesOf('timeZone')
const { oneOf, below, replay } = chance()
const ZONES = ALL_CASES ? ALL_ZONES : Array.from({ length: 6 }, () => oneOf(ALL_ZONES))

/** All clock changes of a zone and both ends of the period; in `npm test` the first change within a year of a random day. */
const momentsOf = (wall: WallClock): readonly number[] => {
  if (ALL_CASES) return [FROM_MS + 3 * DAY_MS, ...changesIn(wall, FROM_MS, TO_MS), TO_MS]
  const fromMs = FROM_MS + below((TO_MS - FROM_MS) / DAY_MS) * DAY_MS
  return [...changesIn(wall, fromMs, fromMs + 52 * WEEK_MS), fromMs].slice(0, 1)
}

test.each(ZONES)(`each instant in %s belongs to one day, also at clock changes; ${replay}`, (zone) => {
  expect(momentsOf(wallClock(zone)).flatMap((ms) => wrongAround(zone, ms))).toEqual([])
})
