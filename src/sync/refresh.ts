/**
 * The long part of a run: takes tasks off the queue in order of urgency. It ends when the queue is empty, the budget is used up, or a
 * failure ends the run.
 */
import { abortReason } from '../base/clock.js'
import { StoppedError } from '../base/errors.js'
import type { Task } from '../rules/queue.js'
import type { RunBudget } from './budget.js'
import type { RunDependencies, RunState } from './run-state.js'
import { endIf, Worker } from './worker.js'

/** Throws the `UpstreamError` that ends the run, a `StoppedError`, or an error of the warehouse. */
export const refresh = async (
  dependencies: RunDependencies,
  budget: RunBudget,
  state: RunState,
  tasks: readonly Task[],
): Promise<void> => {
  const failure = new AbortController()
  const signal = AbortSignal.any([dependencies.signal, failure.signal])
  const worker = new Worker({ dependencies, budget, state, failure, signal, tasks })
  const waiting = tasks.values()

  while (!signal.aborted && worker.stopped === null) {
    const task = waiting.next().value ?? worker.again.shift()
    if (task === undefined) {
      if (worker.isIdle()) break
      await worker.oneEnds()
      continue
    }
    const allowance = await budget.admitBundleSoon(task.reserve, signal)
    if (allowance === null) {
      worker.stopped ??= new StoppedError(budget.reason())
      break
    }
    if (allowance.runsOver)
      dependencies.log.warn(
        { surveyId: task.surveyId, requests: task.reserve },
        'this survey needs more requests than the budget has left; it is read anyway, or it would never be read',
      )
    worker.start(task, allowance)
    await worker.hasRoom()
  }
  // The budget lets bundles under way end; a signal or a failure has aborted them. Complete bundles are committed.
  await worker.allEnd()
  const broken = await worker.endpointVerdict()
  // A run that a budget or a signal stops has seen enough of such an endpoint too.
  if (broken !== null) state.ended = { exitCode: broken.exitCode, message: broken.message }
  if (signal.aborted) throw abortReason(signal)
  if (worker.stopped !== null) throw worker.stopped
  // The surveys are not at fault. After a stop their refusals count, so that the next run begins with other surveys.
  if (broken !== null) await dependencies.warehouse.forgetRefusals(dependencies.runId)
  endIf(worker.verdict() ?? broken)
}
