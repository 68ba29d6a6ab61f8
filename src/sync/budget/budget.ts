/**
 * The budget of one account's run: its allocation of `--max-requests`, and `--max-duration`. It admits work that fits, and
 * every single request takes an allowance. Every run makes progress: the listing may take half of the budget while tasks wait,
 * and the first bundle is always admitted (docs/decisions/accounts-and-budgets.md#0053-budgets-are-kept-to-the-request).
 */
import type { Allowance } from '../../base/allowance.js'
import type { Clock } from '../../base/clock.js'
import { StoppedError } from '../../base/errors.js'
import type { Budget } from '../../model/run.js'
import { type Allocation, createWholeAllocation } from './request-budget.js'

export interface RunBudget {
  /** The allowance of a listing. Its first `pagesMin` pages may exceed the budget. */
  listing(pagesMin: number): ListingAllowance
  /** The allowance of a bundle that is expected to take `requests`; null when it would not fit. */
  admitBundle(requests: number): BundleAllowance | null
  /** The same, but waits for unused requests of bundles under way or of other accounts, until `signal` aborts. */
  admitBundleSoon(requests: number, signal: AbortSignal): Promise<BundleAllowance | null>
  /** Whether other accounts may still leave unused requests. */
  mayGrow(): boolean
  /** Requests taken so far. */
  spent(): number
  /** Milliseconds since the run began. */
  elapsedMs(): number
  /** Requests of the largest admitted bundle; 1 before the first. */
  largestBundle(): number
  /** Why the run stopped: the limit that was reached last. */
  reason(): string
  /** The reason of a run that exceeds its duration. */
  outOfTime(): string
}

export interface ListingAllowance extends Allowance {
  /**
   * Whether another page may be read. The listing may use half of the budget; without waiting tasks it may use all of it, and waits
   * for unused requests of other accounts, until `signal` aborts.
   */
  mayReadPage(tasksWait: () => Promise<boolean>, signal: AbortSignal): Promise<boolean>
}

export interface BundleAllowance extends Allowance {
  /** Reserves the requests that the rest of the bundle needs. False when they do not fit. */
  reserveRest(requests: number): boolean
  /** Gives back the requests that were reserved and not taken. */
  release(): void
  /** Whether the bundle was admitted although it does not fit. */
  readonly runsOver: boolean
}

/** `allocation` is all of `limits.requestsMax` unless several accounts divide the requests. */
export const createBudget = (
  limits: Budget,
  clock: Clock,
  allocation: Allocation = createWholeAllocation(limits.requestsMax),
): RunBudget => {
  const meter = createMeter(limits, clock, allocation)
  let bundleRequests = 0
  let bundlesStartedMs: number | null = null
  let largestBundle = 1

  /** The pace of this run's bundles so far includes the cap, the latency and the retries. */
  const expectedMs = (requests: number) =>
    bundlesStartedMs === null || bundleRequests === 0
      ? 0
      : (requests * (clock.monotonicMs() - bundlesStartedMs)) / bundleRequests

  const admitBundle = (requests: number): BundleAllowance | null => {
    const fits = meter.fitsRequests(requests) && meter.fitsDuration(expectedMs(requests))
    if (!fits && bundlesStartedMs !== null) return null
    bundlesStartedMs ??= clock.monotonicMs()
    largestBundle = Math.max(largestBundle, requests)
    let reserved = 0
    const reserve = (more: number) => {
      reserved += more
      allocation.reserve(more)
    }
    reserve(requests)
    return {
      runsOver: !fits,
      take: () => {
        const isReserved = reserved > 0
        meter.take({ mayRunOver: !fits, isReserved })
        if (isReserved) reserved -= 1
        bundleRequests += 1
      },
      reserveRest: (needed) => {
        if (fits && !meter.fitsRequests(needed - reserved)) return false
        reserve(needed - reserved)
        return true
      },
      release: () => reserve(-reserved),
    }
  }

  return {
    reason: meter.reason,
    outOfTime: meter.outOfTime,
    elapsedMs: meter.elapsedMs,
    spent: meter.spent,
    largestBundle: () => largestBundle,
    mayGrow: allocation.mayGrow,
    listing: (pagesMin) => listingOf(meter, allocation, pagesMin),
    admitBundle,
    admitBundleSoon: async (requests, signal) => {
      for (;;) {
        const allowance = admitBundle(requests)
        if (allowance !== null || !meter.fitsDuration(expectedMs(requests))) return allowance
        if (!(await allocation.room(requests, signal))) return null
      }
    },
  }
}

type Meter = ReturnType<typeof createMeter>

/** Measures the use of both limits, and keeps which of them was reached last. */
const createMeter = ({ requestsMax, durationMsMax }: Budget, clock: Clock, allocation: Allocation) => {
  const startedMs = clock.monotonicMs()
  const maxDuration = `--max-duration ${(durationMsMax ?? 0) / 1000}s`
  let spent = 0
  let limitReached = '--max-requests'
  const elapsedMs = () => clock.monotonicMs() - startedMs
  const reason = () => `stopped by ${limitReached}`
  const fitsRequests = (requests: number, part = 1): boolean => {
    const fits = allocation.fits(requests, part)
    if (!fits) limitReached = `--max-requests ${requestsMax}`
    return fits
  }
  return {
    elapsedMs,
    reason,
    outOfTime: () => {
      limitReached = maxDuration
      return reason()
    },
    spent: () => spent,
    fitsRequests,
    fitsDuration: (ms: number, part = 1): boolean => {
      const fits = durationMsMax === null || elapsedMs() + ms <= durationMsMax * part
      if (!fits) limitReached = maxDuration
      return fits
    },
    /** Counts a request that is sent now. Throws a `StoppedError` when the budget has none left. */
    take: ({ mayRunOver, isReserved }: { mayRunOver: boolean; isReserved: boolean }): void => {
      if (!mayRunOver && !isReserved && !fitsRequests(1)) throw new StoppedError(reason())
      allocation.send(isReserved)
      spent += 1
    },
  }
}

const listingOf = (meter: Meter, allocation: Allocation, pagesMin: number): ListingAllowance => {
  let pages = 0
  const fits = (part: number): boolean =>
    pages <= pagesMin || (meter.fitsRequests(1, part) && meter.fitsDuration(0, part))
  return {
    mayReadPage: async (tasksWait, signal) => {
      pages += 1
      if (fits(0.5)) return true
      if (await tasksWait()) return false
      while (!fits(1)) {
        if (!meter.fitsDuration(0) || !(await allocation.room(1, signal))) return false
      }
      return true
    },
    take: () => meter.take({ mayRunOver: pages <= pagesMin, isReserved: false }),
  }
}
