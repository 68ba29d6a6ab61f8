/**
 * The request cap (API document, "Limits"), on real time, one window an account. A request counts at its arrival
 * and only when it is accepted: one that is answered 429 takes no room, so a client that waits long enough
 * always gets through.
 */

export const RATE_WINDOWS = ['sliding', 'fixed', 'none'] as const

export type RateWindowKind = (typeof RATE_WINDOWS)[number]

/** At most `requests` in `perMs` milliseconds. */
export interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

export interface RateWindow {
  /**
   * Takes a request that arrives at `nowMs`, milliseconds on a clock that never goes back. Returns 0 when it is
   * accepted, else how many milliseconds later there would be room.
   */
  admit(nowMs: number): number
}

/** `startMs` is when the server started: fixed windows are counted from it. */
export const createRateWindow = (kind: RateWindowKind, limit: RateLimit, startMs: number): RateWindow => {
  if (kind === 'none') return { admit: () => 0 }
  return kind === 'sliding' ? slidingWindow(limit) : fixedWindow(limit, startMs)
}

/** Any span of `perMs` holds at most `requests`. Keeps the arrivals of the last so many accepted, in a ring. */
const slidingWindow = ({ requests, perMs }: RateLimit): RateWindow => {
  const accepted = new Float64Array(requests).fill(Number.NEGATIVE_INFINITY)
  let oldest = 0
  return {
    admit: (nowMs) => {
      const waitMs = (accepted[oldest] ?? 0) + perMs - nowMs
      if (waitMs > 0) return waitMs
      accepted[oldest] = nowMs
      oldest = (oldest + 1) % requests
      return 0
    },
  }
}

/** Each span of `perMs`, counted from the start, holds at most `requests`; the count begins anew with each. */
const fixedWindow = ({ requests, perMs }: RateLimit, startMs: number): RateWindow => {
  let current = -1
  let accepted = 0
  return {
    admit: (nowMs) => {
      const place = Math.floor((nowMs - startMs) / perMs)
      if (place !== current) {
        current = place
        accepted = 0
      }
      if (accepted >= requests) return (place + 1) * perMs - (nowMs - startMs)
      accepted += 1
      return 0
    },
  }
}
