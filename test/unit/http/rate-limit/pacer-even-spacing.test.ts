/**
 * A sliding-window counter accepts every request at the even distance. Property tests check this with the counters of the
 * reference server, which have no code in common with the pacer, for any cap, phase and jitter.
 *
 * Such a counter divides time into spans of the window's length. To the requests of this span it adds those of the previous span,
 * weighted by the part of that span that a window still covers. Let N be the cap, W the window, s the distance, and J the most
 * that jitter shortens a distance: the nth request after another arrives at least n·s - J after it. The claim: with
 * s = (W + J) / (N - 1), N at least 2 and J at most s, the counter refuses nothing, wherever its spans begin. The proof: let P
 * requests arrive in the previous span, and k in this span before a request that arrives at the part f of the span. The counter
 * refuses that request if P·(1 - f) + k + 1 > N.
 * Let m = W/s; then m·(1 + J/W) = N - 1.
 * - P is at most N - 1: its last request arrives less than W after its first, so (P - 1)·s - J < W.
 * - k = 0: P + 1 is at most N.
 * - k > 0, P at most m: the request arrives k·s - J after the first of its span, so f is at least k/m - J/W, and the sum is at
 *   most P·(1 - k/m + J/W) + k + 1. The sum grows with P. For P = m it is m·(1 + J/W) + 1 = N.
 * - k > 0, P more than m: the request arrives (P + k)·s - J after the first of the previous span, so f is at least
 *   (P + k)/m - J/W - 1, and the sum is at most P·(2 + J/W - (P + k)/m) + k + 1. For P = m that is N again. From there the sum
 *   falls, because its maximum is at m·(1 + J/2W) - k/2, which is not above m while J is at most s.
 *
 * A smaller distance is not possible, because the counter accepts N - 1 requests after a full span. With N = 1 a request fills its
 * own span and the next one, so two requests have to be 2·W apart.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Rate as Cap } from '../../../../src/base/network.js'
import { evenRate, intervalMs, jitterMs } from '../../../../src/http/rate-limit/pacer.js'
import { type CapSettings, createAccountCap } from '../../../../src/reference-server/api/rate-limit.js'
import { cases } from '../../../support/suite/cases.js'

const refusedOf = (
  kind: CapSettings['rateWindow'],
  rateLimit: Cap,
  ratePhase: number,
  arrivalsMs: readonly number[],
): number => {
  const admit = createAccountCap({ rateWindow: kind, rateLimit, ratePhase, foreignLoad: 0 }, 0)
  return arrivalsMs.filter((atMs) => admit(atMs) > 0).length
}

const caps = fc.oneof(
  fc.record({ requests: fc.integer({ min: 1, max: 200 }), perMs: fc.integer({ min: 100, max: 120_000 }) }),
  fc.constantFrom(
    { requests: 60, perMs: 60_000 },
    { requests: 1, perMs: 60_000 },
    { requests: 2, perMs: 60_000 },
  ),
)
/** A part of a window or of the jitter. */
const part = fc.double({ min: 0, max: 1, noNaN: true })
const late = fc.oneof(part, fc.constantFrom(0, 1))

/** Arrivals of evenly spaced requests, each late by up to the jitter, so that two may be that much too close. */
const evenly = (cap: Cap, lateness: readonly number[], windows: number): number[] => {
  const stepMs = intervalMs(cap, evenRate(cap))
  const count = Math.ceil(evenRate(cap) * windows)
  return Array.from(
    { length: count },
    (_, nth) => nth * stepMs + (lateness[nth % lateness.length] ?? 0) * jitterMs(cap),
  )
}

describe('requests at the even distance', () => {
  test.each(['sliding-counter', 'sliding', 'fixed'] as const)('are never refused by a %s window', (kind) => {
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
  })

  test('are nearly the most that such a counter accepts: with one more per window it refuses some in every window', () => {
    const cap = { requests: 60, perMs: 60_000 }
    expect(intervalMs(cap, evenRate(cap))).toBeCloseTo(1021.2, 1)
    const stepMs = cap.perMs / cap.requests
    const arrivals = Array.from({ length: 600 }, (_, nth) => nth * stepMs)
    expect(refusedOf('sliding-counter', cap, 500, arrivals)).toBeGreaterThan(8)
  })

  test('use 97.9 % of a cap of 60 a minute', () => {
    const cap = { requests: 60, perMs: 60_000 }
    expect(cap.perMs / cap.requests / intervalMs(cap, evenRate(cap))).toBeGreaterThan(0.979)
  })
})
