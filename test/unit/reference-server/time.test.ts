import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  formatIsoTime,
  formatUtc,
  parseIsoDuration,
  parseIsoTime,
} from '../../../src/reference-server/time.js'

describe('API document, "Resources and their fields": ISO 8601 with an offset', () => {
  test('a moment that is written in any style is parsed as the same moment', () => {
    const offsets = fc.oneof(fc.constant(null), fc.integer({ min: -23 * 60, max: 23 * 60 }))
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e15 }), offsets, (at, offsetMinutes) => {
        expect(parseIsoTime(formatIsoTime(at, { offsetMinutes, fractionDigits: 6 }))).toBe(at)
        expect(parseIsoTime(formatUtc(at))).toBe(at)
      }),
    )
  })

  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['1970-01-01T00:00Z', 0],
    ['1970-01-01T05:30:00+05:30', 0],
    ['1969-12-31T16:00:00-08:00', 0],
    ['1970-01-01T00:00:00.5Z', 500_000],
    ['1970-01-01T00:00:00,000001Z', 1],
    ['1970-01-01T00:00:00.0000019Z', 1],
    ['1970-01-01T00:00:00', null],
    ['1970-01-01', null],
    ['1970-01-01 00:00:00Z', null],
    ['2026-02-29T00:00:00Z', null],
    ['2026-13-01T00:00:00Z', null],
    ['2026-01-01T24:00:00Z', null],
    ['2026-01-01T00:60:00Z', null],
    ['2026-01-01T00:00:60Z', null],
    ['2026-01-01T00:00:00+24:00', null],
    ['2026-01-01T00:00.5Z', null],
    ['', null],
  ])('%s', (text, expected) => expect(parseIsoTime(text)).toBe(expected))

  test.each([
    ['PT6H', 6 * 3600e6],
    ['P1W', 7 * 86_400e6],
    ['P1DT1M0.000001S', 86_460e6 + 1],
    ['PT0S', 0],
    ['P1Y', null],
    ['P1DT', null],
    ['T1H', null],
    ['PT1H1H', null],
  ])('duration %s', (text, expected) => expect(parseIsoDuration(text)).toBe(expected))
})
