/** Reads and commits single surveys of the queue, and decides what their failures mean for the run. */
import { isStop, StoppedError, UpstreamError } from '../base/errors.js'
import type { BundleOutcome } from '../model/warehouse.js'
import { requestsIn, sum } from '../rules/estimate.js'
import type { Task } from '../rules/queue.js'
import type { BundleAllowance, RunBudget } from './budget.js'
import { type BundleReading, readBundle } from './bundle.js'
import { createEndpointWatch, createFailureWatch, type EndpointWatch } from './failure-watch.js'
import { createCommitQueue, readStoredAhead } from './in-groups.js'
import { UnreadSurveyError } from './readings.js'
import type { RunDependencies } from './run-state.js'
import { addRows, type RunState, sawServerTime } from './run-state.js'

/** Throws the error that ends the run, if there is one. */
export const endIf = (verdict: UpstreamError | null): void => {
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

export type Worker = ReturnType<typeof createWorker>

interface Work {
  /** Resolves when the survey is read, or its reading has failed. */
  readonly read: Promise<void>
  readonly committed: Promise<Task | null>
}

export const createWorker = (options: WorkerOptions) => {
  const { dependencies, budget, state, failure, signal } = options
  const { warehouse, log, runId, rules } = dependencies
  let stopped: StoppedError | null = null
  const watch = createFailureWatch(rules.limits.consecutiveFailuresMax)
  const endpoints = createEndpointWatch()
  const read = createReader(options, endpoints)
  const report = createReporter(options)
  const commits = createCommitQueue({
    commitAll: async (outcomes) => addRows(state, await warehouse.commitBundles(outcomes, runId)),
    rowsIn: rowsInOutcome,
    clock: dependencies.clock,
  })

  const stop = (reason: StoppedError) => {
    stopped ??= reason
  }

  /** The task if it is to be tried again, because another account may still leave requests. Otherwise the run stops. */
  const giveUp = (task: Task, stoppedBy: StoppedError): Task | null => {
    if (budget.mayGrow()) return task
    stop(stoppedBy)
    return null
  }

  const commit = async (task: Task, { outcome, readings }: BundleReading): Promise<Task | null> => {
    const { surveyId } = task
    sawServerTime(state, outcome.at)
    await commits.commit(outcome)
    if (outcome.kind === 'refreshed' && outcome.unread !== null) {
      log.warn(
        { surveyId, problem: outcome.unread.error },
        'a part of a survey could not be read; it stays queued',
      )
      state.counts.surveysFailed += 1
    } else if (outcome.kind !== 'oversized') state.counts.surveysRefreshed += 1
    if (outcome.kind !== 'gone') watch.read(readings.answers(), readings.refusals())
    endIf(watch.verdict())
    return outcome.kind === 'oversized'
      ? giveUp({ ...task, reserve: outcome.requestsNeeded }, new StoppedError(budget.reason()))
      : null
  }

  const fail = async (task: Task, error: UpstreamError): Promise<null> => {
    const readings = error instanceof UnreadSurveyError ? error.readings : null
    log.warn({ surveyId: task.surveyId, err: error }, 'a survey could not be refreshed; it stays queued')
    const recorded = commits.commit({
      kind: 'failed',
      surveyId: task.surveyId,
      at: state.serverTime ?? 0n,
      error: error.message,
      isRefused: readings?.areAllRefused() ?? false,
      mayBeGone: readings?.mayBeGone(task) ?? false,
    })
    // What the failure means for the run is decided at once.
    commits.flush()
    await recorded
    state.counts.surveysFailed += 1
    watch.failed(error, readings?.refusals() ?? [], task.refusals > 0)
    endIf(watch.verdict())
    return null
  }

  const settle = async (task: Task, error: unknown): Promise<Task | null> => {
    if (error instanceof UpstreamError && !error.endsRun && !signal.aborted) return await fail(task, error)
    if (isStop(error)) return giveUp(task, error)
    if (!signal.aborted) throw error
    return null
  }

  const finish = async (task: Task, bundle: Promise<BundleReading>): Promise<Task | null> => {
    let again: Task | null = null
    try {
      again = await bundle.then((read) => commit(task, read)).catch((error: unknown) => settle(task, error))
    } catch (error) {
      failure.abort(error)
    } finally {
      report(task, again === null)
    }
    return again
  }

  return {
    stop,
    stopped: () => stopped,
    /** The error that ends the run after its last survey; null without one. */
    verdict: watch.lastVerdict,
    /** The failure of endpoints that answered for no survey; null without one. */
    endpointVerdict: () => endpoints.verdict(warehouse),
    flush: commits.flush,
    isFull: commits.isFull,
    /** Neither promise rejects. `committed` resolves to the task if it is to be tried again. */
    on: (task: Task, allowance: BundleAllowance): Work => {
      const bundle = read(task, allowance).finally(() => allowance.release())
      const ended = () => undefined
      return { read: bundle.then(ended, ended), committed: finish(task, bundle) }
    },
  }
}

/** Rows that a commit of the outcome may write. */
export const rowsInOutcome = (outcome: BundleOutcome): number =>
  outcome.kind === 'refreshed'
    ? outcome.sources.length + outcome.sourceProgress.length + (outcome.days?.rows.length ?? 0)
    : 0

const createReader = ({ dependencies, state, signal, tasks }: WorkerOptions, watch: EndpointWatch) => {
  const stored = readStoredAhead(dependencies.warehouse, tasks)
  return async (task: Task, allowance: BundleAllowance): Promise<BundleReading> =>
    readBundle(dependencies, {
      task,
      stored: await stored.of(task),
      now: state.serverTime ?? 0n,
      allowance,
      signal,
      usage: state.requestUsage,
      watch,
    })
}

/** Reports the progress of the run after each task. */
const createReporter = ({ dependencies: { observer, warehouse }, state, tasks }: WorkerOptions) => {
  let requestsLeft = sum(tasks.map(({ requests }) => requestsIn(requests)))
  return (task: Task, isDone: boolean): void => {
    const done = state.counts.surveysRefreshed + state.counts.surveysFailed
    if (isDone) requestsLeft -= requestsIn(task.requests)
    observer.refreshed({ account: warehouse.account, done, left: tasks.length - done, requestsLeft })
  }
}
