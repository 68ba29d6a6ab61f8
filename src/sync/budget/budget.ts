/**
 * The budget of one account's run: its allocation of `--max-requests`, and `--max-duration`. It admits work that fits, hands
 * out leave for every single request, and makes sure that every account gets somewhere in every run: the listing may take
 * half while tasks wait, and the first bundle always goes, over the budget if need be.
 */
import type { Allowance } from '../../base/allowance.js'
import type { Clock } from '../../base/clock.js'
import { StoppedError } from '../../base/errors.js'
import type { Budget } from '../../model/run.js'
import { type Allocation, createWholeAllocation } from './request-budget.js'

export interface RunBudget {
  /** Leave for a listing, of which at least `pagesMin` pages are read whatever the budget. */
  listing(pagesMin: number): ListingAllowance
  /** Leave for a bundle that is expected to take `requests`; null when it would not fit. */
  admitBundle(requests: number): BundleAllowance | null
  /** The same, but first waits for requests that bundles under way or other accounts may leave; until `signal` aborts. */
  admitBundleSoon(requests: number, signal: AbortSignal): Promise<BundleAllowance | null>
  /** Whether other accounts may still leave some of their requests. */
  mayGrow(): boolean
  /** Requests taken so far. */
  spent(): number
  /** Since the run began, milliseconds. */
  elapsedMs(): number
  /** Requests of the largest bundle that was let in; 1 before there was any. */
  largestBundle(): number
  /** The limit that was met last, as the reason why the run stopped. */
  reason(): string
  /** The same where only the clock says so: no work that was to be admitted has met the limit of time. */
  outOfTime(): string
}

export interface ListingAllowance extends Allowance {
  /** Whether another page may be read: all of the budget may go, half of it while tasks wait. */
  mayReadPage(tasksWait: boolean): boolean
  /** The same, but where no tasks wait it first waits for requests that other accounts may leave; until `signal` aborts. */
  mayReadPageSoon(tasksWait: boolean, signal: AbortSignal): Promise<boolean>
}

export interface BundleAllowance extends Allowance {
  /** Reserves what the rest of the bundle needs, now that it is known. False when that does not fit. */
  reserveRest(requests: number): boolean
  /** Gives back what was reserved and not taken. */
  release(): void
  /** Whether the bundle was let in although it does not fit. */
  readonly runsOver: boolean
}

/** `allocation`: where several accounts divide the requests; all of `limits.requestsMax` unless given. */
export const createBudget = (
  limits: Budget,
  clock: Clock,
  allocation: Allocation = createWholeAllocation(limits.requestsMax),
): RunBudget => {
  const meter = createMeter(limits, clock, allocation)
  let bundleRequests = 0
  let bundlesStartedMs: number | null = null
  let largestBundle = 1

  /** From the pace of this run's bundles so far: it knows the cap, the latency and the retries. */
  const expectedMs = (requests: number) =>
    bundlesStartedMs === null || bundleRequests === 0
      ? 0
      : (requests * (clock.monotonicMs() - bundlesStartedMs)) / bundleRequests

  const admitBundle = (requests: number): BundleAllowance | null => {
    const fits = meter.fitsRequests(requests) && meter.fitsDuration(expectedMs(requests))
    if (!fits && bundlesStartedMs !== null) return null
    bundlesStartedMs ??= clock.monotonicMs()
    largestBundle = Math.max(largestBundle, requests)
    let left = 0
    const reserve = (more: number) => {
      left += more
      allocation.reserve(more)
    }
    reserve(requests)
    return {
      runsOver: !fits,
      take: () => {
        const isReserved = left > 0
        meter.take({ mayRunOver: !fits, isReserved })
        if (isReserved) left -= 1
        bundleRequests += 1
      },
      reserveRest: (needed) => {
        if (fits && !meter.fitsRequests(needed - left)) return false
        reserve(needed - left)
        return true
      },
      release: () => reserve(-left),
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

/** What is used of both limits, and which of them was met last. */
const createMeter = ({ requestsMax, durationMsMax }: Budget, clock: Clock, allocation: Allocation) => {
  const startedMs = clock.monotonicMs()
  const maxDuration = `--max-duration ${(durationMsMax ?? 0) / 1000}s`
  let spent = 0
  let met = '--max-requests'
  const elapsedMs = () => clock.monotonicMs() - startedMs
  const reason = () => `stopped by ${met}`
  const fitsRequests = (requests: number, part = 1): boolean => {
    const fits = allocation.fits(requests, part)
    if (!fits) met = `--max-requests ${requestsMax}`
    return fits
  }
  return {
    elapsedMs,
    reason,
    outOfTime: () => {
      met = maxDuration
      return reason()
    },
    spent: () => spent,
    fitsRequests,
    fitsDuration: (ms: number, part = 1): boolean => {
      const fits = durationMsMax === null || elapsedMs() + ms <= durationMsMax * part
      if (!fits) met = maxDuration
      return fits
    },
    /** Counts a request that is sent now. Throws a `StoppedError` when there is none left. */
    take: ({ mayRunOver, isReserved }: { mayRunOver: boolean; isReserved: boolean }): void => {
      if (!mayRunOver && !isReserved && !fitsRequests(1)) throw new StoppedError(reason())
      allocation.send(isReserved)
      spent += 1
    },
  }
}

const listingOf = (meter: Meter, allocation: Allocation, pagesMin: number): ListingAllowance => {
  let pages = 0
  const fits = (tasksWait: boolean): boolean => {
    const part = tasksWait ? 0.5 : 1
    return pages <= pagesMin || (meter.fitsRequests(1, part) && meter.fitsDuration(0, part))
  }
  return {
    mayReadPage: (tasksWait) => {
      pages += 1
      return fits(tasksWait)
    },
    mayReadPageSoon: async (tasksWait, signal) => {
      pages += 1
      while (!fits(tasksWait)) {
        if (tasksWait || !meter.fitsDuration(0) || !(await allocation.room(1, signal))) return false
      }
      return true
    },
    take: () => meter.take({ mayRunOver: pages <= pagesMin, isReserved: false }),
  }
}
