/** The part of a plan that fits into the budget of a run, and the rest that waits for the next run. */
import type { Rate } from '../base/network.js'
import { requestsIn } from './bundle-estimate.js'
import { requestsWithin } from './cap-time.js'
import type { Instant } from './instant.js'
import type { Plan } from './plan.js'
import type { Budget } from './run.js'

export interface PlanFit {
  readonly surveys: number
  readonly requests: number
  /** Surveys that are left over. */
  readonly waiting: number
  /** The earliest last reading of these, or queue time if never read; null if none waits. */
  readonly oldestSince: Instant | null
}

export interface AccountPlan {
  readonly account: string
  readonly rate: Rate
  /** Null before the first complete listing. */
  readonly plan: Plan | null
  readonly fit: PlanFit | null
}

/** Takes surveys in the order of the queue, up to the first whose reserve does not fit. The first survey always fits. */
export const fitPlan = (plan: Plan, { requestsMax, durationMsMax }: Budget, rate: Rate): PlanFit => {
  const room = Math.min(
    requestsMax ?? Number.POSITIVE_INFINITY,
    durationMsMax === null ? Number.POSITIVE_INFINITY : requestsWithin(durationMsMax, rate),
  )
  const known = plan.tasks.reduce((total, { requests }) => total + requestsIn(requests), 0)
  // The listing and the surveys that it is expected to bring.
  let spent = plan.requests - known
  let surveys = 0
  for (const { requests, reserve } of plan.tasks) {
    if (surveys > 0 && spent + reserve > room) break
    spent += requestsIn(requests)
    surveys += 1
  }
  const waiting = plan.tasks.slice(surveys)
  return {
    surveys,
    requests: spent,
    waiting: waiting.length,
    oldestSince: waiting.reduce<Instant | null>(
      (oldest, { since }) => (oldest === null || since < oldest ? since : oldest),
      null,
    ),
  }
}
