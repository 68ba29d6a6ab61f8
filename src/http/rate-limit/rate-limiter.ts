/** Decides when a request of one account may be sent: held slots, their ledger, the cap shared with other processes, pauses after a 429. */
import type { UpstreamError } from '../../base/errors.js'
import type { Rate, RateUsage } from '../../base/network.js'
import { rateRefused, retryAfterTooLong, type Where } from '../errors.js'
import { HeldSlotLimiter, type Slot } from './held-slot-limiter.js'
import { Ledger } from './ledger.js'
import { createPacer } from './pacer.js'
import { openSharedCap, type SharedCapOptions } from './shared/shared-cap.js'

export interface RateLimiterOptions extends Omit<SharedCapOptions, 'rate'> {
  readonly rate: Rate
  readonly limits: { readonly request_timeout: number; readonly pausesMax?: number }
  /** The directory of the request ledger. Null: no ledger, so a restart forgets the sent requests. */
  readonly ledgerDirectory: string | null
}

export const createRateLimiter = (options: RateLimiterOptions) => {
  const { account, owner, rate, limits, clock, log, ledgerDirectory: directory } = options
  const timing = { perMs: rate.perMs, requestTimeoutMs: limits.request_timeout }
  const ledger = directory === null ? undefined : new Ledger({ directory, owner, timing, clock })
  const pacer = createPacer(rate)
  const shared = openSharedCap(options, timing)
  const limiter = new HeldSlotLimiter({ cap: rate.requests, timing, ledger, clock, pacer, shared })
  const pauses = new Pauses(rate.perMs, limits.pausesMax)

  const slowDown = (pauseMs: number, retryAfterMs: number | null, request: string): void => {
    const isFirst = pacer.intervalMs(clock.monotonicMs()) === null
    limiter.pause(pauseMs)
    pacer.rateLimited(clock.monotonicMs(), pauseMs)
    const intervalMs = Math.ceil(pacer.intervalMs(clock.monotonicMs()) ?? 0)
    const fields = { account, request, intervalMs }
    if (isFirst) log.warn(fields, FIRST_429)
    else log.info(fields, 'evenly spaced requests are refused too: requests are farther apart')
    const pause = { account, request, pauseMs, retryAfterMs }
    log.warn(pause, 'refused for the rate (429): nothing is sent for a while')
  }

  return {
    pauses,
    run: <Value>(work: (slot: Slot) => Promise<Value>, waitSignals: readonly AbortSignal[]): Promise<Value> =>
      limiter.run(work, waitSignals),
    /** A 429 arrived for a request sent in epoch `sentIn`. Returns the error that ends the run, if it does. */
    rateLimited: (sentIn: number, retryAfterMs: number | null, where: Where): UpstreamError | null => {
      const verdict = pauses.rateLimited(sentIn, retryAfterMs)
      if (verdict.kind === 'end') return rateRefused(where, verdict.pauses, rate)
      if (verdict.kind === 'retry_after_too_long')
        return retryAfterTooLong(where, retryAfterMs ?? 0, RETRY_AFTER_MS_MAX)
      if (verdict.kind === 'pause') slowDown(verdict.durationMs, retryAfterMs, where.request)
      return null
    },
    usage: (): Omit<RateUsage, 'requests' | 'retries' | 'rateLimited' | 'retryAtMs' | 'unanswered'> => ({
      slotsInUse: limiter.slotsInUse(),
      pausedUntilMs: limiter.pausedUntilMs(),
      slotFreeAtMs: limiter.slotFreeAtMs(),
      paceIntervalMs: pacer.intervalMs(clock.monotonicMs()),
      rate,
    }),
    close: async (): Promise<void> => {
      await limiter.close()
      ledger?.close()
    },
  }
}

const FIRST_429 =
  'refused (429) within the cap: the API counts more strictly than a rolling window, another client uses the cap, or the cap is ' +
  'below rate_limit; requests are evenly spaced from now on'

/** By default the run ends instead of a fifth pause in a row without a success. */
const PAUSES_IN_A_ROW_MAX = 5
/** A `Retry-After` of 0, or of a date just past, still means "not now". */
const PAUSE_MS_MIN = 1_000
/** A longer `Retry-After` ends the run, because the next run is scheduled anyway. */
export const RETRY_AFTER_MS_MAX = 3_600_000

/** The length of the nth pause in a row (from 1), milliseconds: the `Retry-After`, else one window, doubled with each pause. */
const pauseMs = (nth: number, retryAfterMs: number | null, perMs: number): number =>
  retryAfterMs === null ? perMs * 2 ** (nth - 1) : Math.max(PAUSE_MS_MIN, retryAfterMs)

/** `join`: the 429 belongs to a pause that has begun already. */
type Verdict =
  | { readonly kind: 'join' | 'retry_after_too_long' }
  | { readonly kind: 'pause'; readonly durationMs: number }
  | { readonly kind: 'end'; readonly pauses: number }

/**
 * Decides what follows a 429. Only a 429 to a request that was sent after the last pause began causes a new pause. The other requests of
 * the same burst were already in flight, and must not pause the account a second time.
 */
export class Pauses {
  readonly #perMs: number
  readonly #pausesMax: number
  #lastGoodEpoch = 0
  /** The number of pauses that have begun. A send remembers it. */
  epoch = 0

  constructor(perMs: number, pausesMax = PAUSES_IN_A_ROW_MAX) {
    this.#perMs = perMs
    this.#pausesMax = pausesMax
  }

  succeeded(sentIn: number): void {
    this.#lastGoodEpoch = Math.max(this.#lastGoodEpoch, sentIn)
  }

  rateLimited(sentIn: number, retryAfterMs: number | null): Verdict {
    if (sentIn < this.epoch) return { kind: 'join' }
    if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX) return { kind: 'retry_after_too_long' }
    this.epoch += 1
    const nth = this.epoch - this.#lastGoodEpoch
    if (nth >= this.#pausesMax) return { kind: 'end', pauses: nth }
    return { kind: 'pause', durationMs: pauseMs(nth, retryAfterMs, this.#perMs) }
  }
}
