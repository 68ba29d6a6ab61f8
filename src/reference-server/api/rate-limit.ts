/**
 * The request cap of an account (API document, "Limits"). The document does not say how requests are counted, and services differ, so a
 * client has to work with each of these windows. A request that is answered 429 does not count, so a client that waits long enough is
 * always accepted.
 */
import type { ReferenceServerSettings } from '../options.js'
import { formatHttpDate, MICROS_PER_MS, MICROS_PER_SECOND, type Micros } from '../time.js'

type RateLimit = ReferenceServerSettings['rateLimit']

export type CapSettings = Pick<
  ReferenceServerSettings,
  'rateWindow' | 'rateLimit' | 'ratePhase' | 'foreignLoad'
>

/**
 * Takes one request that arrives at `nowMs`, on a clock that never goes back. Returns 0 if the request is accepted; otherwise the
 * milliseconds after which a request will be accepted, if no other comes before it.
 */
export type Admit = (nowMs: number) => number

/** `startMs` is when the server started. */
export const createAccountCap = (settings: CapSettings, startMs: number): Admit => {
  const { rateWindow, rateLimit, ratePhase, foreignLoad } = settings
  if (rateWindow === 'none') return () => 0
  const alone = WINDOWS[rateWindow](rateLimit)
  const admit = foreignLoad === 0 ? alone : withForeignLoad(alone, foreignLoad, rateLimit, ratePhase)
  // A fixed window begins at 0 of this clock.
  return (nowMs) => admit(nowMs - startMs + ratePhase)
}

/**
 * The headers of an answer 429 that ask for a wait of `waitMs`, which the API document leaves open ("Errors"). Both forms of `Retry-After`
 * (RFC 9110, section 10.2.3) have whole seconds, rounded up, so that a client that waits this long is accepted. `at` is the world's time in
 * the answer's `Date`. The wait is real time, however fast the world's clock goes.
 */
export const retryAfterHeaders = (
  style: ReferenceServerSettings['retryAfter'],
  waitMs: number,
  at: Micros,
): Readonly<Record<string, string>> => {
  if (style === 'none') return {}
  if (style === 'seconds') return { 'retry-after': String(Math.ceil(waitMs / 1_000)) }
  const until = Math.ceil((at + waitMs * MICROS_PER_MS) / MICROS_PER_SECOND) * MICROS_PER_SECOND
  return { 'retry-after': formatHttpDate(until) }
}

/** Accepts at most the cap in any span of the window's length. A ring keeps the moments of the last accepted requests. */
const slidingLog = ({ requests, perMs }: RateLimit): Admit => {
  const accepted = new Float64Array(requests).fill(Number.NEGATIVE_INFINITY)
  let oldest = 0
  return (nowMs) => {
    const opensAtMs = (accepted[oldest] ?? 0) + perMs
    if (opensAtMs > nowMs) return opensAtMs - nowMs
    accepted[oldest] = nowMs
    oldest = (oldest + 1) % requests
    return 0
  }
}

/** Counts by spans of time. A request of the previous span counts `weightBefore` at the beginning of the current span, and less later. */
const countedSpans = ({ requests, perMs }: RateLimit, weightBefore: 0 | 1): Admit => {
  let current = 0
  let accepted = 0
  let acceptedBefore = 0
  /**
   * When the span that ends at `endMs` has room for one more request, beside `now` requests of its own and `before` requests of the
   * previous span. The result is a moment and not a wait, so that no sum of fractions makes it inexact.
   */
  const opensIn = (endMs: number, now: number, before: number): number => {
    const room = requests - 1 - now
    const weight = before * weightBefore
    return room >= weight ? endMs - perMs : endMs - (room * perMs) / weight
  }
  return (nowMs) => {
    const span = Math.floor(nowMs / perMs)
    if (span !== current) {
      acceptedBefore = span === current + 1 ? accepted : 0
      accepted = 0
      current = span
    }
    const endMs = (current + 1) * perMs
    const opensAtMs =
      accepted < requests ? opensIn(endMs, accepted, acceptedBefore) : opensIn(endMs + perMs, 0, accepted)
    if (opensAtMs > nowMs) return opensAtMs - nowMs
    accepted += 1
    return 0
  }
}

/**
 * `fixed`: the count begins anew with each span, so a stretch across a border may hold nearly twice the cap.
 *
 * `sliding-counter`, the window of many proxies: requests of the previous span count by the part of that span that a sliding window would
 * still cover, as if they were spread evenly. A client that keeps to the cap in every window may be refused, because a burst at the
 * beginning of a span counts in full at the beginning of the next span.
 */
const WINDOWS = {
  sliding: slidingLog,
  fixed: (limit: RateLimit) => countedSpans(limit, 0),
  'sliding-counter': (limit: RateLimit) => countedSpans(limit, 1),
}

/** No window looks further back, so after a silence older foreign requests are skipped. */
const WINDOWS_LOOKED_BACK = 2

/**
 * A window with `load` requests per window of somebody else who uses the same account. The foreign requests arrive evenly, on whole
 * milliseconds, so that each comes exactly a window after the request whose room it takes. A foreign request without room is lost. They are
 * counted only when one of our requests arrives, because nobody needs the count sooner.
 */
const withForeignLoad = (admit: Admit, load: number, { perMs }: RateLimit, startMs: number): Admit => {
  let next = 0
  const arrivalMs = (index: number): number => startMs + Math.ceil(((index + 0.5) * perMs) / load)
  return (nowMs) => {
    const oldest = Math.floor(((nowMs - startMs - WINDOWS_LOOKED_BACK * perMs) * load) / perMs)
    next = Math.max(next, oldest)
    for (let atMs = arrivalMs(next); atMs <= nowMs; atMs = arrivalMs(next)) {
      admit(atMs)
      next += 1
    }
    return admit(nowMs)
  }
}
