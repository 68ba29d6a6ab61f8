/**
 * The budget of one account's run: `--max-requests`, which all accounts share, and `--max-duration`. Every run makes progress: the listing may take
 * half of the budget while tasks wait, and a survey that does not fit is read in parts, by one request at least
 * (docs/decisions/accounts-and-budgets.md#0053-budgets-are-kept-to-the-request).
 */
import type { Allowance } from '../base/allowance.js'
import type { Clock } from '../base/clock.js'
import { StoppedError } from '../base/errors.js'
import type { Rate } from '../base/network.js'
import { createTimeLimit } from '../base/time-limit.js'
import type { Budget } from '../model/run.js'
import { requestsWithin } from '../rules/plan.js'
import { RequestCounter } from './requests.js'

export interface ListingAllowance extends Allowance {
  /** Whether another page may be read. */
  mayReadPage(tasksWait: () => Promise<boolean>): Promise<boolean>
}

export interface BundleAllowance extends Allowance {
  /**
   * Reserves the requests that the rest of the bundle needs. False when they do not fit. `requestsRead`: its requests before them, without
   * retries, which do not make a survey larger.
   */
  reserveRest(requests: number, requestsRead: number): boolean
  /** Returns the requests that were reserved and not taken. */
  release(): void
}

/**
 * 17 minutes at 60 a minute. A survey that needs more is read in parts, even if no budget limits the run, because the run may be ended from
 * outside.
 */
const WHOLE_MAX = 1_000

export class RunBudget {
  readonly #limits: Budget
  readonly #clock: Clock
  readonly #requests: RequestCounter
  readonly #startedMs: number
  /** The last of the limits. */
  #limitReached = '--max-requests'
  #bundlesStartedMs: number | null = null
  #bundleRequests = 0
  #largestBundle = 1
  #wholeMax: number | null = null
  #rate: (() => Rate) | null = null

  constructor(limits: Budget, clock: Clock, requests = new RequestCounter(limits.requests_max)) {
    this.#limits = limits
    this.#clock = clock
    this.#requests = requests
    this.#startedMs = clock.monotonicMs()
  }

  /** The allowance of a listing. Its first `pagesMin` pages may exceed the budget. */
  listing(pagesMin: number): ListingAllowance {
    let pages = 0
    const fits = (part: number): boolean =>
      pages <= pagesMin || (this.#fitsRequests(1, part) && this.#fitsDuration(0, part))
    return {
      mayReadPage: async (tasksWait) => {
        pages += 1
        return fits(0.5) || (!(await tasksWait()) && fits(1))
      },
      take: () => this.#take(pages <= pagesMin, false),
    }
  }

  /** The most requests of a survey that the run may read as a whole: the requests that are left when its first survey is read. */
  get wholeMax(): number {
    this.#wholeMax ??= Math.min(WHOLE_MAX, this.left(), this.#requestsInTime())
    return this.#wholeMax
  }

  #requestsInTime(): number {
    const { duration_max: durationMsMax } = this.#limits
    if (durationMsMax === null || this.#rate === null) return Number.POSITIVE_INFINITY
    return requestsWithin(Math.max(0, durationMsMax - this.#elapsedMs()), this.#rate())
  }

  /** The allowance of a bundle that is expected to take `requests`; null when it would not fit. */
  admitBundle(requests: number): BundleAllowance | null {
    const fits = this.#fitsRequests(requests) && this.#fitsDuration(this.#expectedMs(requests))
    return fits ? this.#allowanceOf(requests) : null
  }

  /** As `admitBundle`, but waits for requests that bundles under way return, until `signal` aborts. */
  async admitBundleSoon(requests: number, signal: AbortSignal): Promise<BundleAllowance | null> {
    for (;;) {
      const allowance = this.admitBundle(requests)
      if (allowance !== null || !this.#fitsDuration(this.#expectedMs(requests))) return allowance
      if (!(await this.#requests.mayFit(requests, signal))) return null
    }
  }

  /** Whether no survey was read, or begun. */
  get isUnused(): boolean {
    return this.#bundleRequests === 0
  }

  /**
   * The allowance of a survey that is read in parts: all requests that are left, and in any case the first request of a run. Null if no
   * request is left.
   */
  admitParts(): BundleAllowance | null {
    const isLeft = () => this.#bundleRequests === 0 || (this.#fitsRequests(1) && this.#fitsDuration(0))
    if (!isLeft()) return null
    this.#bundlesStartedMs ??= this.#clock.monotonicMs()
    return {
      take: () => {
        if (!isLeft()) throw new StoppedError(this.reason())
        this.#bundleRequests += 1
        this.#requests.send()
      },
      reserveRest: () => true,
      release: () => undefined,
    }
  }

  left(): number {
    return Math.max(0, this.#requests.left)
  }

  /** The allowance of so many of the requests that are left; null if their time would not fit. */
  admitLeft(requests: number): BundleAllowance | null {
    return this.#fitsDuration(this.#expectedMs(requests)) ? this.#allowanceOf(requests) : null
  }

  #allowanceOf(requests: number): BundleAllowance {
    const { wholeMax } = this
    this.#bundlesStartedMs ??= this.#clock.monotonicMs()
    this.#largestBundle = Math.max(this.#largestBundle, requests)
    let reserved = requests
    this.#requests.reserve(requests)
    const release = () => {
      this.#requests.release(reserved)
      reserved = 0
    }
    return {
      take: () => {
        const isReserved = reserved > 0
        this.#take(false, isReserved)
        if (isReserved) reserved -= 1
        this.#bundleRequests += 1
      },
      reserveRest: (needed, requestsRead) => {
        if (requestsRead + needed > wholeMax || !this.#fitsRequests(needed - reserved)) return false
        release()
        this.#requests.reserve(needed)
        reserved = needed
        return true
      },
      release,
    }
  }

  /** Why the run stopped: the limit that was reached last. */
  reason(): string {
    return `stopped by ${this.#limitReached}`
  }

  /**
   * The signal aborts with `signal`, or with a `StoppedError` when a pause or retries delay admitted work beyond `--max-duration` by more
   * than the time of a bundle at the cap (docs/decisions/accounts-and-budgets.md#0055-a-time-limit-admits-only-what-should-fit). Dispose of
   * it when the run has ended, because its timer holds the process.
   */
  deadline(signal: AbortSignal, rate: () => Rate): Disposable & { readonly signal: AbortSignal } {
    this.#rate = rate
    const limit = createTimeLimit(this.#clock)
    const { duration_max: durationMsMax } = this.#limits
    const giveUp = (): void => {
      this.#limitReached = this.#maxDuration()
      limit.end(new StoppedError(this.reason()))
    }
    const giveUpLater = (): void => {
      const { requests, perMs } = rate()
      limit.after(perMs + (this.#largestBundle * perMs) / requests, giveUp)
    }
    if (durationMsMax !== null) limit.after(durationMsMax - this.#elapsedMs(), giveUpLater)
    return { signal: AbortSignal.any([signal, limit.signal]), [Symbol.dispose]: limit[Symbol.dispose] }
  }

  #elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs
  }

  #maxDuration(): string {
    return `--max-duration ${(this.#limits.duration_max ?? 0) / 1000}s`
  }

  /** The pace of this run's bundles so far includes the cap, the latency and the retries. */
  #expectedMs(requests: number): number {
    if (this.#bundlesStartedMs === null || this.#bundleRequests === 0) return 0
    return (requests * (this.#clock.monotonicMs() - this.#bundlesStartedMs)) / this.#bundleRequests
  }

  #fitsRequests(requests: number, part = 1): boolean {
    const fits = this.#requests.fits(requests, part)
    if (!fits) this.#limitReached = `--max-requests ${this.#limits.requests_max}`
    return fits
  }

  #fitsDuration(ms: number, part = 1): boolean {
    const { duration_max: durationMsMax } = this.#limits
    const fits = durationMsMax === null || this.#elapsedMs() + ms <= durationMsMax * part
    if (!fits) this.#limitReached = this.#maxDuration()
    return fits
  }

  /** Counts a request that is sent now. Throws a `StoppedError` if the budget has no request left. */
  #take(mayRunOver: boolean, isReserved: boolean): void {
    if (!mayRunOver && !isReserved && !this.#fitsRequests(1)) throw new StoppedError(this.reason())
    if (isReserved) this.#requests.sendReserved()
    else this.#requests.send()
  }
}
