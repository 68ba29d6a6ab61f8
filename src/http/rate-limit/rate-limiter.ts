/**
 * Everything that decides when a request of one account may be sent: the held slots, their ledger, the cap shared with other processes,
 * and the consequences of a 429. The client above it handles requests and answers, not slots and pace.
 */
import type { CapOwner } from '../../base/cap-owner.js'
import type { Clock } from '../../base/clock.js'
import type { UpstreamError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { Rate, SharedRate } from '../../base/network.js'
import { rateRefused, retryAfterTooLong, type Where } from '../errors.js'
import { createHeldSlotLimiter, type HeldSlotLimiter } from './held-slot-limiter.js'
import { createForgetfulLedger, openLedger } from './ledger.js'
import { createPacer } from './pacer.js'
import { openSharedCap } from './shared/shared-cap.js'

export interface RateLimiterOptions {
  /** Names the account in messages. */
  readonly account: string
  /** The owner of the cap that the requests use. */
  readonly owner: CapOwner
  readonly rate: Rate
  readonly limits: { readonly requestTimeoutMs: number; readonly pausesMax?: number }
  /** The cap that other processes use as well. */
  readonly shared?: SharedRate | null
  /** Where the request ledger is kept; null: a restart forgets the sent requests. */
  readonly ledgerDirectory: string | null
  readonly clock: Clock
  readonly log: Log
}

export interface RateUsage {
  /** Slots of the rate window in use: requests that the server may still be counting. */
  readonly slotsInUse: number
  /** Until when all requests are paused, wall clock; null without a pause. */
  readonly pausedUntilMs: number | null
  /** Distance of requests, milliseconds; null while they may go in bursts. */
  readonly paceIntervalMs: number | null
  readonly rate: Rate
}

export interface RateLimiter extends Pick<HeldSlotLimiter, 'run'>, Pick<Refusals, 'epoch' | 'succeeded'> {
  /** A 429 arrived for a request sent in epoch `sentIn`. Returns the error that ends the run, if it does. */
  refused(sentIn: number, retryAfterMs: number | null, where: Where): UpstreamError | null
  usage(): RateUsage
  /** Ends all waits and holds. */
  close(): Promise<void>
}

/** Throws `ledger_unwritable` when the ledger cannot be written. */
export const openRateLimiter = (options: RateLimiterOptions): RateLimiter => {
  const { account, owner, rate, limits, clock, log, ledgerDirectory: directory } = options
  const timing = { perMs: rate.perMs, requestTimeoutMs: limits.requestTimeoutMs }
  const ledger =
    directory === null ? createForgetfulLedger() : openLedger({ directory, owner, timing, clock })
  const pacer = createPacer(rate)
  const shared = openSharedCap(options, timing)
  const limiter = createHeldSlotLimiter({ cap: rate.requests, timing, ledger, clock, pacer, shared })
  const refusals = createRefusals(rate.perMs, limits.pausesMax)

  const slowDown = (pauseMs: number, retryAfterMs: number | null, request: string): void => {
    const isFirst = pacer.intervalMs(clock.monotonicMs()) === null
    limiter.pause(pauseMs)
    pacer.refused(clock.monotonicMs(), pauseMs)
    const intervalMs = Math.ceil(pacer.intervalMs(clock.monotonicMs()) ?? 0)
    const fields = { account, request, intervalMs }
    if (isFirst) log.warn(fields, FIRST_REFUSAL)
    else log.info(fields, 'evenly spaced requests are refused too: requests are farther apart')
    log.warn(
      { account, request, pauseMs, retryAfterMs },
      'refused for the rate (429): nothing is sent for a while',
    )
  }

  return {
    epoch: refusals.epoch,
    succeeded: refusals.succeeded,
    run: (work, waitSignals) => limiter.run(work, waitSignals),
    refused: (sentIn, retryAfterMs, where) => {
      const verdict = refusals.refused(sentIn, retryAfterMs)
      if (verdict.kind === 'end') return rateRefused(where, verdict.pauses, rate)
      if (verdict.kind === 'retry_after_too_long')
        return retryAfterTooLong(where, verdict.retryAfterMs, RETRY_AFTER_MS_MAX)
      if (verdict.kind === 'pause') slowDown(verdict.durationMs, retryAfterMs, where.request)
      return null
    },
    usage: () => ({
      slotsInUse: limiter.slotsInUse(),
      pausedUntilMs: limiter.pausedUntilMs(),
      paceIntervalMs: pacer.intervalMs(clock.monotonicMs()),
      rate,
    }),
    close: async () => {
      await limiter.close()
      ledger.close()
    },
  }
}

const FIRST_REFUSAL =
  'refused (429) within the cap: the API counts more strictly than a rolling window, another client uses the cap, or the cap is ' +
  'below rate_limit; requests are evenly spaced from now on'

/**
 * Decides what follows a 429. Only a 429 to a request that was sent after the last pause began is a new refusal. The other
 * requests of the same burst were already in flight, and must not pause the account a second time.
 */

/** By default the run ends instead of a fifth pause in a row without a success. */
const PAUSES_IN_A_ROW_MAX = 5
/** A `Retry-After` of 0, or of a date just past, still means "not now". */
const PAUSE_MS_MIN = 1_000
/** A longer `Retry-After` ends the run: the next one is scheduled anyway. */
export const RETRY_AFTER_MS_MAX = 3_600_000

type RefusalVerdict =
  /** The 429 belongs to a pause that has begun already. */
  | { readonly kind: 'join' }
  | { readonly kind: 'pause'; readonly durationMs: number }
  | { readonly kind: 'end'; readonly pauses: number }
  | { readonly kind: 'retry_after_too_long'; readonly retryAfterMs: number }

/**
 * The length of the nth pause in a row (from 1), milliseconds: the `Retry-After`, else one window, doubled with each pause.
 */
export const pauseMs = (nth: number, retryAfterMs: number | null, perMs: number): number =>
  retryAfterMs === null ? perMs * 2 ** (nth - 1) : Math.max(PAUSE_MS_MIN, retryAfterMs)

export interface Refusals {
  /** The number of pauses that have begun. A send remembers it. */
  epoch(): number
  /** A 429 arrived for a request sent in epoch `sentIn`. */
  refused(sentIn: number, retryAfterMs: number | null): RefusalVerdict
  /** A request sent in epoch `sentIn` succeeded. */
  succeeded(sentIn: number): void
}

export const createRefusals = (perMs: number, pausesMax = PAUSES_IN_A_ROW_MAX): Refusals => {
  let epoch = 0
  let lastGoodEpoch = 0
  return {
    epoch: () => epoch,
    succeeded: (sentIn) => {
      lastGoodEpoch = Math.max(lastGoodEpoch, sentIn)
    },
    refused: (sentIn, retryAfterMs) => {
      if (sentIn < epoch) return { kind: 'join' }
      if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX)
        return { kind: 'retry_after_too_long', retryAfterMs: retryAfterMs }
      epoch += 1
      const nth = epoch - lastGoodEpoch
      if (nth >= pausesMax) return { kind: 'end', pauses: nth }
      return { kind: 'pause', durationMs: pauseMs(nth, retryAfterMs, perMs) }
    },
  }
}
