/** The windows without HTTP: whatever a client does, each keeps its promise, and what it tells is exact. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AccountCap,
  type CapSettings,
  createAccountCap,
} from '../../../src/reference-server/api/account-cap.js'

const CAP = 3
const WINDOW_MS = 100
const START_MS = 1_000

const cap = (rateWindow: CapSettings['rateWindow'], more: Partial<CapSettings> = {}): AccountCap =>
  createAccountCap(
    {
      rateWindow,
      rateLimit: { requests: CAP, perMs: WINDOW_MS },
      ratePhase: 0,
      foreignLoad: 0,
      ...more,
    },
    START_MS,
  )

/** Which of requests at these moments, counted from the start, are accepted. */
const accepted = (limiter: AccountCap, momentsMs: readonly number[]): number[] =>
  momentsMs.filter((atMs) => limiter.admit(START_MS + atMs) === 0)

const inSpan = (momentsMs: readonly number[], fromMs: number): number =>
  momentsMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + WINDOW_MS).length

/** Moments in the order of time: bursts, pauses, and now and then a long silence. */
const moments = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: fc.integer({ min: 0, max: 60 }) },
      { weight: 1, arbitrary: fc.integer({ min: 100, max: 5_000 }) },
    ),
    { maxLength: 80 },
  )
  .map((gapsMs) => {
    let atMs = 0
    return gapsMs.map((gapMs) => {
      atMs += gapMs
      return atMs
    })
  })
const phases = fc.integer({ min: 0, max: 250 })
const KINDS = ['sliding', 'fixed', 'sliding-counter'] as const

describe('API document, "Limits": the arithmetic', () => {
  test('sliding: any span of the window’s length holds at most the cap, and no room is refused', () => {
    fc.assert(
      fc.property(moments, phases, (momentsMs, ratePhase) => {
        const limiter = cap('sliding', { ratePhase })
        const taken: number[] = []
        for (const atMs of momentsMs) {
          const recent = taken.filter((takenMs) => takenMs > atMs - WINDOW_MS)
          const isAccepted = limiter.admit(START_MS + atMs) === 0
          expect(isAccepted).toBe(recent.length < CAP)
          if (isAccepted) taken.push(atMs)
        }
      }),
    )
  })

  test('fixed: each window from its phase on holds at most the cap, and no room in it is refused', () => {
    fc.assert(
      fc.property(moments, phases, (momentsMs, ratePhase) => {
        const limiter = cap('fixed', { ratePhase })
        const taken = new Map<number, number>()
        for (const atMs of momentsMs) {
          const place = Math.floor((atMs + ratePhase) / WINDOW_MS)
          const before = taken.get(place) ?? 0
          const isAccepted = limiter.admit(START_MS + atMs) === 0
          expect(isAccepted).toBe(before < CAP)
          if (isAccepted) taken.set(place, before + 1)
        }
      }),
    )
  })

  test('fixed: a burst on either side of a border passes whole, twice the cap within a moment; the phase says where the border is', () => {
    const burst = [99, 99, 99, 99, 100, 100, 100, 100]
    expect(accepted(cap('fixed'), burst)).toEqual([99, 99, 99, 100, 100, 100])
    expect(accepted(cap('fixed', { ratePhase: 40 }), burst)).toEqual([99, 99, 99])
    const around = [59, 59, 59, 59, 60, 60, 60, 60]
    expect(accepted(cap('fixed', { ratePhase: 40 }), around)).toEqual([59, 59, 59, 60, 60, 60])
    expect(accepted(cap('fixed', { ratePhase: 240 }), around)).toEqual([59, 59, 59, 60, 60, 60])
    expect(accepted(cap('sliding'), burst)).toEqual([99, 99, 99])
  })

  test('sliding-counter: the span before counts by its covered part, and no span of its own holds more than the cap', () => {
    fc.assert(
      fc.property(moments, phases, (momentsMs, ratePhase) => {
        const limiter = cap('sliding-counter', { ratePhase })
        const taken: number[] = []
        for (const atMs of momentsMs) {
          const spanMs = Math.floor((atMs + ratePhase) / WINDOW_MS) * WINDOW_MS - ratePhase
          const now = inSpan(taken, spanMs)
          const before = inSpan(taken, spanMs - WINDOW_MS)
          // In whole numbers: `before`, weighted by the covered part of its span, plus `now`, plus the one that asks.
          const estimate = before * (spanMs + WINDOW_MS - atMs) + (now + 1) * WINDOW_MS
          const isAccepted = limiter.admit(START_MS + atMs) === 0
          expect(isAccepted).toBe(estimate <= CAP * WINDOW_MS)
          if (!isAccepted) continue
          taken.push(atMs)
          expect(now + 1).toBeLessThanOrEqual(CAP)
        }
      }),
    )
  })

  test('sliding-counter: it refuses what the sliding log accepts, and accepts what that one refuses', () => {
    const aWindowApart = [0, 0, 0, 100]
    expect(accepted(cap('sliding'), aWindowApart)).toEqual([0, 0, 0, 100])
    expect(accepted(cap('sliding-counter'), aWindowApart)).toEqual([0, 0, 0])
    const lateBurst = [99, 99, 99, 170]
    expect(accepted(cap('sliding'), lateBurst)).toEqual([99, 99, 99])
    expect(accepted(cap('sliding-counter'), lateBurst)).toEqual([99, 99, 99, 170])
  })

  test.each(KINDS)('%s: a told wait is exact, if nobody else comes', (kind) => {
    fc.assert(
      fc.property(moments, phases, fc.boolean(), (momentsMs, ratePhase, comesTooSoon) => {
        const limiter = cap(kind, { ratePhase })
        let idleUntilMs = 0
        for (const atMs of momentsMs) {
          const arrivedMs = START_MS + Math.max(atMs, idleUntilMs)
          const waitMs = limiter.admit(arrivedMs)
          if (waitMs === 0) continue
          expect(waitMs).toBeGreaterThan(0)
          // Requests that come too soon, however little, are refused, take no room and do not move the moment.
          if (comesTooSoon) expect(limiter.admit(arrivedMs + waitMs * 0.999)).toBeGreaterThan(0)
          idleUntilMs = arrivedMs + waitMs + 1e-6 - START_MS
          expect(limiter.admit(START_MS + idleUntilMs)).toBe(0)
        }
      }),
    )
  })

  test.each(KINDS)('%s: the window of a cap of one opens again', (kind) => {
    const limiter = cap(kind, { rateLimit: { requests: 1, perMs: WINDOW_MS } })
    expect(limiter.admit(START_MS + 30)).toBe(0)
    const waitMs = limiter.admit(START_MS + 30)
    expect(waitMs).toBe({ sliding: 100, fixed: 70, 'sliding-counter': 170 }[kind])
    expect(limiter.admit(START_MS + 30 + waitMs)).toBe(0)
  })
})

describe('foreign load: the arithmetic', () => {
  test.each(['sliding', 'fixed'] as const)(
    '%s: the others are admitted and counted like ours, two a window of 100 ms: at 25, 75, 125, 175…',
    (kind) => {
      fc.assert(
        fc.property(moments, phases, (momentsMs, ratePhase) => {
          const everybody = cap(kind, { ratePhase })
          let foreignMs = 25
          const expected = momentsMs.filter((atMs) => {
            for (; foreignMs <= atMs; foreignMs += 50) everybody.admit(START_MS + foreignMs)
            return everybody.admit(START_MS + atMs) === 0
          })
          expect(accepted(cap(kind, { ratePhase, foreignLoad: 2 }), momentsMs)).toEqual(expected)
        }),
      )
    },
  )

  // The sliding counter counts theirs of the span before, by a tenth, and leaves no whole room of what remains.
  test.each([
    ['sliding', [3, 2, 1]],
    ['fixed', [3, 2, 1]],
    ['sliding-counter', [3, 1, 0]],
  ] as const)('%s: a burst finds what the others leave', (kind, found) => {
    const burst = Array.from({ length: 5 }, () => 1_090)
    for (const [foreignLoad, rooms] of found.entries()) {
      expect(accepted(cap(kind, { foreignLoad }), burst).length).toBe(rooms)
    }
  })

  test.each(KINDS)('%s: who waits as told gets through, however full the others keep the window', (kind) => {
    const limiter = cap(kind, { foreignLoad: CAP - 1 })
    let nowMs = START_MS
    let through = 0
    for (let request = 0; request < 1_000; request++) {
      const waitMs = limiter.admit(nowMs)
      if (waitMs === 0) through += 1
      nowMs += waitMs + 1
    }
    const windows = (nowMs - START_MS) / WINDOW_MS
    expect(through).toBeGreaterThanOrEqual(Math.floor(windows / 2))
  })

  test('after a silence of years they are caught up with by two windows’ worth of work', () => {
    const rateLimit = { requests: 2_000, perMs: 1_000 }
    const limiter = cap('sliding', { rateLimit, foreignLoad: 1_999 })
    // One by one, the arrivals of ten years would be 6 * 10^11.
    const yearsMs = START_MS + 10 * 365 * 24 * 3_600_000
    expect(limiter.admit(yearsMs)).toBe(0)
    expect(limiter.admit(yearsMs)).toBeGreaterThan(0)
  })

  test('without a window nobody takes room from anybody', () => {
    const limiter = cap('none', { foreignLoad: 2 })
    expect(
      accepted(
        limiter,
        Array.from({ length: 20 }, () => 500),
      ).length,
    ).toBe(20)
  })
})
