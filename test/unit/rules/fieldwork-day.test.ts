/** A reading belongs to the day that holds most of the time since the reading before. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCalendar } from '../../../src/model/calendar.js'
import { formatInstant } from '../../../src/model/instant.js'
import { fieldworkDay, lastKnownDay } from '../../../src/rules/fieldwork-day.js'
import { cases } from '../../support/suite/cases.js'
import { instantOf } from '../../support/time/instants.js'

const dayOf = (timeZone: string, before: string | null, at: string): string =>
  fieldworkDay(createCalendar(timeZone), instantOf(at), before === null ? null : instantOf(before))

test.each([
  ['a job at 02:00', 'UTC', '2026-03-12T02:00:00Z', '2026-03-13T02:00:00Z', '2026-03-12'],
  ['a job at 14:00', 'UTC', '2026-03-12T14:00:00Z', '2026-03-13T14:00:00Z', '2026-03-13'],
  ['a first reading at 02:00', 'UTC', null, '2026-03-13T02:00:00Z', '2026-03-12'],
  ['a first reading at 14:00', 'UTC', null, '2026-03-13T14:00:00Z', '2026-03-13'],
  // 03:00 in Paris, 22:00 of the day before in New York, 11:00 in Tokyo.
  [
    'a job at 02:00, seen from Paris',
    'Europe/Paris',
    '2026-03-12T02:00:00Z',
    '2026-03-13T02:00:00Z',
    '2026-03-12',
  ],
  ['from New York', 'America/New_York', '2026-03-12T02:00:00Z', '2026-03-13T02:00:00Z', '2026-03-12'],
  ['from Tokyo', 'Asia/Tokyo', '2026-03-12T02:00:00Z', '2026-03-13T02:00:00Z', '2026-03-12'],
  [
    'a job at 14:00, seen from New York',
    'America/New_York',
    '2026-03-12T14:00:00Z',
    '2026-03-13T14:00:00Z',
    '2026-03-12',
  ],
  ['from Tokyo', 'Asia/Tokyo', '2026-03-12T14:00:00Z', '2026-03-13T14:00:00Z', '2026-03-13'],
  ['a second run in the morning', 'UTC', '2026-03-13T02:00:00Z', '2026-03-13T09:00:00Z', '2026-03-13'],
  ['two runs around midnight', 'UTC', '2026-03-12T20:00:00Z', '2026-03-13T02:00:00Z', '2026-03-12'],
  // The gain covers the days from the 11th on, and the 13th is the last of them.
  ['two nights without a run', 'UTC', '2026-03-11T02:00:00Z', '2026-03-14T02:00:00Z', '2026-03-13'],
  ['two days without a run', 'UTC', '2026-03-10T14:00:00Z', '2026-03-13T14:00:00Z', '2026-03-13'],
  // The day has 23 hours.
  ['the clocks go forward', 'Europe/Paris', '2026-03-28T13:00:00Z', '2026-03-29T13:00:00Z', '2026-03-29'],
  [
    'a clock that was ahead at the reading before',
    'UTC',
    '2036-03-12T02:00:00Z',
    '2026-03-13T02:00:00Z',
    '2026-03-12',
  ],
])('%s in %s: between %s and %s is %s', (_, timeZone, before, at, day) => {
  expect(dayOf(timeZone, before, at)).toBe(day)
})

test('no other day holds more of the time between two readings that are at most a day apart', () => {
  const zones = fc.constantFrom('UTC', 'Europe/Paris', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Apia')
  fc.assert(
    fc.property(
      zones,
      fc.nat({ max: 525_600 }),
      fc.integer({ min: 1, max: 1440 }),
      (zone, start, minutes) => {
        const calendar = createCalendar(zone)
        const before = instantOf('2026-01-01T00:00:00Z') + BigInt(start) * 60_000_000n
        const at = before + BigInt(minutes) * 60_000_000n
        const held = new Map<string, number>()
        for (let moment = before; moment < at; moment += 60_000_000n) {
          const day = calendar.dayOf(moment)
          held.set(day, (held.get(day) ?? 0) + 1)
        }
        const found = held.get(fieldworkDay(calendar, at, before)) ?? 0
        expect([formatInstant(at), found >= Math.max(...held.values()) - 1]).toEqual([
          formatInstant(at),
          true,
        ])
      },
    ),
    cases(5, 100),
  )
})

test.each([
  ['2026-03-13T02:00:00Z', '2026-03-12'],
  ['2026-03-13T11:59:59Z', '2026-03-12'],
  ['2026-03-13T12:00:00Z', '2026-03-13'],
])('after a reading at %s, %s is known', (at, day) => {
  expect(lastKnownDay(createCalendar('UTC'), instantOf(at))).toBe(day)
})
