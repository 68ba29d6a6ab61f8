/**
 * Everything that decides when a request of one account may be sent: the held slots, their ledger, the cap shared with other processes,
 * and what a 429 changes. The client above it knows requests and answers; it knows nothing of slots and pace.
 */
import type { CapOwner } from '../../base/cap-owner.js'
import type { Clock } from '../../base/clock.js'
import type { UpstreamError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { RateRefusedError, RetryAfterTooLongError, type Where } from '../errors.js'
import { createRefusals, RETRY_AFTER_MS_MAX, type Refusals } from '../refusals.js'
import type { Slot } from './held-slot.js'
import { createHeldSlotLimiter, type HeldSlotLimiter } from './held-slot-limiter.js'
import { createForgetfulLedger, type Ledger, openLedger } from './ledger.js'
import { type AdaptivePacer, type Cap, createPacer } from './pacer.js'
import { openSharedCap, type SharedRate } from './shared/open.js'

export interface RateLimiterOptions {
  /** Names the account in messages. */
  readonly account: string
  /** Whose cap the requests spend. */
  readonly owner: CapOwner
  readonly rate: Cap
  readonly limits: { readonly requestTimeoutMs: number; readonly pausesMax?: number }
  /** Where other processes spend of the same cap. */
  readonly shared?: SharedRate | null
  /** Where the request ledger is kept; null: a restart forgets what was sent. */
  readonly ledgerDirectory: string | null
  readonly clock: Clock
  readonly log: Log
}

export interface RateUsage {
  /** Slots of the rate window in use: requests that the server may still be counting. */
  readonly slotsInUse: number
  /** Until when all traffic is paused, wall clock; null when it is not. */
  readonly pausedUntilMs: number | null
  /** Distance of requests, milliseconds; null while they may go in bursts. */
  readonly paceIntervalMs: number | null
  readonly rate: Cap
}

export interface RateLimiter extends Pick<HeldSlotLimiter, 'run'>, Pick<Refusals, 'epoch' | 'succeeded'> {
  /** A 429 arrived for a request sent in epoch `sentIn`. Returns the error that ends the run, if it does. */
  refused(sentIn: number, askedMs: number | null, where: Where): UpstreamError | null
  usage(): RateUsage
  /** Ends all waits and holds. */
  close(): Promise<void>
}

/** Throws `LedgerError` when the ledger cannot be written. */
export const openRateLimiter = (options: RateLimiterOptions): RateLimiter => new AccountLimiter(options)

class AccountLimiter implements RateLimiter {
  readonly #options: RateLimiterOptions
  readonly #ledger: Ledger
  readonly #pacer: AdaptivePacer
  readonly #limiter: HeldSlotLimiter
  readonly #refusals: Refusals

  constructor(options: RateLimiterOptions) {
    const { owner, rate, limits, clock, ledgerDirectory: directory } = options
    const timing = { perMs: rate.perMs, requestTimeoutMs: limits.requestTimeoutMs }
    this.#options = options
    this.#ledger =
      directory === null ? createForgetfulLedger() : openLedger({ directory, owner, timing, clock })
    this.#pacer = createPacer(rate)
    this.#limiter = createHeldSlotLimiter({
      cap: rate.requests,
      timing,
      ledger: this.#ledger,
      clock,
      pacer: this.#pacer,
      shared: openSharedCap(options, timing),
    })
    this.#refusals = createRefusals(rate.perMs, limits.pausesMax)
  }

  run<Value>(work: (slot: Slot) => Promise<Value>, waitSignal: AbortSignal): Promise<Value> {
    return this.#limiter.run(work, waitSignal)
  }

  epoch(): number {
    return this.#refusals.epoch()
  }

  succeeded(sentIn: number): void {
    this.#refusals.succeeded(sentIn)
  }

  refused(sentIn: number, askedMs: number | null, where: Where): UpstreamError | null {
    const verdict = this.#refusals.refused(sentIn, askedMs)
    if (verdict.kind === 'end') return new RateRefusedError(where, verdict.pauses, this.#options.rate)
    if (verdict.kind === 'end_asked') {
      return new RetryAfterTooLongError(where, verdict.askedMs, RETRY_AFTER_MS_MAX)
    }
    if (verdict.kind === 'pause') this.#slowDown(verdict.durationMs, askedMs, where)
    return null
  }

  usage(): RateUsage {
    return {
      slotsInUse: this.#limiter.slotsInUse(),
      pausedUntilMs: this.#limiter.pausedUntilMs(),
      paceIntervalMs: this.#pacer.intervalMs(this.#options.clock.monotonicMs()),
      rate: this.#options.rate,
    }
  }

  async close(): Promise<void> {
    await this.#limiter.close()
    this.#ledger.close()
  }

  #slowDown(pauseMs: number, askedMs: number | null, where: Where): void {
    const { account, clock, log } = this.#options
    const isFirst = this.#pacer.intervalMs(clock.monotonicMs()) === null
    this.#limiter.pause(pauseMs)
    this.#pacer.refused(clock.monotonicMs(), pauseMs)
    const intervalMs = Math.ceil(this.#pacer.intervalMs(clock.monotonicMs()) ?? 0)
    const fields = { account, request: where.request, intervalMs }
    if (isFirst) log.warn(fields, FIRST_REFUSAL)
    else log.info(fields, 'evenly spaced requests are refused too: requests are farther apart')
    log.warn(
      { account, request: where.request, pauseMs, askedMs },
      'refused for the rate (429): nothing is sent for a while',
    )
  }
}

const FIRST_REFUSAL =
  'refused (429) within the cap: the API counts more strictly than in windows, others spend of the cap, or it is lower than ' +
  'rate_limit; requests are evenly spaced from now on'
