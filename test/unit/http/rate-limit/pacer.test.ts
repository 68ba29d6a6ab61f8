/**
 * Ten simulated minutes with a backlog against every kind of rate window. A client uses nearly all of a cap that allows bursts.
 * A stricter server, or another sender on the same account, makes the client slow down instead of causing refusal after refusal.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPacer, intervalMs } from '../../../../src/http/rate-limit/pacer.js'
import { howMany, some } from '../../../support/suite/cases.js'
import type { TestClient } from '../server-and-client.js'
import { begin, jitter, PHASES, tenMinutes, WINDOW_MS } from './pacer-shared.js'
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

const warnings = ({ lines }: TestClient) =>
  lines.filter(({ level }) => level === 'warn').map(({ message }) => message)

describe('ten minutes with a backlog', () => {
  test('use 99 % of the cap of a sliding window, without a refusal', async () => {
    const trial = begin({ rateWindow: 'sliding', latencyMs: jitter() })
    const { used, refused, pace } = await tenMinutes(trial, howMany(5, 10))
    expect({ refused, pace }).toEqual({ refused: 0, pace: null })
    expect(used).toBeGreaterThanOrEqual(0.99)
  })

  test.each(some([29_000, ...PHASES], 1))(
    'get at most eight refusals from a counter that began %d ms ago, and are evenly spaced from then on',
    async (ratePhase) => {
      for (const retryAfter of some([true, false], 1)) {
        const trial = begin({ rateWindow: 'sliding-counter', ratePhase, retryAfter, latencyMs: jitter() })
        const { used, refused, pace } = await tenMinutes(trial)
        expect(pace).toBeCloseTo(1021.2, 1)
        const refusals = trial.server.arrivals.filter(({ accepted }) => !accepted)
        const together = refusals.filter(({ atMs }) => atMs - (refusals[0]?.atMs ?? 0) < 500)
        expect(together.length).toBeLessThanOrEqual(8)
        // If a span begins within a burst, more refusals follow in the two windows that still count the burst.
        expect(refused).toBeLessThanOrEqual(8)
        // Without Retry-After the pause takes one whole window of the ten.
        expect(used).toBeGreaterThanOrEqual(retryAfter ? 0.93 : 0.87)
        expect(warnings(trial.client)[0]).toBe(
          'refused (429) within the cap: the API counts more strictly than a rolling window, another client uses the cap, or the cap is below rate_limit; requests are evenly spaced from now on',
        )
        expect(warnings(trial.client).filter((message) => message.includes('evenly'))).toHaveLength(1)
      }
    },
  )
})

test('a single 429 spaces the requests of this run evenly, and the next run begins with a burst', async () => {
  const trial = begin({ rateWindow: 'sliding', foreignLoad: 40 })
  // The other sender begins a window earlier.
  await vi.advanceTimersByTimeAsync(WINDOW_MS)
  await trial.work(1)
  expect(warnings(trial.client).filter((message) => message.includes('evenly spaced'))).toHaveLength(1)
  expect(trial.client.usage().paceIntervalMs).not.toBeNull()
  await trial.end()
  expect(begin().client.usage().paceIntervalMs).toBeNull()
})

describe('the pacer', () => {
  const even = intervalMs(MINUTE, 59)
  const SETTLED_MS = 2 * WINDOW_MS

  test('allows bursts until the first refusal, then spaces requests evenly after its pause', () => {
    const pacer = createPacer(MINUTE)
    pacer.sent(0)
    expect(pacer.leftMs(0)).toBeLessThanOrEqual(0)
    expect(pacer.intervalMs(0)).toBeNull()
    pacer.rateLimited(0, 5_000)
    expect(pacer.leftMs(0)).toBe(5_250)
    pacer.sent(5_250)
    expect(pacer.leftMs(5_250)).toBeCloseTo(even)
    // After a late request the next one may be early by at most 50 ms.
    pacer.sent(10_000)
    expect(pacer.leftMs(10_000)).toBeCloseTo(even - 50)
  })

  test('lowers the rate by a quarter with each refusal, and raises it by two requests each window after the pause', () => {
    const pacer = createPacer(MINUTE)
    pacer.rateLimited(0, 1_000)
    pacer.rateLimited(SETTLED_MS, 10_000)
    const rateAt = (nowMs: number) => (WINDOW_MS + 250) / (pacer.intervalMs(nowMs) ?? Number.NaN)
    expect(rateAt(SETTLED_MS)).toBeCloseTo(59 * 0.75)
    expect(rateAt(SETTLED_MS + 10_000)).toBeCloseTo(59 * 0.75)
    expect(rateAt(SETTLED_MS + 10_000 + 3 * WINDOW_MS)).toBeCloseTo(59 * 0.75 + 6)
    expect(rateAt(SETTLED_MS + 60 * WINDOW_MS)).toBeCloseTo(59)
    for (let nth = 0; nth < 50; nth += 1) pacer.rateLimited(SETTLED_MS, 1_000)
    expect(rateAt(SETTLED_MS)).toBe(1)
  })

  test('restores the rate two windows after the first refusal, when the burst before it no longer counts', () => {
    const pacer = createPacer(MINUTE)
    pacer.rateLimited(0, 1_000)
    pacer.rateLimited(SETTLED_MS - 1, 1_000)
    expect(pacer.intervalMs(SETTLED_MS - 1)).toBeCloseTo(intervalMs(MINUTE, 59 * 0.75))
    expect(pacer.intervalMs(SETTLED_MS)).toBeCloseTo(even)
  })

  test('sends with a cap of one request every two windows', () => {
    const pacer = createPacer({ requests: 1, perMs: 1_000 })
    pacer.rateLimited(0, 1_000)
    pacer.rateLimited(5_000, 1_000)
    expect(pacer.intervalMs(5_000)).toBe(2_500)
  })
})
