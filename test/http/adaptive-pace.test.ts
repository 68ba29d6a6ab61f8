/**
 * Ten simulated minutes with a backlog, against every way of counting: nearly all of the cap is used where bursts are allowed, and a
 * server that counts more strictly, or somebody else who spends of the cap, changes the pace instead of being run into.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openPaceMemory, paceFileName, rememberedPaces } from '../../src/http/rate-limit/pace-memory.js'
import { createRandom } from '../simulation/random.js'
import { SLOW } from '../support/slow.js'
import {
  MINUTE,
  type SimulatedServer,
  type SimulatedServerOptions,
  simulateServer,
} from './simulated-server.js'
import { startClient, type TestClient } from './support.js'

const WINDOW_MS = 60_000
/** How long before the first request a window of the server began. */
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
  /** Wants more than the cap allows, for so long. */
  work(minutes: number): Promise<void>
  end(): Promise<void>
}

const begin = (
  options: SimulatedServerOptions = {},
  directory: string | null = null,
  server: SimulatedServer = simulateServer(options),
): Trial => {
  const client = startClient('http://127.0.0.1:9/api/v1', {
    rate: MINUTE,
    ledgerDirectory: directory,
    createWire: server.createWire,
  })
  let wanted = true
  const worker = async () => {
    while (wanted) await client.get()
  }
  return {
    server,
    client,
    work: async (minutes) => {
      const workers = Array.from({ length: 12 }, () => worker().catch(() => undefined))
      await vi.advanceTimersByTimeAsync(minutes * WINDOW_MS)
      wanted = false
      void workers
    },
    end: async () => {
      wanted = false
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
const temporary = () => mkdtempSync(join(tmpdir(), 'pace-'))
const OWNER = { baseUrl: 'http://127.0.0.1:9/api/v1', id: 12 }
const FILE = paceFileName(OWNER)
const openMemory = (directory: string) => openPaceMemory({ directory, owner: OWNER, account: 'default' })
const noteIn = (directory: string) => join(directory, FILE)

/** What ten minutes with a backlog came to. */
const tenMinutes = async (trial: Trial) => {
  const startMs = performance.now()
  await trial.work(10)
  const used = acceptedOf(trial.server, startMs, startMs + 10 * WINDOW_MS) / (10 * MINUTE.requests)
  await trial.end()
  return { used, refused: refusedOf(trial.server), pace: trial.client.usage().paceIntervalMs }
}

const jitter = () => {
  const random = createRandom(7)
  return () => 20 + random.unit() * 160
}

describe('ten minutes in which there is more to do than the cap allows', () => {
  test('use 99 % of the cap of a sliding window, without a refusal', async () => {
    const { used, refused, pace } = await tenMinutes(begin({ rateWindow: 'sliding', latencyMs: jitter() }))
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
    'meet a handful of refusals where a counter began %d ms ago, and are even from then on',
    async (ratePhase) => {
      for (const retryAfter of SLOW ? [true, false] : [true]) {
        const trial = begin({ rateWindow: 'sliding-counter', ratePhase, retryAfter, latencyMs: jitter() })
        const { used, refused, pace } = await tenMinutes(trial)
        expect(pace).toBeCloseTo(1021.2, 1)
        const refusals = trial.server.arrivals.filter(({ accepted }) => !accepted)
        const together = refusals.filter(({ atMs }) => atMs - (refusals[0]?.atMs ?? 0) < 500)
        expect(together.length).toBeLessThanOrEqual(4)
        // Where a span begins within a burst, some more in the two windows in which that is still counted.
        expect(refused).toBeLessThanOrEqual(8)
        // Without Retry-After the freeze is a whole window of the ten.
        expect(used).toBeGreaterThanOrEqual(retryAfter ? 0.93 : 0.87)
        expect(warnings(trial.client)[0]).toBe(
          'refused (429) within the cap: the API counts more strictly than in windows, or others spend of the cap; requests are evenly spaced from now on',
        )
        expect(warnings(trial.client).filter((message) => message.includes('evenly'))).toHaveLength(1)
      }
    },
  )

  test.runIf(SLOW).each([3, 10, 30, 50])(
    'share the cap with somebody who sends %d a minute, mostly without being refused',
    async (foreignLoad) => {
      for (const rateWindow of ['sliding', 'fixed', 'sliding-counter'] as const) {
        const directory = temporary()
        const trial = begin({ rateWindow, foreignLoad, latencyMs: jitter() }, directory)
        const startMs = performance.now()
        await trial.work(30)
        const accepted = acceptedOf(trial.server, startMs, startMs + 30 * WINDOW_MS)
        await trial.end()
        // Two thirds of what the other leaves, and not more than about one refusal a minute.
        expect(accepted).toBeGreaterThan((2 / 3) * 30 * (MINUTE.requests - 1 - foreignLoad))
        expect(refusedOf(trial.server)).toBeLessThanOrEqual(40)
      }
    },
  )
})

test('what was found out is there for the next run, also after a kill, and for a week', async () => {
  const directory = temporary()
  const server = simulateServer({ rateWindow: 'sliding-counter', ratePhase: 29_000 })
  const first = begin({}, directory, server)
  await first.work(2)
  // It is not closed: what a kill leaves is what is there now.
  expect(rememberedPaces(directory, Date.now())).toMatchObject([{ account: 'default', cap: MINUTE }])
  const before = refusedOf(server)
  const second = begin({}, directory, server)
  expect(second.client.usage().paceIntervalMs).toBeCloseTo(1021.2, 1)
  await second.work(3)
  expect(refusedOf(server)).toBe(before)
  await second.end()
  await first.end()
  vi.setSystemTime(Date.now() + 7 * 86_400_000)
  expect(begin({}, directory, server).client.usage().paceIntervalMs).toBeNull()
})

test('a single 429 that no counter can explain makes requests even, for this run only', async () => {
  const directory = temporary()
  const trial = begin({ rateWindow: 'sliding', foreignLoad: 40 }, directory)
  // The other one was there first.
  await vi.advanceTimersByTimeAsync(WINDOW_MS)
  await trial.work(1)
  expect(warnings(trial.client)[0]).toBe(
    'refused (429) within the cap: others spend of the cap, or it is lower than rate_limit; requests are evenly spaced from now on',
  )
  expect(trial.client.usage().paceIntervalMs).not.toBeNull()
  await trial.end()
  expect(existsSync(noteIn(directory))).toBe(false)
})

test.runIf(SLOW)('even requests that are refused again and again refute what was remembered', async () => {
  const directory = temporary()
  openMemory(directory).remember(MINUTE, Date.now())
  const trial = begin({ rateWindow: 'sliding', foreignLoad: 40 }, directory)
  await trial.work(10)
  await trial.end()
  expect(existsSync(noteIn(directory))).toBe(false)
})

describe('a note that is not to be believed', () => {
  const now = Date.UTC(2026, 2, 1)
  const note = { account: 'default', requests: 60, per_ms: 60_000, found_at: now }
  test.each<readonly [name: string, text: string]>([
    ['nothing', ''],
    ['half of it', JSON.stringify(note).slice(0, 30)],
    ['another shape', JSON.stringify({ ...note, found_at: 'yesterday' })],
    ['more than there is', JSON.stringify({ ...note, paced: true })],
    ['another cap', JSON.stringify({ ...note, requests: 600 })],
    ['the future', JSON.stringify({ ...note, found_at: now + 86_400_000 })],
    ['long ago', JSON.stringify({ ...note, found_at: now - 7 * 86_400_000 })],
    ['a negative time', JSON.stringify({ ...note, found_at: -1 })],
    ['too much', `${' '.repeat(5_000)}${JSON.stringify(note)}`],
    ['a list', '[]'],
    ['null', 'null'],
  ])('%s', (_, text) => {
    const directory = temporary()
    writeFileSync(noteIn(directory), text)
    const memory = openMemory(directory)
    expect(memory.recall(MINUTE, now)).toBe(false)
    memory.remember(MINUTE, now)
    expect(memory.recall(MINUTE, now)).toBe(true)
    expect(readdirSync(directory)).toEqual([FILE])
  })

  test('a directory in its place: it is nothing, and cannot be replaced', () => {
    const directory = temporary()
    mkdirSync(noteIn(directory))
    const memory = openMemory(directory)
    expect(memory.recall(MINUTE, now)).toBe(false)
    expect(() => memory.remember(MINUTE, now)).toThrow(
      /^the note on how to pace requests, .*even-pace-127\.0\.0\.1_9-12\.[0-9a-f]+\.json, cannot be written: E/,
    )
  })
})
