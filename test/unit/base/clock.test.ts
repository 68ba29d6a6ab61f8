/** Spans of time on a clock that is set while they last. */
import { expect, test } from 'vitest'
import { startSpan } from '../../../src/base/clock.js'
import { testClock } from '../../support/time/test-clock.js'

const HOUR_MS = 3_600_000

test.each([
  ['stays', 0, 90_000],
  ['is put forward', HOUR_MS, 90_000 + HOUR_MS],
  ['is put back', -HOUR_MS, 90_000],
])('a span on a clock that %s ends after it began', (_, stepMs, tookMs) => {
  const clock = testClock()
  const span = startSpan(clock)
  expect(span.endMs() - span.startedMs).toBe(0)
  clock.put(stepMs)
  clock.advance(90_000)
  expect(span.endMs() - span.startedMs).toBe(tookMs)
})
