import { abortReason, type Clock } from '../../../src/base/clock.js'

interface TestClock extends Clock {
  /** Time passes. */
  advance(ms: number): void
  /** The wall clock is put forward or back, and no time passes. */
  put(ms: number): void
}

/** A clock that stands still until the test moves it; who sleeps on it wakes when it has moved far enough. */
export const testClock = (startsAt = '2026-03-01T00:00:00Z'): TestClock => {
  let startMs = Date.parse(startsAt)
  const sleepers = new Set<{ readonly untilMs: number; wake(): void }>()
  let passedMs = 0
  return {
    nowMs: () => startMs + passedMs,
    monotonicMs: () => passedMs,
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        const onAbort = () => {
          sleepers.delete(sleeper)
          if (signal !== undefined) reject(abortReason(signal))
        }
        const wake = () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }
        const sleeper = { untilMs: passedMs + durationMs, wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
    put: (ms) => {
      startMs += ms
    },
    advance: (ms) => {
      passedMs += ms
      for (const sleeper of [...sleepers].filter(({ untilMs }) => untilMs <= passedMs)) {
        sleepers.delete(sleeper)
        sleeper.wake()
      }
    },
  }
}
