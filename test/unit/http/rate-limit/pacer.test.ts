/**
 * Ten simulated minutes with a backlog against every kind of rate window. A client uses nearly all of a cap that allows bursts.
 * A stricter server, or another sender on the same account, makes the client slow down instead of causing refusal after refusal.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPacer, intervalMs } from '../../../../src/http/rate-limit/pacer.js'
import { createRandom } from '../../../simulation/random.js'
import { SLOW } from '../../../support/suite/slow.js'
import { startClient, type TestClient } from '../server-and-client.js'
import {
  MINUTE,
  type SimulatedServer,
  type SimulatedServerOptions,
  simulateServer,
} from './simulated-server.js'

const WINDOW_MS = 60_000
/** Times from the beginning of a window of the server to the first request. */
const PHASES = [0, 1, 7_000, 29_000, 40_000, 55_000, 59_500]

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
    now: Date.UTC(2026, 2, 1),
  })
})

afterEach(() => {
  vi.useRealTimers()
})

interface Trial {
  readonly server: SimulatedServer
  readonly client: TestClient
  /** Requests more than the cap allows for `minutes`. */
  work(minutes: number): Promise<void>
  end(): Promise<void>
}

const begin = (options: SimulatedServerOptions = {}): Trial => {
  const server = simulateServer(options)
  const client = startClient('http://127.0.0.1:9/api/v1', {
    rate: MINUTE,
    createTransport: server.createTransport,
  })
  let isWorking = true
  const worker = async () => {
    while (isWorking) await client.get()
  }
  return {
    server,
    client,
    work: async (minutes) => {
      const workers = Array.from({ length: 12 }, () => worker().catch(() => undefined))
      await vi.advanceTimersByTimeAsync(minutes * WINDOW_MS)
      isWorking = false
      void workers
    },
    end: async () => {
      isWorking = false
      const closed = client.close()
      await vi.advanceTimersByTimeAsync(WINDOW_MS)
      await closed
    },
  }
}

const refusedOf = ({ arrivals }: SimulatedServer) => arrivals.filter(({ accepted }) => !accepted).length
const acceptedOf = ({ arrivals }: SimulatedServer, fromMs: number, toMs: number) =>
  arrivals.filter(({ accepted, atMs }) => accepted && atMs >= fromMs && atMs < toMs).length
const warnings = ({ lines }: TestClient) =>
  lines.filter(({ level }) => level === 'warn').map(({ message }) => message)

/** Cap usage, refusals and pace after ten minutes with a backlog, or fewer. */
const tenMinutes = async (trial: Trial, minutes = 10) => {
  const startMs = performance.now()
  await trial.work(minutes)
  const used = acceptedOf(trial.server, startMs, startMs + minutes * WINDOW_MS) / (minutes * MINUTE.requests)
  await trial.end()
  return { used, refused: refusedOf(trial.server), pace: trial.client.usage().paceIntervalMs }
}

const jitter = () => {
  const random = createRandom(7)
  return () => 20 + random.unit() * 160
}

describe('ten minutes with a backlog', () => {
  test('use 99 % of the cap of a sliding window, without a refusal', async () => {
    const trial = begin({ rateWindow: 'sliding', latencyMs: jitter() })
    const { used, refused, pace } = await tenMinutes(trial, SLOW ? 10 : 5)
    expect({ refused, pace }).toEqual({ refused: 0, pace: null })
    expect(used).toBeGreaterThanOrEqual(0.99)
  })

  test.runIf(SLOW).each(PHASES)(
    'use as much of the cap of a fixed window that began %d ms ago',
    async (ratePhase) => {
      const { used, refused, pace } = await tenMinutes(
        begin({ rateWindow: 'fixed', ratePhase, latencyMs: jitter() }),
      )
      expect({ refused, pace }).toEqual({ refused: 0, pace: null })
      expect(used).toBeGreaterThanOrEqual(0.99)
    },
  )

  test.each(SLOW ? PHASES : [29_000])(
    'get at most eight refusals from a counter that began %d ms ago, and are evenly spaced from then on',
    async (ratePhase) => {
      for (const retryAfter of SLOW ? [true, false] : [true]) {
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

  test.runIf(SLOW).each([3, 10, 30, 50])(
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
