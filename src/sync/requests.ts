/**
 * Decides whether a run may send one more request, and counts the reasons. `--max-requests` is one counter for all accounts, first come,
 * first served (docs/decisions/accounts-and-budgets.md#0054-accounts-take-requests-as-they-need-them).
 */
import { EventEmitter, once } from 'node:events'
import type { Allowance } from '../base/allowance.js'
import { StoppedError } from '../base/errors.js'
import {
  REQUEST_KINDS,
  REQUEST_REASONS,
  type RequestKind,
  type RequestReason,
  type RequestsByKind,
  type RequestUsage,
} from '../model/request-usage.js'

export class RequestCounter implements Allowance {
  readonly #max: number
  #sent = 0
  /** Requests that are reserved for work under way. Work returns the requests that it does not need. */
  #reserved = 0
  readonly #changes = new EventEmitter().setMaxListeners(0)

  /** `max` null: no limit. */
  constructor(max: number | null) {
    this.#max = max ?? Number.POSITIVE_INFINITY
  }

  get sent(): number {
    return this.#sent
  }

  /** The requests that are neither sent nor reserved; below 0 when more were sent than the limit. */
  get left(): number {
    return this.#max - this.#sent - this.#reserved
  }

  /** Whether `requests` more fit now into `part` (0 to 1) of the limit. */
  fits(requests: number, part = 1): boolean {
    return this.#sent + this.#reserved + requests <= this.#max * part
  }

  take(): void {
    if (!this.fits(1)) throw new StoppedError(`stopped by --max-requests ${this.#max}`)
    this.send()
  }

  /** Counts a request that is sent, whether it fits or not. */
  send(): void {
    this.#change(1, 0)
  }

  /** Counts a reserved request that is sent. */
  sendReserved(): void {
    this.#change(1, -1)
  }

  reserve(requests: number): void {
    this.#change(0, requests)
  }

  /** Returns reserved requests. */
  release(requests: number): void {
    this.#change(0, -requests)
  }

  /** Waits for a change after which `requests` more may fit. False when they will never fit, or when `signal` aborts. */
  async mayFit(requests: number, signal: AbortSignal): Promise<boolean> {
    if (this.#sent + requests > this.#max || signal.aborted) return false
    await once(this.#changes, 'change', { signal }).catch(() => undefined)
    return !signal.aborted
  }

  #change(sent: number, reserved: number): void {
    this.#sent += sent
    this.#reserved += reserved
    this.#changes.emit('change')
  }
}

/**
 * Counts every request of a run by kind and reason, retries included
 * (docs/decisions/queue-and-refresh.md#0016-every-request-is-counted-under-a-reason).
 */
export class UsageBook {
  readonly #counts = new Map<string, { requests: number; saved: number }>()

  counting(allowance: Allowance, kind: RequestKind, reason: RequestReason): Allowance {
    return {
      take: () => {
        allowance.take()
        this.#of(kind, reason).requests += 1
      },
    }
  }

  saved(reason: RequestReason, requests: RequestsByKind): void {
    for (const kind of REQUEST_KINDS) this.#of(kind, reason).saved += requests[kind] ?? 0
  }

  /** The counts that are not zero, in the order of `REQUEST_REASONS` and `REQUEST_KINDS`. */
  entries(): readonly RequestUsage[] {
    return REQUEST_REASONS.flatMap((reason) =>
      REQUEST_KINDS.map((kind) => ({ kind, reason, ...this.#of(kind, reason) })),
    ).filter(({ requests, saved }) => requests + saved > 0)
  }

  #of(kind: RequestKind, reason: RequestReason) {
    const key = `${reason}/${kind}`
    const count = this.#counts.get(key) ?? { requests: 0, saved: 0 }
    this.#counts.set(key, count)
    return count
  }
}
