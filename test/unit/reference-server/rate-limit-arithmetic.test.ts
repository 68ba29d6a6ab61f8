/** The windows without HTTP: whatever a client does, each keeps its promise, and the waits that it announces are exact. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Admit,
  type CapSettings,
  createAccountCap,
} from '../../../src/reference-server/api/rate-limit.js'

const CAP = 3
const WINDOW_MS = 100
const START_MS = 1_000

const cap = (rateWindow: CapSettings['rateWindow'], more: Partial<CapSettings> = {}): Admit =>
  createAccountCap(
    { rateWindow, rateLimit: { requests: CAP, perMs: WINDOW_MS }, ratePhase: 0, foreignLoad: 0, ...more },
    START_MS,
  )

/** The moments, counted from the start, at which a request is accepted. */
const accepted = (admit: Admit, momentsMs: readonly number[]): number[] =>
  momentsMs.filter((atMs) => admit(START_MS + atMs) === 0)

const inSpan = (momentsMs: readonly number[], fromMs: number): number =>
  momentsMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + WINDOW_MS).length

/** Moments in the order of time: bursts, pauses, and some long silences. */
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
        const admit = cap('sliding', { ratePhase })
        const taken: number[] = []
        for (const atMs of momentsMs) {
          const recent = taken.filter((takenMs) => takenMs > atMs - WINDOW_MS)
          const isAccepted = admit(START_MS + atMs) === 0
          expect(isAccepted).toBe(recent.length < CAP)
          if (isAccepted) taken.push(atMs)
        }
      }),
    )
  })

  test('fixed: each window from its phase on holds at most the cap, and no room in it is refused', () => {
    fc.assert(
      fc.property(moments, phases, (momentsMs, ratePhase) => {
        const admit = cap('fixed', { ratePhase })
        const taken = new Map<number, number>()
        for (const atMs of momentsMs) {
          const place = Math.floor((atMs + ratePhase) / WINDOW_MS)
          const before = taken.get(place) ?? 0
          const isAccepted = admit(START_MS + atMs) === 0
          expect(isAccepted).toBe(before < CAP)
          if (isAccepted) taken.set(place, before + 1)
        }
      }),
    )
  })

  test('sliding-counter: the span before counts by its covered part, and no span holds more than the cap', () => {
    fc.assert(
      fc.property(moments, phases, (momentsMs, ratePhase) => {
        const admit = cap('sliding-counter', { ratePhase })
        const taken: number[] = []
        for (const atMs of momentsMs) {
          const spanMs = Math.floor((atMs + ratePhase) / WINDOW_MS) * WINDOW_MS - ratePhase
          const now = inSpan(taken, spanMs)
          const before = inSpan(taken, spanMs - WINDOW_MS)
          // In whole numbers: `before`, weighted by the covered part of its span, plus `now`, plus the request itself.
          const estimate = before * (spanMs + WINDOW_MS - atMs) + (now + 1) * WINDOW_MS
          const isAccepted = admit(START_MS + atMs) === 0
          expect(isAccepted).toBe(estimate <= CAP * WINDOW_MS)
          if (!isAccepted) continue
          taken.push(atMs)
          expect(now + 1).toBeLessThanOrEqual(CAP)
        }
      }),
    )
  })

  test.each(KINDS)('%s: an announced wait is exact, if no other request comes', (kind) => {
    fc.assert(
      fc.property(moments, phases, fc.boolean(), (momentsMs, ratePhase, comesTooSoon) => {
        const admit = cap(kind, { ratePhase })
        let idleUntilMs = 0
        for (const atMs of momentsMs) {
          const arrivedMs = START_MS + Math.max(atMs, idleUntilMs)
          const waitMs = admit(arrivedMs)
          if (waitMs === 0) continue
          expect(waitMs).toBeGreaterThan(0)
          // A request that comes even a little too soon is refused, takes no room and does not move the moment.
          if (comesTooSoon) expect(admit(arrivedMs + waitMs * 0.999)).toBeGreaterThan(0)
          idleUntilMs = arrivedMs + waitMs + 1e-6 - START_MS
          expect(admit(START_MS + idleUntilMs)).toBe(0)
        }
      }),
    )
  })

  test.each(KINDS)('%s: the window of a cap of one opens again', (kind) => {
    const admit = cap(kind, { rateLimit: { requests: 1, perMs: WINDOW_MS } })
    expect(admit(START_MS + 30)).toBe(0)
    const waitMs = admit(START_MS + 30)
    expect(waitMs).toBe({ sliding: 100, fixed: 70, 'sliding-counter': 170 }[kind])
    expect(admit(START_MS + 30 + waitMs)).toBe(0)
  })
})

describe('foreign load: the arithmetic', () => {
  test.each(['sliding', 'fixed'] as const)(
    '%s: foreign requests are admitted and counted like ours, two per window of 100 ms: at 25, 75, 125, 175…',
    (kind) => {
      fc.assert(
        fc.property(moments, phases, (momentsMs, ratePhase) => {
          const everybody = cap(kind, { ratePhase })
          let foreignMs = 25
          const expected = momentsMs.filter((atMs) => {
            for (; foreignMs <= atMs; foreignMs += 50) everybody(START_MS + foreignMs)
            return everybody(START_MS + atMs) === 0
          })
          expect(accepted(cap(kind, { ratePhase, foreignLoad: 2 }), momentsMs)).toEqual(expected)
        }),
      )
    },
  )

  // The sliding counter still counts a tenth of the others' requests in the span before, which takes a whole request's room.
  test.each([
    ['sliding', [3, 2, 1]],
    ['fixed', [3, 2, 1]],
    ['sliding-counter', [3, 1, 0]],
  ] as const)('%s: a burst gets the room that foreign requests leave', (kind, found) => {
    const burst = Array.from({ length: 5 }, () => 1_090)
    for (const [foreignLoad, rooms] of found.entries()) {
      expect(accepted(cap(kind, { foreignLoad }), burst).length).toBe(rooms)
    }
  })

  test.each(KINDS)(
    '%s: a client that waits as announced gets through, however full foreign requests keep the window',
    (kind) => {
      const admit = cap(kind, { foreignLoad: CAP - 1 })
      let nowMs = START_MS
      let through = 0
      for (let request = 0; request < 1_000; request++) {
        const waitMs = admit(nowMs)
        if (waitMs === 0) through += 1
        nowMs += waitMs + 1
      }
      const windows = (nowMs - START_MS) / WINDOW_MS
      expect(through).toBeGreaterThanOrEqual(Math.floor(windows / 2))
    },
  )

  test('after a silence of years, only the foreign requests of two windows are counted', () => {
    const rateLimit = { requests: 2_000, perMs: 1_000 }
    const admit = cap('sliding', { rateLimit, foreignLoad: 1_999 })
    // The arrivals of ten years are 6 * 10^11, too many to count one by one.
    const yearsMs = START_MS + 10 * 365 * 24 * 3_600_000
    expect(admit(yearsMs)).toBe(0)
    expect(admit(yearsMs)).toBeGreaterThan(0)
  })

  test('without a window, foreign requests take no room', () => {
    const admit = cap('none', { foreignLoad: 2 })
    expect(accepted(admit, Array(20).fill(500)).length).toBe(20)
  })
})
