/** No window has more requests than the cap, all of the cap can be used, and a slow request holds back no slot but its own. */
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sleep, systemClock } from '../../../../src/base/clock.js'
import type { Slot } from '../../../../src/http/rate-limit/held-slot-limiter.js'
import { HeldSlotLimiter } from '../../../../src/http/rate-limit/held-slot-limiter.js'
import { cases, howMany } from '../../../support/suite/cases.js'
import { type Arrival, worstWindow } from '../server-and-client.js'

/** A larger cap only takes longer: each fake timer is found by a search of all timers. */
const LARGE_CAP = 200
const PER_MS = 1_000
/** A window, and the time for which a slot is held longer. */
const HOLD_MS = 1_050

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const createLimiter = (cap: number, occupiedMs: readonly number[] = []): HeldSlotLimiter =>
  new HeldSlotLimiter({
    cap,
    timing: { perMs: PER_MS, requestTimeoutMs: 500 },
    ledger: { occupiedMs: () => occupiedMs, send: () => 0, end: () => undefined },
    clock: systemClock,
  })

const arrivedAt = (atMs: number): Arrival => ({ atMs, url: '', headers: {} })

const NEVER_ABORTED = new AbortController().signal

const answerAtOnce = (slot: Slot): Promise<void> => {
  slot.sending()
  slot.answered()
  return Promise.resolve()
}

/** Requests that are answered at once. Returns the sends, which the caller waits for. */
const burst = (limiter: HeldSlotLimiter, requests: number): Arrival[] => {
  const sent: Arrival[] = []
  const work = (slot: Slot) => {
    sent.push(arrivedAt(performance.now()))
    return answerAtOnce(slot)
  }
  for (let nth = 0; nth < requests; nth += 1) void limiter.run(work, [NEVER_ABORTED])
  return sent
}

type Outcome = 'answer' | 'loss' | 'unsent' | 'dropped'

const request = fc.record({
  afterMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(9)),
  latencyMs: fc.oneof({ weight: 30, arbitrary: fc.nat(3) }, fc.nat(400)),
  /** When within the latency the server counts the request. */
  countedPart: fc.double({ min: 0, max: 1, noNaN: true }),
  outcome: fc.oneof(
    { weight: 8, arbitrary: fc.constant<Outcome>('answer') },
    fc.constantFrom<Outcome>('loss', 'unsent', 'dropped'),
  ),
})

test('for any cap, earlier holds, latencies, losses and drops, no window has more requests than the cap, and all end', () =>
  fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 200, max: howMany(250, 450) })),
      fc.array(fc.nat(HOLD_MS), { maxLength: howMany(250, 450), size: 'max' }),
      fc.array(request, { minLength: 1, maxLength: howMany(500, 900), size: 'max' }),
      async (cap, anyOccupiedMs, requests) => {
        const occupiedMs = anyOccupiedMs.slice(0, cap)
        const startMs = performance.now()
        const limiter = createLimiter(cap, occupiedMs)
        // A hold of an earlier run ends one hold after the server counted its request.
        const arrivals = occupiedMs.map((leftMs) => arrivedAt(startMs + leftMs - HOLD_MS))
        let inUseMax = 0
        const send = async ({ latencyMs, countedPart, outcome }: (typeof requests)[number], slot: Slot) => {
          slot.sending()
          inUseMax = Math.max(inUseMax, limiter.slotsInUse())
          const atMs = performance.now() + latencyMs * countedPart
          if (outcome !== 'unsent') arrivals.push(arrivedAt(atMs))
          await sleep(systemClock, latencyMs)
          if (outcome === 'unsent') slot.neverSent()
          else if (outcome !== 'loss') slot.answered()
        }
        let settled = 0
        for (const next of requests) {
          const controller = new AbortController()
          const end = () => {
            settled += 1
          }
          limiter.run((slot) => send(next, slot), [controller.signal]).then(end, end)
          if (next.outcome === 'dropped') setTimeout(() => controller.abort(), next.latencyMs)
          if (next.afterMs > 0) await vi.advanceTimersByTimeAsync(next.afterMs)
        }
        for (let waits = 0; settled < requests.length && waits < 3 * requests.length; waits += 1)
          await vi.advanceTimersByTimeAsync(HOLD_MS)
        expect(settled).toBe(requests.length)
        expect(inUseMax).toBeLessThanOrEqual(cap)
        expect(worstWindow(arrivals, PER_MS)).toBeLessThanOrEqual(cap)
        await limiter.close()
      },
    ),
    // To shrink a failure takes minutes: a case has hundreds of requests.
    { ...cases(3, 300), endOnFailure: true },
  ))

test('all slots are used, and again after a window', async () => {
  const limiter = createLimiter(LARGE_CAP)
  const sent = burst(limiter, 2 * LARGE_CAP)
  await vi.advanceTimersByTimeAsync(PER_MS)
  expect(sent).toHaveLength(LARGE_CAP)
  await vi.advanceTimersByTimeAsync(HOLD_MS)
  expect(sent).toHaveLength(2 * LARGE_CAP)
  await limiter.close()
})

test('a slow request holds back no slot but its own', async () => {
  const cap = LARGE_CAP
  const limiter = createLimiter(cap)
  const slow = limiter.run(
    async (slot) => {
      slot.sending()
      await sleep(systemClock, 10 * PER_MS)
      slot.answered()
    },
    [NEVER_ABORTED],
  )
  const sent = burst(limiter, 4 * cap)
  for (const windows of [1, 2, 3]) {
    await vi.advanceTimersByTimeAsync(HOLD_MS)
    expect(sent.length).toBeGreaterThanOrEqual(windows * (cap - 1))
    expect(worstWindow(sent, PER_MS)).toBe(cap - 1)
  }
  await vi.advanceTimersByTimeAsync(10 * PER_MS)
  await slow
  await limiter.close()
})

test('requests that were dropped while they waited leave their slots to others', async () => {
  const cap = LARGE_CAP
  const limiter = createLimiter(cap)
  const before = burst(limiter, cap)
  await vi.advanceTimersByTimeAsync(PER_MS / 2)
  const controller = new AbortController()
  const dropped = Array.from({ length: 50 }, () => limiter.run(answerAtOnce, [controller.signal]))
  controller.abort(new Error('stopped'))
  await Promise.all(dropped.map((one) => expect(one).rejects.toThrow('stopped')))
  await vi.advanceTimersByTimeAsync(HOLD_MS)
  const after = burst(limiter, cap + 1)
  await vi.advanceTimersByTimeAsync(PER_MS)
  expect([before.length, after.length]).toEqual([cap, cap])
  await limiter.close()
})
