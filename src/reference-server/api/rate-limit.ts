/**
 * The request cap of an account (API document, "Limits"). The document says how many requests a minute, not how they are
 * counted, and services differ: a client has to work with each of these windows. A request counts at its arrival and only
 * when it is accepted. One that is answered 429 takes no room, so a client that waits long enough always gets through.
 */
import type { RateWindowKind, RetryAfterStyle } from '../option-texts.js'
import { formatHttpDate, MICROS_PER_MS, MICROS_PER_SECOND, type Micros } from '../time.js'

/** At most `requests` in `perMs` milliseconds. */
interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

export interface CapSettings {
  readonly rateWindow: RateWindowKind
  readonly rateLimit: RateLimit
  /** How far into a window the server starts, milliseconds; only `fixed` and `sliding-counter` have fixed borders. */
  readonly ratePhase: number
  /** Requests per window that somebody else makes, below the cap; 0 is nobody. */
  readonly foreignLoad: number
}

export interface AccountCap {
  /**
   * Takes one request that arrives at `nowMs`, milliseconds on a clock that never goes back. Returns 0 when it is
   * accepted; otherwise the milliseconds after which one will be, if no other comes before it.
   */
  admit(nowMs: number): number
}

/** The cap of one account: which window counts its requests, and who else uses it. `startMs` is when the server started. */
export const createAccountCap = (settings: CapSettings, startMs: number): AccountCap => {
  const { rateWindow, rateLimit, ratePhase, foreignLoad } = settings
  if (rateWindow === 'none') return { admit: () => 0 }
  const alone = WINDOWS[rateWindow](rateLimit)
  const window = foreignLoad === 0 ? alone : withForeignLoad(alone, foreignLoad, rateLimit, ratePhase)
  return {
    admit: (nowMs) => {
      const windowMs = nowMs - startMs + ratePhase
      const waitMs = window.opensAtMs(windowMs) - windowMs
      if (waitMs > 0) return waitMs
      window.take(windowMs)
      return 0
    },
  }
}

/**
 * The headers of an answer 429 that ask for a wait of `waitMs`. The API document leaves them open ("Errors"), HTTP allows
 * two forms of `Retry-After` (RFC 9110, section 10.2.3), and many services send none. Both have whole seconds, rounded up,
 * so that waiting suffices. `at` is the world's time in the answer's `Date`. The wait is real time, however fast the world's
 * clock goes: a client waits for the difference of the two dates.
 */
export const retryAfterHeaders = (
  style: RetryAfterStyle,
  waitMs: number,
  at: Micros,
): Readonly<Record<string, string>> => {
  if (style === 'none') return {}
  if (style === 'seconds') return { 'retry-after': String(Math.ceil(waitMs / 1_000)) }
  const until = Math.ceil((at + waitMs * MICROS_PER_MS) / MICROS_PER_SECOND) * MICROS_PER_SECOND
  return { 'retry-after': formatHttpDate(until) }
}

/**
 * One way to count. Moments are milliseconds, with fractions, on a clock that never goes back and that reads 0 where a
 * fixed window begins. Calls come in the order of time.
 */
interface RateWindow {
  /**
   * The moment from which a request is accepted if no other comes before it; at or before `nowMs` means now. It is a
   * moment and not a wait, so that it is exact: no sum of fractions lies between announcing it and keeping it.
   */
  opensAtMs(nowMs: number): number
  /** Counts a request accepted at `nowMs`. */
  take(nowMs: number): void
}

/** Any span of the window's length holds at most the cap. A ring keeps the moments of the last accepted requests. */
const slidingLog = ({ requests, perMs }: RateLimit): RateWindow => {
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

/**
 * `fixed`: the count begins anew with each span. A stretch across a border may hold nearly twice the cap, and a client that
 * relies on that is refused by other services.
 *
 * `sliding-counter`, the window of many proxies: the requests of the span before count by the part of it that a sliding
 * window would still cover, as if they were spread evenly. It errs both ways. A burst at the beginning of a span still
 * counts in full where the next one begins: a client that keeps to the cap in every window may be refused. A burst at the
 * end of a span is forgotten too soon.
 */
const WINDOWS: Readonly<Record<Exclude<RateWindowKind, 'none'>, (limit: RateLimit) => RateWindow>> = {
  sliding: slidingLog,
  fixed: (limit) => countedSpans(limit, 0),
  'sliding-counter': (limit) => countedSpans(limit, 1),
}

/** No window looks further back than the span before the current one, so after a silence older foreign requests are skipped. */
const WINDOWS_LOOKED_BACK = 2

/**
 * `window` with `load` requests per window of somebody else who uses the same account. They arrive evenly on real time from
 * `startMs` on, half a distance after it. The same window admits and counts them; one that finds no room is lost. They
 * arrive on whole milliseconds after the start, so that each comes exactly a window after the one whose room it takes. They
 * are counted when one of our requests arrives: nobody needs them sooner.
 */
const withForeignLoad = (
  window: RateWindow,
  load: number,
  { perMs }: RateLimit,
  startMs: number,
): RateWindow => {
  let next = 0
  const arrivalMs = (place: number): number => startMs + Math.ceil(((place + 0.5) * perMs) / load)
  return {
    opensAtMs: (nowMs) => {
      const oldest = Math.floor(((nowMs - startMs - WINDOWS_LOOKED_BACK * perMs) * load) / perMs)
      next = Math.max(next, oldest)
      for (let atMs = arrivalMs(next); atMs <= nowMs; atMs = arrivalMs(next)) {
        if (window.opensAtMs(atMs) <= atMs) window.take(atMs)
        next += 1
      }
      return window.opensAtMs(nowMs)
    },
    take: (nowMs) => window.take(nowMs),
  }
}
