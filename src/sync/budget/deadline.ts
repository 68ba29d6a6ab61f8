/**
 * `--max-duration` admits only pages and bundles that should fit, but a pause or retries can delay them. After the limit they
 * get the time that a bundle takes at the cap. Then they are given up
 * (docs/decisions/accounts-and-budgets.md#0055-a-time-limit-admits-only-what-should-fit).
 */
import { StoppedError } from '../../base/errors.js'
import { createTimeLimit } from '../../base/time-limit.js'
import type { RunDependencies } from '../dependencies.js'
import type { RunBudget } from './budget.js'

export interface Deadline extends Disposable {
  /** Aborts with the dependencies' signal, or with a `StoppedError` when the deadline has passed. */
  readonly signal: AbortSignal
}

/** Dispose of it when the run has ended: its timer holds the process. */
export const setDeadline = (
  { clock, source, rules, signal }: RunDependencies,
  budget: RunBudget,
): Deadline => {
  const limit = createTimeLimit(clock)
  const { durationMsMax } = rules.budget
  const endLater = (): void => {
    const { rate } = source.usage()
    limit.after(rate.perMs + (budget.largestBundle() * rate.perMs) / rate.requests, () =>
      limit.end(new StoppedError(budget.outOfTime())),
    )
  }
  if (durationMsMax !== null) limit.after(durationMsMax - budget.elapsedMs(), endLater)
  return { signal: AbortSignal.any([signal, limit.signal]), [Symbol.dispose]: limit[Symbol.dispose] }
}
