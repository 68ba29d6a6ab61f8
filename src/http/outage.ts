/**
 * An outage: the API answers nothing at all. All requests of the account then wait, and one request at a time probes whether it answers
 * again, until `limits.patience` has passed. If other requests are answered, a failing request is no outage
 * (docs/decisions/settings-and-http.md#0087-an-outage-is-waited-for).
 */
import { type Clock, sleep } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { joinSignals, unlessAborted } from '../base/signals.js'
import { createTimeLimit, type TimeLimit } from '../base/time-limit.js'
import { noAnswer, type TransientError } from './errors.js'
import { type RetryLimits, retryWaitMs } from './retry-wait.js'

export interface OutageOptions {
  readonly account: string
  readonly limits: RetryLimits & {
    /** Failures in a row, of any requests, that count as an outage. */
    readonly attempts: number
    /** How long the run waits, from the first failure, ms. With 0 it does not wait. */
    readonly patience: number
  }
  /** The time left for the run, ms. The run waits for no outage beyond it. Null without a limit. */
  readonly durationMsMax?: number | null | undefined
  /** Whether an earlier run was answered at this address. If so, a host name that DNS does not know may come back. */
  readonly wasAnswered?: boolean | undefined
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
}

/** Sends one request to see whether the API answers, and reports the outcome by `answered` or `failed`. */
type Probe = (signal: AbortSignal) => Promise<unknown>

const LOG_EVERY_MS = 60_000

export class OutageWatch {
  readonly #options: OutageOptions
  /** When the run has to end, monotonic clock. */
  readonly #endsMs: number
  #failuresInARow = 0
  /** The first failure since the last answer to a request that was no probe, monotonic clock. */
  #sinceMs: number | null = null
  #last: { readonly error: TransientError; readonly retryAfterMs: number | null } | null = null
  #wasAnswered: boolean
  #isProbing = false
  /** Aborted when waiting requests have to check the state again. */
  #change = new AbortController()
  /** Confirmed outages of this run: the list of surveys was not answered either. */
  #outages = 0
  #isConfirmed = false

  constructor(options: OutageOptions) {
    const { clock, durationMsMax, wasAnswered } = options
    this.#options = options
    this.#endsMs = clock.monotonicMs() + (durationMsMax ?? Number.POSITIVE_INFINITY)
    this.#wasAnswered = wasAnswered ?? false
  }

  get outages(): number {
    return this.#outages
  }

  /** Whether only probes may be sent. */
  isSuspected(): boolean {
    const { patience, attempts } = this.#options.limits
    return patience > 0 && this.#failuresInARow >= attempts
  }

  /** Wall clock; null while the API answers. */
  usage(): { readonly sinceMs: number; readonly untilMs: number } | null {
    if (!this.#isConfirmed || this.#sinceMs === null) return null
    const { clock } = this.#options
    const wallMs = clock.nowMs() - clock.monotonicMs()
    return { sinceMs: wallMs + this.#sinceMs, untilMs: wallMs + this.#giveUpMs() }
  }

  /** An answer of any status but 408 and 5xx. The answer to a probe does not renew the patience. */
  answered(isProbe: boolean): void {
    if (this.#isConfirmed) {
      const { account, log } = this.#options
      log.info({ account, unansweredMs: this.#unansweredMs() }, 'the API answers again')
    }
    this.#wasAnswered = true
    this.#isConfirmed = false
    if (!isProbe) this.#sinceMs = null
    // Requests wait only after failures.
    if (this.#failuresInARow === 0) return
    this.#failuresInARow = 0
    this.#changed()
  }

  failed(error: TransientError, retryAfterMs: number | null): void {
    const { passes } = error
    if (passes === 'never' || (passes === 'if known' && !this.#wasAnswered)) return
    this.#sinceMs ??= this.#options.clock.monotonicMs()
    this.#failuresInARow += 1
    this.#last = { error, retryAfterMs }
  }

  /** Waits while an outage is suspected. Rejects with an error `no_answer`, or with the signal's reason. */
  async untilAnswered(probe: Probe, signals: readonly AbortSignal[]): Promise<void> {
    using joined = joinSignals(signals)
    while (this.isSuspected()) {
      if (this.#isProbing) await this.#untilChanged(joined.signal)
      else await this.#probeUntilAnswered(probe, joined.signal)
    }
  }

  async #untilChanged(signal: AbortSignal): Promise<void> {
    const change = this.#change.signal
    await unlessAborted(
      signal,
      new Promise<void>((resolve) => change.addEventListener('abort', () => resolve(), { once: true })),
    )
  }

  #changed(): void {
    this.#change.abort()
    this.#change = new AbortController()
  }

  async #probeUntilAnswered(probe: Probe, signal: AbortSignal): Promise<void> {
    this.#isProbing = true
    try {
      using limit = createTimeLimit(this.#options.clock)
      using probing = joinSignals([signal, limit.signal])
      for (let probes = 0; this.isSuspected(); probes += 1) {
        await this.#pauseBefore(probes, probing.signal)
        if (!this.isSuspected()) return
        await probe(probing.signal)
        if (probes === 0 && this.isSuspected()) this.#confirm(limit)
      }
    } finally {
      this.#isProbing = false
      this.#changed()
    }
  }

  /** Ends early when a request is answered. A `Retry-After` within the patience is obeyed, however long it is. */
  async #pauseBefore(probes: number, signal: AbortSignal): Promise<void> {
    const { clock, limits, random } = this.#options
    const backoffMs = probes === 0 ? 0 : retryWaitMs(probes, limits, random())
    const retryAfterMs = this.#last?.retryAfterMs ?? 0
    const waitMs = retryAfterMs < this.#leftMs() ? Math.max(backoffMs, retryAfterMs) : backoffMs
    if (waitMs === 0) return
    using joined = joinSignals([signal, this.#change.signal])
    await sleep(clock, waitMs, joined.signal).catch((error: unknown) => {
      if (this.isSuspected()) throw error
    })
  }

  /**
   * The API does not answer the list of surveys either: logs the outage, now and once a minute, and ends the wait when the patience is
   * over.
   */
  #confirm(limit: TimeLimit): void {
    const { account, log, limits } = this.#options
    const isNew = !this.#isConfirmed
    if (isNew) this.#outages += 1
    this.#isConfirmed = true
    const say = (): void => {
      const problem = this.#last?.error.message
      const times = { unansweredMs: this.#unansweredMs(), patienceLeftMs: Math.round(this.#leftMs()) }
      log.warn({ account, ...times, problem }, 'the API answers nothing: the run waits for it')
      limit.after(LOG_EVERY_MS, say)
    }
    if (isNew) say()
    else limit.after(LOG_EVERY_MS, say)
    limit.after(this.#leftMs(), () =>
      limit.end(noAnswer(account, this.#unansweredMs(), limits.patience, this.#last?.error)),
    )
  }

  #unansweredMs(): number {
    const nowMs = this.#options.clock.monotonicMs()
    return Math.round(nowMs - (this.#sinceMs ?? nowMs))
  }

  #giveUpMs(): number {
    const { clock, limits } = this.#options
    return Math.min(this.#endsMs, (this.#sinceMs ?? clock.monotonicMs()) + limits.patience)
  }

  #leftMs(): number {
    return Math.max(0, this.#giveUpMs() - this.#options.clock.monotonicMs())
  }
}
