/**
 * Spaces requests evenly for the rest of the run after a 429 within the cap
 * (docs/decisions/cap.md#0020-after-a-429-within-the-cap-requests-are-evenly-spaced). Each further 429 lowers the rate by a quarter. Each
 * window after the 429 gives a part of the cap back, up to the first even rate.
 *
 * A server with a sliding-window counter accepts every request at the first distance, (window + jitter) / (requests - 1), wherever its
 * spans begin. `test/unit/http/rate-limit/pacer-even-spacing` has the proof.
 */
import type { Rate } from '../../base/network.js'

export type Pacer = ReturnType<typeof createPacer>

const RATE_KEPT = 3 / 4
/** Each window after a 429 gives this part of the cap back. */
const REGAINED_PART = 1 / 30
/**
 * For this many windows after the first 429, the bursts before it still count and may cause further 429s. What these take from the rate
 * comes back at once.
 */
const SETTLING_WINDOWS = 2
/** The most that jitter may take away between requests of one window, milliseconds. */
const JITTER_MS_MAX = 250
/** A request that was sent late lets the next one be early by this part of the jitter. The rest is left to the network. */
const CATCH_UP_PART = 1 / 5

/** By how much requests may arrive closer together than they were sent, milliseconds. */
export const jitterMs = ({ requests, perMs }: Rate): number => Math.min(JITTER_MS_MAX, perMs / (2 * requests))

/** The requests a window that a sliding-window counter of this cap always accepts when they are evenly spaced. */
export const evenRate = ({ requests }: Rate): number => (requests === 1 ? 0.5 : requests - 1)

/** The distance between requests, milliseconds. `rate` is requests a window: `evenRate` or less. */
export const intervalMs = (cap: Rate, rate: number): number => (cap.perMs + jitterMs(cap)) / rate

interface SlowedDown {
  readonly rate: number
  readonly atMs: number
  readonly untilMs: number
}

/** Says when the next request may be sent. All times are of a clock that never goes back, milliseconds. */
export const createPacer = (cap: Rate) => {
  const rateMin = Math.min(1, evenRate(cap))
  let slowed: SlowedDown | null = null
  let dueMs = Number.NEGATIVE_INFINITY
  /** When the bursts before the first 429 no longer count. */
  let settledMs = Number.POSITIVE_INFINITY
  const rateAt = (nowMs: number): number => {
    const isSettled = slowed !== null && slowed.atMs < settledMs && nowMs >= settledMs
    if (slowed === null || isSettled) return evenRate(cap)
    const windows = Math.max(0, nowMs - slowed.untilMs) / cap.perMs
    return Math.min(evenRate(cap), slowed.rate + windows * cap.requests * REGAINED_PART)
  }
  return {
    /** How long the next request has to wait; zero or less: it may go. */
    leftMs: (nowMs: number): number => dueMs - nowMs,
    sent: (nowMs: number): void => {
      if (slowed === null) return
      const earliestMs = nowMs - CATCH_UP_PART * jitterMs(cap)
      dueMs = Math.max(dueMs, earliestMs) + intervalMs(cap, rateAt(nowMs))
    },
    /** A 429 for a request that was sent after the last pause. Nothing is sent for `pauseMs` now. */
    rateLimited: (nowMs: number, pauseMs: number): void => {
      const isFirst = slowed === null
      if (isFirst) settledMs = nowMs + SETTLING_WINDOWS * cap.perMs
      const rate = isFirst ? evenRate(cap) : Math.max(rateMin, rateAt(nowMs) * RATE_KEPT)
      slowed = { rate, atMs: nowMs, untilMs: nowMs + pauseMs }
      // After the pause the server has room for one request. The room for further requests grows evenly, and requests must not arrive
      // before it because of jitter.
      dueMs = slowed.untilMs + jitterMs(cap)
    },
    /** The distance between requests, milliseconds; null while they may go in bursts. */
    intervalMs: (nowMs: number): number | null => (slowed === null ? null : intervalMs(cap, rateAt(nowMs))),
  }
}
