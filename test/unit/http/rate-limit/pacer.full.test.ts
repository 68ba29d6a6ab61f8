/**
 * Ten simulated minutes with a backlog against every kind of rate window. A client uses nearly all of a cap that allows bursts.
 * A stricter server, or another sender on the same account, makes the client slow down instead of causing refusal after refusal.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { acceptedOf, begin, jitter, PHASES, refusedOf, tenMinutes, WINDOW_MS } from './pacer-shared.js'
import { MINUTE } from './simulated-server.js'

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
    now: Date.UTC(2026, 2, 1),
  })
})

afterEach(() => {
  vi.useRealTimers()
})

describe('ten minutes with a backlog', () => {
  test.each(PHASES)('use as much of the cap of a fixed window that began %d ms ago', async (ratePhase) => {
    const { used, refused, pace } = await tenMinutes(
      begin({ rateWindow: 'fixed', ratePhase, latencyMs: jitter() }),
    )
    expect({ refused, pace }).toEqual({ refused: 0, pace: null })
    expect(used).toBeGreaterThanOrEqual(0.99)
  })

  test.each([3, 10, 30, 50])(
    'use the rest of the cap beside another sender of %d requests a minute, with about one refusal a minute',
    async (foreignLoad) => {
      for (const rateWindow of ['sliding', 'fixed', 'sliding-counter'] as const) {
        const trial = begin({ rateWindow, foreignLoad, latencyMs: jitter() })
        const startMs = performance.now()
        await trial.work(30)
        const accepted = acceptedOf(trial.server, startMs, startMs + 30 * WINDOW_MS)
        await trial.end()
        // Two thirds of the rest of the cap, and at most about one refusal a minute.
        expect(accepted).toBeGreaterThan((2 / 3) * 30 * (MINUTE.requests - 1 - foreignLoad))
        expect(refusedOf(trial.server)).toBeLessThanOrEqual(40)
      }
    },
  )
})
