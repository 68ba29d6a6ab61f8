/**
 * The long part of a run: takes tasks off the queue in order of urgency, reads some bundles at the same time, and commits
 * them. It ends when the queue is empty, the budget is used up, or a failure ends the run.
 */
import { abortReason } from '../base/clock.js'
import { isStop, StoppedError, UpstreamError } from '../base/errors.js'
import { requestsIn, sum } from '../model/bundle-estimate.js'
import { requestReasonOf, type Task } from '../model/queue.js'
import type { BundleAllowance, RunBudget } from './budget/budget.js'
import { bookFor } from './budget/request-usage.js'
import { readBundle } from './bundle/bundle.js'
import { RefusedSurveyError } from './bundle/refusals.js'
import { createCommitQueue } from './commit-queue.js'
import type { RunDependencies } from './dependencies.js'
import { createFailureWatch } from './failure-watch.js'
import { addRows, type RunState, sawServerTime } from './run-state.js'

/** Enough to keep the client's eight connections busy while some bundles have only one request left. */
const BUNDLES_AT_ONCE = 8

/** Throws the `UpstreamError` that ends the run, a `StoppedError`, or an error of the warehouse. */
export const refresh = async (
  dependencies: RunDependencies,
  budget: RunBudget,
  state: RunState,
  tasks: readonly Task[],
): Promise<void> => {
  const failure = new AbortController()
  const signal = AbortSignal.any([dependencies.signal, failure.signal])
  const work = createWorker({ dependencies, budget, state, failure, signal, tasks })
  const waiting = [...tasks]
  const inFlight = new Set<Promise<void>>()

  while (!signal.aborted && work.stopped() === null) {
    const task = waiting.shift()
    if (task === undefined) {
      if (inFlight.size === 0) break
      await Promise.race(inFlight)
      continue
    }
    const allowance = await budget.admitBundleSoon(task.reserve, signal)
    if (allowance === null) {
      work.stop(new StoppedError(budget.reason()))
      break
    }
    if (allowance.runsOver)
      dependencies.log.warn(
        { surveyId: task.surveyId, requests: task.reserve },
        'this survey needs more requests than the budget has left; it is read anyway, or it would never be read',
      )
    const done = work.on(task, allowance).then((again) => {
      inFlight.delete(done)
      if (again !== null) waiting.push(again)
    })
    inFlight.add(done)
    if (inFlight.size >= BUNDLES_AT_ONCE) await Promise.race(inFlight)
  }
  // The budget lets bundles under way end; a signal or a failure has aborted them. Complete bundles are committed.
  await Promise.all(inFlight)
  if (signal.aborted) throw abortReason(signal)
  const stopped = work.stopped()
  if (stopped !== null) throw stopped
  endIf(work.verdict())
}

const endIf = (verdict: UpstreamError | null): void => {
  if (verdict !== null) throw verdict
}

interface WorkerOptions {
  readonly dependencies: RunDependencies
  readonly budget: RunBudget
  readonly state: RunState
  /** Aborted with the error that ends the run. */
  readonly failure: AbortController
  readonly signal: AbortSignal
  /** The queue at the beginning. */
  readonly tasks: readonly Task[]
}

/** Reads and commits single tasks, and decides what their failures mean for the run. */
const createWorker = ({ dependencies, budget, state, failure, signal, tasks }: WorkerOptions) => {
  const { warehouse, log, runId, observer, rules } = dependencies
  let stopped: StoppedError | null = null
  let requestsLeft = sum(tasks.map(({ requests }) => requestsIn(requests)))
  const watch = createFailureWatch(rules.limits.consecutiveFailuresMax)
  const commits = createCommitQueue(
    (outcomes) => warehouse.commitBundles(outcomes, runId),
    (rows) => addRows(state, rows),
  )

  const stop = (reason: StoppedError) => {
    stopped ??= reason
  }

  /** The task if it is to be tried again, because another account may still leave requests. Otherwise the run stops. */
  const giveUp = (task: Task, stoppedBy: StoppedError): Task | null => {
    if (budget.mayGrow()) return task
    stop(stoppedBy)
    return null
  }

  const read = async (task: Task, allowance: BundleAllowance): Promise<Task | null> => {
    const { surveyId } = task
    const now = state.serverTime ?? 0n
    const { outcome, refusals } = await readBundle(dependencies, {
      task,
      now,
      allowance,
      signal,
      book: bookFor(state.requestUsage, requestReasonOf(task)),
    })
    sawServerTime(state, outcome.at)
    await commits.commit(outcome)
    if (outcome.kind === 'refreshed' && outcome.refused !== null) {
      log.warn(
        { surveyId, problem: outcome.refused.error },
        'the API refused a part of a survey; it stays queued',
      )
      state.counts.surveysFailed += 1
    } else if (outcome.kind !== 'oversized') state.counts.surveysRefreshed += 1
    if (outcome.kind !== 'gone') watch.read(refusals.answers(), refusals.all())
    endIf(watch.verdict())
    return outcome.kind === 'oversized'
      ? giveUp({ ...task, reserve: outcome.requestsNeeded }, new StoppedError(budget.reason()))
      : null
  }

  const fail = async (task: Task, error: UpstreamError): Promise<null> => {
    const refusals = error instanceof RefusedSurveyError ? error.refusals : null
    log.warn({ surveyId: task.surveyId, err: error }, 'a survey could not be refreshed; it stays queued')
    await commits.commit({
      kind: 'failed',
      surveyId: task.surveyId,
      at: state.serverTime ?? 0n,
      error: error.message,
      isRefused: refusals !== null,
      mayBeGone: refusals?.mayBeGone(task) ?? false,
    })
    state.counts.surveysFailed += 1
    watch.failed(error, refusals?.all() ?? [], task.refusals > 0)
    endIf(watch.verdict())
    return null
  }

  const settle = async (task: Task, error: unknown): Promise<Task | null> => {
    if (error instanceof UpstreamError && !error.endsRun && !signal.aborted) return await fail(task, error)
    if (isStop(error)) return giveUp(task, error)
    if (!signal.aborted) throw error
    return null
  }

  return {
    stop,
    stopped: () => stopped,
    verdict: () => watch.lastVerdict(),
    /** Never rejects. Returns the task if it is to be tried again. */
    on: async (task: Task, allowance: BundleAllowance): Promise<Task | null> => {
      let again: Task | null = null
      try {
        again = await read(task, allowance).catch((error: unknown) => settle(task, error))
      } catch (error) {
        failure.abort(error)
      } finally {
        allowance.release()
        const done = state.counts.surveysRefreshed + state.counts.surveysFailed
        if (again === null) requestsLeft -= requestsIn(task.requests)
        observer.refreshed({ account: warehouse.account, done, left: tasks.length - done, requestsLeft })
      }
      return again
    },
  }
}
