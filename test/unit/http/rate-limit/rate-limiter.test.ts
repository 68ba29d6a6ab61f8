/** How long requests pause after a 429, and when refusals end the run. */
import { expect, test } from 'vitest'
import { Pauses, pauseMs } from '../../../../src/http/rate-limit/rate-limiter.js'

test('a pause lasts one window, doubling, or as long as the server asks for, at least a second', () => {
  expect([1, 2, 3, 4].map((nth) => pauseMs(nth, null, 60_000) / 60_000)).toEqual([1, 2, 4, 8])
  expect([1, 2, 3].map((nth) => pauseMs(nth, 7_000, 60_000))).toEqual([7_000, 7_000, 7_000])
  expect(pauseMs(1, 0, 60_000)).toBe(1_000)
})

test('only a refusal of a request sent since the last pause begins another', () => {
  const pauses = new Pauses(100)
  expect(pauses.rateLimited(0, null)).toEqual({ kind: 'pause', durationMs: 100 })
  expect(pauses.rateLimited(0, 5_000)).toEqual({ kind: 'join' })
  expect(pauses.rateLimited(pauses.epoch, null)).toEqual({ kind: 'pause', durationMs: 200 })
})

test('a success between two pauses starts the count again, even one that arrives late', () => {
  const pauses = new Pauses(100)
  pauses.rateLimited(0, null)
  pauses.rateLimited(1, null)
  pauses.succeeded(1)
  expect(pauses.rateLimited(2, null)).toEqual({ kind: 'pause', durationMs: 200 })
  pauses.rateLimited(3, null)
  pauses.rateLimited(4, null)
  expect(pauses.rateLimited(5, null)).toEqual({ kind: 'end', pauses: 5 })
})

test('a Retry-After of more than an hour ends the run, one of an hour does not', () => {
  expect(new Pauses(100).rateLimited(0, 3_600_000)).toMatchObject({ kind: 'pause' })
  expect(new Pauses(100).rateLimited(0, 3_601_000)).toEqual({ kind: 'retry_after_too_long' })
})
