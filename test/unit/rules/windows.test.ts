/** Which days of a survey are due, and when a day begins and ends. */
import { describe, expect, test } from 'vitest'
import { createCalendar } from '../../../src/model/calendar.js'
import { formatInstant } from '../../../src/model/instant.js'
import type { StoredDay } from '../../../src/model/plan-facts.js'
import { CATCH_UP_DAYS_MAX, dueDays, windowsBefore } from '../../../src/rules/windows.js'
import { hourOf, instantOf } from '../../support/time/instants.js'

describe('a day', () => {
  const boundsOf = (timeZone: string, day: string) => {
    const window = createCalendar(timeZone).windowOf(day)
    return window && [formatInstant(window.startedAfter), formatInstant(window.startedBefore)]
  }

  test.each([
    ['UTC', '2026-03-01', '2026-03-01T00:00:00Z', '2026-03-01T23:59:59.999999Z'],
    ['Europe/Paris', '2026-03-01', '2026-02-28T23:00:00Z', '2026-03-01T22:59:59.999999Z'],
    ['Europe/Paris', '2026-03-29', '2026-03-28T23:00:00Z', '2026-03-29T21:59:59.999999Z'],
    ['Europe/Paris', '2026-10-25', '2026-10-24T22:00:00Z', '2026-10-25T22:59:59.999999Z'],
    ['Asia/Kathmandu', '2026-03-01', '2026-02-28T18:15:00Z', '2026-03-01T18:14:59.999999Z'],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00Z', '2026-04-05T13:29:59.999999Z'],
    // Clocks go forward at midnight, so the day begins at one.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00Z', '2026-04-24T20:59:59.999999Z'],
    ['Pacific/Kiritimati', '2026-01-01', '2025-12-31T10:00:00Z', '2026-01-01T09:59:59.999999Z'],
    // Clocks go back from 00:01 to 23:01 of the previous date. The day has begun and continues.
    ['America/St_Johns', '2010-11-06', '2010-11-06T02:30:00Z', '2010-11-07T02:29:59.999999Z'],
    ['America/St_Johns', '2010-11-07', '2010-11-07T02:30:00Z', '2010-11-08T03:29:59.999999Z'],
    // From 00:01 to 22:01, and from 02:00 to 23:00.
    ['America/St_Johns', '1988-10-30', '1988-10-30T01:30:00Z', '1988-10-31T03:29:59.999999Z'],
    ['Antarctica/Casey', '2010-03-05', '2010-03-04T13:00:00Z', '2010-03-05T15:59:59.999999Z'],
    // An offset with seconds: 44 min 30 s.
    ['Africa/Monrovia', '1971-07-01', '1971-07-01T00:44:30Z', '1971-07-02T00:44:29.999999Z'],
  ])('in %s, %s lasts from %s to %s', (timeZone, day, from, to) => {
    expect(boundsOf(timeZone, day)).toEqual([from, to])
  })

  test('that a time zone skipped does not exist', () => {
    expect(boundsOf('Pacific/Apia', '2011-12-30')).toBeNull()
    expect(boundsOf('Pacific/Apia', '2011-12-29')?.[1]).toBe('2011-12-30T09:59:59.999999Z')
    expect(boundsOf('Pacific/Apia', '2011-12-31')?.[0]).toBe('2011-12-30T10:00:00Z')
  })

  test('that has begun does not end when clocks go back past midnight', () => {
    const calendar = createCalendar('America/St_Johns')
    // 23:59 and 00:00, then 23:01 of the previous date for the second time, then 00:01 again.
    const days = ['02:29:59.999999Z', '02:30:00Z', '02:31:00Z', '03:29:59Z', '03:31:00Z'].map((time) =>
      calendar.dayOf(instantOf(`2010-11-07T${time}`)),
    )
    expect(days).toEqual(['2010-11-06', '2010-11-07', '2010-11-07', '2010-11-07', '2010-11-07'])
  })
})

describe('the due days', () => {
  const RULE = { days: 3, time_zone: 'Europe/Paris', sources: false }
  const active = { status: 'fieldwork', updatedAt: instantOf('2026-01-01T00:00:00Z') }
  const now = instantOf('2026-03-10T02:00:00Z')
  const stored = (day: string, isFinal = false, timeZone = 'Europe/Paris'): StoredDay => ({
    sampleSourceId: null,
    day,
    timeZone,
    isFinal,
  })
  const daysDue = (...args: Parameters<typeof dueDays>) =>
    dueDays(...args).days.map(({ day, isFinal }) => `${day.slice(5)}${isFinal ? ' final' : ''}`)

  test('are the open days if none is stored', () => {
    expect(daysDue(RULE, active, [], now)).toEqual(['03-08', '03-09', '03-10'])
  })

  test('follow the clock of the time zone', () => {
    expect(daysDue(RULE, active, [], instantOf('2026-03-09T23:30:00Z'))).toEqual(['03-08', '03-09', '03-10'])
    expect(daysDue(RULE, active, [], instantOf('2026-03-09T22:59:59Z'))).toEqual(['03-07', '03-08', '03-09'])
  })

  test('are the open days and earlier days without a final reading, read before or not', () => {
    const rows = [
      stored('2026-03-04', true),
      stored('2026-03-05'),
      stored('2026-03-07', true),
      stored('2026-03-08'),
    ]
    expect(daysDue(RULE, active, rows, now)).toEqual([
      '03-05 final',
      '03-06 final',
      '03-08',
      '03-09',
      '03-10',
    ])
  })

  test('include days that were stored in another time zone', () => {
    const rows = [stored('2026-03-06', true, 'UTC'), stored('2026-03-07', true)]
    expect(daysDue(RULE, active, rows, now)).toEqual(['03-06 final', '03-08', '03-09', '03-10'])
  })

  test('are a month at once after a long interruption, the oldest first', () => {
    const due = dueDays(RULE, active, [stored('2025-06-01')], now)
    expect(due.more).toBe(true)
    expect(due.days.map(({ day }) => day).slice(0, 2)).toEqual(['2025-06-01', '2025-06-02'])
    expect(due.days).toHaveLength(CATCH_UP_DAYS_MAX + 3)
    expect(dueDays(RULE, active, [stored('2026-02-06')], now).more).toBe(false)
  })

  test('of a closed survey end with its last modification', () => {
    const closed = { status: 'complete', updatedAt: instantOf('2026-03-09T12:00:00Z') }
    expect(daysDue(RULE, closed, [], now)).toEqual([])
    expect(daysDue(RULE, closed, [stored('2026-03-08')], now)).toEqual(['03-08', '03-09'])
    const later = instantOf('2026-03-20T02:00:00Z')
    expect(daysDue(RULE, closed, [stored('2026-03-08'), stored('2026-03-09')], later)).toEqual([
      '03-08 final',
      '03-09 final',
    ])
    const done = [stored('2026-03-08', true), stored('2026-03-09', true)]
    expect(daysDue(RULE, closed, done, later)).toEqual([])
    const editedLongAfter = { status: 'complete', updatedAt: instantOf('2026-12-01T00:00:00Z') }
    expect(daysDue(RULE, editedLongAfter, done, instantOf('2026-12-02T00:00:00Z'))).toEqual([
      '03-10 final',
      '03-11 final',
      '03-12 final',
    ])
  })
})

describe('the windows before the first reading of a survey, read on 29 March at two o’clock,', () => {
  const FIRST = hourOf(29)
  const daysIn = (change: Partial<Parameters<typeof windowsBefore>[0]>, now = FIRST) => {
    const survey = { createdAt: 0n, firstReadAt: FIRST, reconstructedFrom: null, ...change }
    return windowsBefore(survey, now).map(({ day, startedAfter, startedBefore }) => {
      expect([startedAfter, formatInstant(startedBefore)]).toEqual([null, `${day}T02:00:00Z`])
      return Number(day.slice(8))
    })
  }

  test.each<[string, Parameters<typeof daysIn>[0], bigint, readonly number[]]>([
    ['are the days of a week, and three weeks', {}, FIRST, [28, 27, 26, 25, 24, 23, 22, 15, 8, 1]],
    ['end with its creation', { createdAt: hourOf(25, 2) }, FIRST, [28, 27, 26]],
    ['go on before those that are stored', { reconstructedFrom: hourOf(22) }, FIRST, [15, 8, 1]],
    ['are none when the last is stored', { reconstructedFrom: hourOf(1) }, FIRST, []],
    ['are at most 28 days old, and some hours', {}, hourOf(30, 1), [28, 27, 26, 25, 24, 23, 22, 15, 8, 1]],
    ['get fewer with each later night', {}, hourOf(30), [28, 27, 26, 25, 24, 23, 22, 15, 8]],
    ['are none after four weeks', {}, hourOf(57), []],
    ['are none if that reading is dated in the future', {}, FIRST - 1n, []],
  ])('%s', (_, change, now, days) => {
    expect(daysIn(change, now)).toEqual(days)
  })
})
