import type { Clock } from '../../../src/base/clock.js'

interface TestClock extends Clock {
  /** Time passes. */
  advance(ms: number): void
  /** The wall clock is put forward or back, and no time passes. */
  put(ms: number): void
}

/** A clock that stands still until the test moves it; who sleeps on it wakes when it has moved far enough. */
export const testClock = (startsAt = '2026-03-01T00:00:00Z'): TestClock => {
  let startMs = Date.parse(startsAt)
  const timers = new Set<{ readonly dueMs: number; readonly act: () => void }>()
  let passedMs = 0
  return {
    nowMs: () => startMs + passedMs,
    monotonicMs: () => passedMs,
    after: (durationMs, act) => {
      const timer = { dueMs: passedMs + durationMs, act }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    put: (ms) => {
      startMs += ms
    },
    advance: (ms) => {
      passedMs += ms
      for (const timer of [...timers].filter(({ dueMs }) => dueMs <= passedMs))
        if (timers.delete(timer)) timer.act()
    },
  }
}
