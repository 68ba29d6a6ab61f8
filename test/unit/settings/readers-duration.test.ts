/** Tables for durations and rates: valid texts, and similar invalid ones. */
import { describe, expect, test } from 'vitest'
import {
  durationFrom,
  durationOrForever,
  parseDuration,
  rate,
  readAs,
} from '../../../src/settings/readers.js'

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['0s', 0],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['007s', 7_000],
  ])('%s means %d milliseconds', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs)
  })

  test.each(['', '30', '1.5h', '-5m', '5 m', '5M', '5min', '1h30m', 'm', '1e3s', '999999999999999d', '5m\n'])(
    '%j is not a duration',
    (text) => {
      expect(parseDuration(text)).toBeNull()
    },
  )

  test.each([30, '30', null, undefined, ['30s'], '30x'])('%j is refused with the list of units', (value) => {
    expect(readAs(durationFrom('1s', '1m'), value)).toEqual({
      ok: false,
      problem: 'must be a duration: a whole number and a unit (ms, s, m, h or d), such as 30s',
    })
  })

  test('is accepted at both limits and refused beyond them', () => {
    const read = (text: string) => readAs(durationFrom('1s', '1m'), text)
    expect(read('1s')).toEqual({ ok: true, value: 1_000 })
    expect(read('60s')).toEqual({ ok: true, value: 60_000 })
    expect(read('999ms')).toEqual({ ok: false, problem: 'must be from 1s to 1m' })
    expect(read('61s')).toEqual({ ok: false, problem: 'must be from 1s to 1m' })
  })
})

test('a setting that allows forever reads it and names it in its problems', () => {
  const read = (text: string) => readAs(durationOrForever('1d', '7d'), text)
  expect(read('forever')).toEqual({ ok: true, value: null })
  expect(read('2d')).toEqual({ ok: true, value: 172_800_000 })
  expect(read('always')).toEqual({
    ok: false,
    problem: 'must be a duration: a whole number and a unit (ms, s, m, h or d), such as 30s, or forever',
  })
  expect(read('8d')).toEqual({ ok: false, problem: 'must be from 1d to 7d, or forever' })
})

describe('a rate', () => {
  test.each([
    ['60/60s', { requests: 60, perMs: 60_000 }],
    ['120/1m', { requests: 120, perMs: 60_000 }],
    ['1/250ms', { requests: 1, perMs: 250 }],
  ])('%s means %j', (text, value) => {
    expect(readAs(rate, text)).toEqual({ ok: true, value })
  })

  test.each(['60', '60/60', '/60s', '60/', '60/60s/1', '-1/60s', '6.5/60s', '60 / 60s', '60/minute'])(
    '%j is not a rate',
    (text) => {
      const problem = 'must be requests per duration, such as 60/60s'
      expect(readAs(rate, text)).toEqual({ ok: false, problem })
    },
  )
})
