/**
 * The budget of a run: `--max-requests` and `--max-duration`. It admits work that fits, hands out leave for every single
 * request, and makes sure that every run gets somewhere: the listing may take half while tasks wait, and the first
 * bundle always goes, over the budget if need be.
 */
import type { Allowance } from '../base/allowance.js'
import type { Clock } from '../base/clock.js'
import { StoppedError } from '../base/errors.js'
import type { Budget } from '../model/run.js'

export interface RunBudget {
  /** Leave for a listing, of which at least `pagesMin` pages are read whatever the budget. */
  listing(pagesMin: number): ListingAllowance
  /** Leave for a bundle that is expected to take `requests`; null when it would not fit. */
  admitBundle(requests: number): BundleAllowance | null
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
}

export interface BundleAllowance extends Allowance {
  /** Reserves what the rest of the bundle needs, now that it is known. False when that does not fit. */
  reserveRest(requests: number): boolean
  /** Gives back what was reserved and not taken. */
  release(): void
  /** Whether the bundle was let in although it does not fit. */
  readonly runsOver: boolean
}

export const createBudget = (limits: Budget, clock: Clock): RunBudget => {
  const { requestsMax, durationMsMax } = limits
  const startedMs = clock.monotonicMs()
  let spent = 0
  let reserved = 0
  let bundleRequests = 0
  let bundlesStartedMs: number | null = null
  let largestBundle = 1
  const maxDuration = `--max-duration ${(durationMsMax ?? 0) / 1000}s`
  let met = '--max-requests'

  const elapsedMs = () => clock.monotonicMs() - startedMs
  const fitsRequests = (requests: number, share = 1) => {
    if (requestsMax === null || spent + reserved + requests <= requestsMax * share) return true
    met = `--max-requests ${requestsMax}`
    return false
  }
  const fitsDuration = (ms: number, share = 1) => {
    if (durationMsMax === null || elapsedMs() + ms <= durationMsMax * share) return true
    met = maxDuration
    return false
  }
  /** From the pace of this run's bundles so far: it knows the cap, the latency and the retries. */
  const expectedMs = (requests: number) =>
    bundlesStartedMs === null || bundleRequests === 0
      ? 0
      : (requests * (clock.monotonicMs() - bundlesStartedMs)) / bundleRequests
  const reason = () => `stopped by ${met}`
  const take = (mayRunOver: boolean) => {
    if (!mayRunOver && !fitsRequests(1)) throw new StoppedError(reason())
    spent += 1
  }

  return {
    reason,
    outOfTime: () => {
      met = maxDuration
      return reason()
    },
    elapsedMs,
    largestBundle: () => largestBundle,
    spent: () => spent,
    listing: (pagesMin) => {
      let pages = 0
      return {
        mayReadPage: (tasksWait) => {
          pages += 1
          const share = tasksWait ? 0.5 : 1
          return pages <= pagesMin || (fitsRequests(1, share) && fitsDuration(0, share))
        },
        take: () => take(pages <= pagesMin),
      }
    },
    admitBundle: (requests) => {
      const fits = fitsRequests(requests) && fitsDuration(expectedMs(requests))
      if (!fits && bundlesStartedMs !== null) return null
      bundlesStartedMs ??= clock.monotonicMs()
      largestBundle = Math.max(largestBundle, requests)
      let left = 0
      const reserve = (more: number) => {
        left += more
        reserved += more
      }
      reserve(requests)
      return {
        runsOver: !fits,
        take: () => {
          if (left > 0) reserve(-1)
          take(!fits)
          bundleRequests += 1
        },
        reserveRest: (needed) => {
          if (fits && !fitsRequests(needed - left)) return false
          reserve(needed - left)
          return true
        },
        release: () => reserve(-left),
      }
    },
  }
}
