/** How long a client waits before another attempt. */
import { expect, test } from 'vitest'
import { retryWaitMs } from '../../../src/http/retry-wait.js'

const limits = { backoff_base: 500, backoff_max: 6_000 }

test('the backoff doubles up to its limit, and jitter takes any part of it', () => {
  expect([1, 2, 3, 4, 5, 6, 2_000].map((attempt) => retryWaitMs(attempt, limits, 1))).toEqual([
    500, 1_000, 2_000, 4_000, 6_000, 6_000, 6_000,
  ])
  expect([0, 0.5, 1].map((random) => retryWaitMs(3, limits, random))).toEqual([0, 1_000, 2_000])
})

test.each([
  [null, 1_000],
  [500, 1_000],
  [3_000, 3_000],
  [60_000, 6_000],
])('a server that asks for %s ms gets %i', (retryAfterMs, waitMs) => {
  expect(retryWaitMs(3, limits, 0.5, retryAfterMs)).toBe(waitMs)
})
