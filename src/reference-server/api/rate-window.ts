/**
 * The words of the request cap (API document, "Limits"). The document says how many requests a minute, not how they
 * are counted, and services differ: a client has to get along with each of these windows. A request counts at its
 * arrival and only when it is accepted: one that is answered 429 takes no room, so a client that waits long
 * enough always gets through.
 */

/** `none` counts nothing; the others are a file each. */
export const RATE_WINDOWS = ['sliding', 'fixed', 'sliding-counter', 'none'] as const

export type RateWindowKind = (typeof RATE_WINDOWS)[number]

/** At most `requests` in `perMs` milliseconds. */
export interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

/**
 * One way to count. Moments are milliseconds, with fractions, on a clock that never goes back and that reads 0 where a
 * fixed window begins; calls come in the order of time.
 */
export interface RateWindow {
  /**
   * From which moment a request is accepted if no other comes before it: at or before `nowMs`, it is accepted now.
   * Told as a moment and not as a wait, so that it is exact: no sum of fractions lies between telling and keeping.
   */
  opensAtMs(nowMs: number): number
  /** Counts a request accepted at `nowMs`. */
  take(nowMs: number): void
}
