/** Plans for machines (`plan --json`): names in snake_case, moments in ISO 8601, durations in seconds. */
import { timeAtCapMs } from '../../model/cap-time.js'
import { formatInstant } from '../../model/instant.js'
import type { AccountPlan } from '../../model/plan-fit.js'
import type { Budget } from '../../model/run.js'

export const planToJson = (plans: readonly AccountPlan[], { requestsMax, durationMsMax }: Budget) => ({
  max_requests: requestsMax,
  max_duration_seconds: durationMsMax === null ? null : durationMsMax / 1_000,
  accounts: plans.map(({ account, rate, plan, fit }) => ({
    account,
    rate: { requests: rate.requests, per_seconds: rate.perMs / 1_000 },
    expected_at: plan === null ? null : formatInstant(plan.at),
    listing: plan?.listing ?? 'full',
    requests: plan?.requests ?? null,
    seconds_at_cap: plan === null ? null : timeAtCapMs(plan.requests, rate) / 1_000,
    entries: (plan?.entries ?? []).map(({ reason, isExpected, surveys, requests }) => ({
      reason,
      expected: isExpected,
      surveys,
      requests,
    })),
    fits:
      fit === null
        ? null
        : {
            surveys: fit.surveys,
            requests: fit.requests,
            waiting: fit.waiting,
            oldest_since: fit.oldestSince === null ? null : formatInstant(fit.oldestSince),
          },
  })),
})
