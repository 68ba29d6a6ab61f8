/**
 * The distance at which a sliding-window counter takes every request, held to the counters of the reference server, which
 * share no line with it: whatever the cap, the phase and the jitter.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Cap,
  counterMayRefuse,
  evenShare,
  intervalMs,
  spreadMs,
} from '../../src/http/rate-limit/even-pace.js'
import { createAccountCap } from '../../src/reference-server/api/account-cap.js'
import type { RateWindowKind } from '../../src/reference-server/api/rate-window.js'
import { CASES_TIMEOUT_MS, cases } from '../support/cases.js'

const refusedOf = (
  kind: RateWindowKind,
  rateLimit: Cap,
  ratePhase: number,
  arrivalsMs: readonly number[],
): number => {
  const cap = createAccountCap({ rateWindow: kind, rateLimit, ratePhase, foreignLoad: 0 }, 0)
  return arrivalsMs.filter((atMs) => cap.admit(atMs) > 0).length
}

const caps = fc.oneof(
  fc.record({ requests: fc.integer({ min: 1, max: 200 }), perMs: fc.integer({ min: 100, max: 120_000 }) }),
  fc.constantFrom(
    { requests: 60, perMs: 60_000 },
    { requests: 1, perMs: 60_000 },
    { requests: 2, perMs: 60_000 },
  ),
)
/** Parts of a window and of the spread. */
const part = fc.double({ min: 0, max: 1, noNaN: true })
const late = fc.oneof(part, fc.constantFrom(0, 1))

/** Evenly meant; each arrives by up to the spread late, so that two are by up to that much too close. */
const evenly = (cap: Cap, lateness: readonly number[], windows: number): number[] => {
  const stepMs = intervalMs(cap, evenShare(cap))
  const count = Math.ceil(evenShare(cap) * windows)
  return Array.from(
    { length: count },
    (_, nth) => nth * stepMs + (lateness[nth % lateness.length] ?? 0) * spreadMs(cap),
  )
}

describe('requests at the even distance', () => {
  test.each(['sliding-counter', 'sliding', 'fixed'] as const)(
    'are never refused by a %s window',
    { timeout: CASES_TIMEOUT_MS },
    (kind) => {
      fc.assert(
        fc.property(
          caps,
          part,
          fc.array(late, { minLength: 1, maxLength: 97, size: 'max' }),
          (cap, phase, lateness) => {
            const arrivals = evenly(cap, lateness, 6)
            expect(refusedOf(kind, cap, phase * cap.perMs, arrivals)).toBe(0)
          },
        ),
        cases(150),
      )
    },
  )

  test('are close to the most that such a counter takes: one more a window is refused in every window', () => {
    const cap = { requests: 60, perMs: 60_000 }
    expect(intervalMs(cap, evenShare(cap))).toBeCloseTo(1021.2, 1)
    const stepMs = cap.perMs / cap.requests
    const arrivals = Array.from({ length: 600 }, (_, nth) => nth * stepMs)
    expect(refusedOf('sliding-counter', cap, 500, arrivals)).toBeGreaterThan(8)
  })

  test('use 97.9 % of a cap of 60 a minute', () => {
    const cap = { requests: 60, perMs: 60_000 }
    expect(cap.perMs / cap.requests / intervalMs(cap, evenShare(cap))).toBeGreaterThan(0.979)
  })
})

test('what a counter may have refused: never where two windows hold no more than the cap', {
  timeout: CASES_TIMEOUT_MS,
}, () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 80 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), gaps, part, (requests, gapsMs, phase) => {
      const rateLimit = { requests, perMs: 100 }
      const counter = createAccountCap(
        { rateWindow: 'sliding-counter', rateLimit, ratePhase: phase * 100, foreignLoad: 0 },
        0,
      )
      const sent: number[] = []
      let atMs = 0
      for (const gapMs of gapsMs) {
        atMs += gapMs
        sent.push(atMs)
        const recent = sent.filter((sentMs) => sentMs > atMs - 200).length
        if (counter.admit(atMs) > 0) expect(counterMayRefuse(rateLimit, recent)).toBe(true)
      }
    }),
    cases(300),
  )
})
