/**
 * The ways to count requests against the cap (API document, "Limits"). The document says how many requests a minute,
 * not how they are counted, and services differ: a client has to work with each of these windows. A request counts at
 * its arrival and only when it is accepted. One that is answered 429 takes no room, so a client that waits long enough
 * always gets through.
 */

/** `none` counts nothing. */
export const RATE_WINDOWS = ['sliding', 'fixed', 'sliding-counter', 'none'] as const

export type RateWindowKind = (typeof RATE_WINDOWS)[number]

/** At most `requests` in `perMs` milliseconds. */
export interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

/**
 * One way to count. Moments are milliseconds, with fractions, on a clock that never goes back and that reads 0 where a
 * fixed window begins. Calls come in the order of time.
 */
export interface RateWindow {
  /**
   * The moment from which a request is accepted if no other comes before it; at or before `nowMs` means now. It is a
   * moment and not a wait, so that it is exact: no sum of fractions lies between announcing it and keeping it.
   */
  opensAtMs(nowMs: number): number
  /** Counts a request accepted at `nowMs`. */
  take(nowMs: number): void
}

/**
 * The exact window: any span of the window's length holds at most the cap, wherever it begins. A ring keeps the moments
 * of the last accepted requests, as many as the cap.
 */
export const slidingLog = ({ requests, perMs }: RateLimit): RateWindow => {
  const accepted = new Float64Array(requests).fill(Number.NEGATIVE_INFINITY)
  let oldest = 0
  return {
    opensAtMs: () => (accepted[oldest] ?? 0) + perMs,
    take: (nowMs) => {
      accepted[oldest] = nowMs
      oldest = (oldest + 1) % requests
    },
  }
}

/**
 * The simplest window: time is cut into spans of the window's length, and the count begins anew with each. A stretch
 * across a border may hold nearly twice the cap, and a client that relies on that is refused by other services.
 */
export const fixedWindow = (limit: RateLimit): RateWindow => countedSpans(limit, 0)

/**
 * The window of many proxies: two counters stand for a sliding window. The requests of the span before are taken to be
 * spread evenly, and count by the part of that span which a sliding window would still cover.
 *
 * It errs both ways. A burst at the beginning of a span still counts in full where the next one begins, when the exact
 * window has long forgotten it: a client that keeps to the cap in every window may be refused here. And a burst at the
 * end of a span is forgotten too soon.
 */
export const slidingCounter = (limit: RateLimit): RateWindow => countedSpans(limit, 1)

/** Counts by spans of time. A request of the span before counts `weightBefore` at the span's beginning, later less. */
const countedSpans = ({ requests, perMs }: RateLimit, weightBefore: 0 | 1): RateWindow => {
  let current = 0
  let accepted = 0
  let acceptedBefore = 0
  const roll = (nowMs: number): void => {
    const place = Math.floor(nowMs / perMs)
    if (place === current) return
    acceptedBefore = place === current + 1 ? accepted : 0
    accepted = 0
    current = place
  }
  /** When the span that ends at `endMs` has room for one more, beside `now` of its own and `before` of the one before. */
  const opensIn = (endMs: number, now: number, before: number): number => {
    const room = requests - 1 - now
    const weight = before * weightBefore
    return room >= weight ? endMs - perMs : endMs - (room * perMs) / weight
  }
  return {
    opensAtMs: (nowMs) => {
      roll(nowMs)
      const endMs = (current + 1) * perMs
      return accepted < requests
        ? opensIn(endMs, accepted, acceptedBefore)
        : opensIn(endMs + perMs, 0, accepted)
    },
    take: (nowMs) => {
      roll(nowMs)
      accepted += 1
    },
  }
}
