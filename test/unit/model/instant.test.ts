/** Tables for reading and printing instants, the only place where text becomes time. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatInstant,
  instantFromMs,
  instantToMs,
  minusMs,
  msBetween,
  parseInstant,
} from '../../../src/model/instant.js'
import { property } from '../../support/suite/cases.js'

describe('reading an instant', () => {
  it.each([
    ['UTC', '2026-03-01T00:00:00Z', '2026-03-01T00:00:00Z'],
    ['an offset east', '2026-03-01T02:00:00+02:00', '2026-03-01T00:00:00Z'],
    ['an offset west', '2026-02-28T19:00:00-05:00', '2026-03-01T00:00:00Z'],
    ['an offset of half an hour', '2026-03-01T05:30:00+05:30', '2026-03-01T00:00:00Z'],
    ['an offset of a quarter, westward', '2026-02-28T20:15:00-03:45', '2026-03-01T00:00:00Z'],
    ['an offset without a colon', '2026-03-01T02:00:00+0200', '2026-03-01T00:00:00Z'],
    ['an offset of hours only', '2026-03-01T02:00:00+02', '2026-03-01T00:00:00Z'],
    ['an offset of zero, signed', '2026-03-01T00:00:00-00:00', '2026-03-01T00:00:00Z'],
    ['an offset that crosses the year', '2025-12-31T23:30:00-01:00', '2026-01-01T00:30:00Z'],
    ['the widest offset', '2026-03-01T23:59:00+23:59', '2026-03-01T00:00:00Z'],
    ['no seconds', '2026-03-01T12:34Z', '2026-03-01T12:34:00Z'],
    ['a fraction after a comma', '2026-03-01T00:00:00,5Z', '2026-03-01T00:00:00.5Z'],
    ['the last second of a day', '2026-03-01T23:59:59Z', '2026-03-01T23:59:59Z'],
    ['29 February of a leap year', '2024-02-29T12:00:00Z', '2024-02-29T12:00:00Z'],
    ['29 February of a leap century', '2000-02-29T12:00:00Z', '2000-02-29T12:00:00Z'],
    ['a year below 100', '0099-12-31T23:59:59Z', '0099-12-31T23:59:59Z'],
    ['the year 0', '0000-01-01T00:00:00Z', '0000-01-01T00:00:00Z'],
    ['the last year', '9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('accepts %s', (_, text, utc) => {
    const instant = parseInstant(text)
    expect(instant === null ? null : formatInstant(instant)).toBe(utc)
  })

  it.each([
    ['milliseconds', '1970-01-01T00:00:00.123Z', 123_000n],
    ['microseconds', '1970-01-01T00:00:00.123456Z', 123_456n],
    ['nanoseconds, cut off and not rounded', '1970-01-01T00:00:00.123456999Z', 123_456n],
    ['one digit', '1970-01-01T00:00:00.1Z', 100_000n],
    ['leading zeros', '1970-01-01T00:00:00.000001Z', 1n],
    ['only zeros', '1970-01-01T00:00:00.000000Z', 0n],
    ['a time before 1970', '1969-12-31T23:59:59.999999Z', -1n],
    ['a time before 1970 in another zone', '1970-01-01T00:59:59.5+01:00', -500_000n],
    ['more microseconds than a number holds exactly', '2300-01-01T00:00:00.000001Z', 10413792000000001n],
  ])('counts microseconds: %s', (_, text, micros) => {
    expect(parseInstant(text)).toBe(micros)
  })

  it.each([
    ['no offset', '2026-03-01T00:00:00'],
    ['a date alone', '2026-03-01'],
    ['a space for the T', '2026-03-01 00:00:00Z'],
    ['a small t or z', '2026-03-01t00:00:00z'],
    ['30 February', '2026-02-30T00:00:00Z'],
    ['29 February of a common year', '2026-02-29T00:00:00Z'],
    ['29 February of a common century', '1900-02-29T00:00:00Z'],
    ['31 April', '2026-04-31T00:00:00Z'],
    ['month 0', '2026-00-01T00:00:00Z'],
    ['month 13', '2026-13-01T00:00:00Z'],
    ['day 0', '2026-03-00T00:00:00Z'],
    ['hour 24', '2026-03-01T24:00:00Z'],
    ['minute 60', '2026-03-01T00:60:00Z'],
    ['second 60', '2026-06-30T23:59:60Z'],
    ['offset hour 24', '2026-03-01T00:00:00+24:00'],
    ['offset minute 60', '2026-03-01T00:00:00+01:60'],
    ['a fraction without digits', '2026-03-01T00:00:00.Z'],
    ['a fraction of a minute', '2026-03-01T00:00.5Z'],
    ['a year of two digits', '26-03-01T00:00:00Z'],
    ['an expanded year', '+012026-03-01T00:00:00Z'],
    ['a trailing line break', '2026-03-01T00:00:00Z\n'],
    ['a leading space', ' 2026-03-01T00:00:00Z'],
    ['digits of another script', '٢٠٢٦-03-01T00:00:00Z'],
    ['epoch seconds', '1772323200'],
    ['empty text', ''],
  ])('refuses %s', (_, text) => {
    expect(parseInstant(text)).toBeNull()
  })
})

describe('writing an instant', () => {
  it.each([
    [0n, '1970-01-01T00:00:00Z'],
    [1n, '1970-01-01T00:00:00.000001Z'],
    [100_000n, '1970-01-01T00:00:00.1Z'],
    [-1n, '1969-12-31T23:59:59.999999Z'],
    [-1_000_000n, '1969-12-31T23:59:59Z'],
    [1_772_323_200_000_000n, '2026-03-01T00:00:00Z'],
  ])('prints %s microseconds with as few digits as possible', (instant, text) => {
    expect(formatInstant(instant)).toBe(text)
  })

  const first = parseInstant('0000-01-01T00:00:00Z') ?? 0n
  const last = parseInstant('9999-12-31T23:59:59.999999Z') ?? 0n
  const instants = fc.bigInt({ min: first, max: last })
  property(
    'is reversed by reading, to the microsecond, from year 0 to year 9999',
    [instants],
    {},
    (instant) => {
      expect(parseInstant(formatInstant(instant))).toBe(instant)
    },
  )
})

describe('arithmetic', () => {
  it('rounds milliseconds down, also before 1970', () => {
    expect([1_999n, 1_000n, 999n, -1n, -1_000n, -1_001n].map(instantToMs)).toEqual([1, 1, 0, -1, -1, -2])
  })

  it('subtracts and measures in milliseconds', () => {
    const noon = parseInstant('2026-03-01T12:00:00.000001Z') ?? 0n
    expect(formatInstant(minusMs(noon, 300_000))).toBe('2026-03-01T11:55:00.000001Z')
    expect(msBetween(minusMs(noon, 300_000), noon)).toBe(300_000)
    expect(msBetween(noon, minusMs(noon, 300_000))).toBe(-300_000)
  })

  it('drops a fraction of a millisecond', () => {
    expect(instantFromMs(1.9)).toBe(1_000n)
  })
})
