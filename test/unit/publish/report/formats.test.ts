/** Numbers and times follow the locale and the time zone of the settings. */
import { expect, test } from 'vitest'
import { instantFromMs } from '../../../../src/model/instant.js'
import { createFormats } from '../../../../src/publish/report/formats.js'

const at = instantFromMs(Date.parse('2026-03-29T00:30:00Z'))

test.each([
  ['en-GB', 'UTC', '12,345', '12.5%', '29 Mar 2026, 00:30'],
  ['de-DE', 'Europe/Berlin', '12.345', '12,5 %', '29. März 2026, 01:30'],
  ['en-US', 'America/New_York', '12,345', '12.5%', 'Mar 28, 2026, 20:30'],
])('%s, %s', (locale, timeZone, count, rate, instant) => {
  const formats = createFormats({ locale, time_zone: timeZone })
  expect(formats.count(12_345)).toBe(count)
  expect(formats.fineRate(0.125).replace('\u00a0', ' ')).toBe(rate)
  expect(formats.instant(at)).toBe(instant)
})

test.each(['en-GB', 'en-US', 'ko-KR', 'es-US'])('the hour after midnight is 00: %s', (locale) => {
  const { instant } = createFormats({ locale, time_zone: 'UTC' })
  expect(instant(instantFromMs(Date.parse('2026-03-29T00:05:00Z')))).toContain('00:05')
})

test('days have no time zone, and need no year beside another day', () => {
  const formats = createFormats({ locale: 'en-GB', time_zone: 'Pacific/Kiritimati' })
  expect(formats.day('2026-03-01')).toBe('1 Mar 2026')
  expect(formats.day(20_513)).toBe('1 Mar 2026')
  expect(formats.dayNear('2026-04-01', '2026-03-01')).toBe('1 Apr')
  expect(formats.dayNear('2027-04-01', '2026-03-01')).toBe('1 Apr 2027')
  expect(formats.shortDay('2026-03-01')).toBe('1 Mar')
})

test('what is not known is a dash, and pace has a digit only where it says something', () => {
  const formats = createFormats({ locale: 'en-GB', time_zone: 'UTC' })
  expect([formats.count(null), formats.day(null), formats.rate(null)]).toEqual(['–', '–', '–'])
  expect([formats.rough(4.25), formats.rough(1389.9)]).toEqual(['4.3', '1,390'])
  expect([formats.signed(3), formats.signed(0)]).toEqual(['+3', '0'])
})
