/**
 * `--max-duration` admits only pages and bundles that should fit, but a pause or retries can delay them. After the limit they
 * get the time that a bundle takes at the cap. Then they are given up
 * (docs/decisions/accounts-and-budgets.md#0055-a-time-limit-admits-only-what-should-fit).
 */
import { StoppedError } from '../../base/errors.js'
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
  const ended = new AbortController()
  const passed = new AbortController()
  const watch = async (limitMs: number): Promise<void> => {
    await clock.sleep(limitMs - budget.elapsedMs(), ended.signal)
    const { rate } = source.usage()
    await clock.sleep(rate.perMs + (budget.largestBundle() * rate.perMs) / rate.requests, ended.signal)
    passed.abort(new StoppedError(budget.outOfTime()))
  }
  if (rules.budget.durationMsMax !== null) {
    // The sleep rejects only after disposal, when nothing is left to watch.
    watch(rules.budget.durationMsMax).catch(() => undefined)
  }
  return { signal: AbortSignal.any([signal, passed.signal]), [Symbol.dispose]: () => ended.abort() }
}
