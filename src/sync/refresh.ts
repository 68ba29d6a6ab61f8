/**
 * The long part of a run: takes tasks off the queue in order of urgency, reads their bundles, some at once, and commits
 * them, until the queue is empty, the budget is spent, or something ends the run.
 */
import { abortReason } from '../base/clock.js'
import { isStop, StoppedError, UpstreamError } from '../base/errors.js'
import { restsAfterRefusal } from '../model/refresh-rules.js'
import type { QueueSize, Task } from '../model/warehouse.js'
import type { BundleAllowance, RunBudget } from './budget/budget.js'
import { bookFor } from './budget/spending.js'
import { readBundle } from './bundle/bundle.js'
import { RefusedSurveyError } from './bundle/refusals.js'
import { createCommitQueue } from './commit-queue.js'
import type { RunDependencies } from './dependencies.js'
import { createFailureWatch } from './failure-watch.js'
import { createTaskFeed } from './planning/task-feed.js'
import { addRows, sawServerTime, type Tally } from './tally.js'

/** Enough to keep the client's eight connections busy while some bundles have only one request left. */
const BUNDLES_AT_ONCE = 8

/** Throws the `UpstreamError` that ends the run, a `StoppedError`, or a failure of the warehouse. */
export const refresh = async (
  dependencies: RunDependencies,
  budget: RunBudget,
  tally: Tally,
): Promise<void> => {
  const failure = new AbortController()
  const signal = AbortSignal.any([dependencies.signal, failure.signal])
  const inFlight = new Map<Task, Promise<void>>()
  const resting = await restingSurveys(dependencies, tally)
  const feed = createTaskFeed(dependencies, tally, () => [
    ...resting,
    ...[...inFlight.keys()].map(({ surveyId }) => surveyId),
  ])
  const left = await dependencies.warehouse.queue(dependencies.runId, resting)
  const work = createWorker({ dependencies, budget, tally, failure, signal, left })

  while (!signal.aborted && work.stopped() === null) {
    const task = await feed.next()
    if (task === null) {
      // What was given up for want of a request is offered again, as long as another account may leave one.
      if (inFlight.size === 0 || !budget.mayGrow()) break
      await Promise.race(inFlight.values())
      continue
    }
    const allowance = await budget.admitBundleSoon(task.requests, signal)
    if (allowance === null) {
      work.stop(new StoppedError(budget.reason()))
      break
    }
    inFlight.set(
      task,
      work.on(task, allowance).finally(() => inFlight.delete(task)),
    )
    if (inFlight.size >= BUNDLES_AT_ONCE) await Promise.race(inFlight.values())
  }
  // A budget lets what is under way come to its end; a signal or a failure has aborted it. What was read whole is committed.
  await Promise.all(inFlight.values())
  if (signal.aborted) throw abortReason(signal)
  const stopped = work.stopped()
  if (stopped !== null) throw stopped
  endIf(work.verdict())
}

const endIf = (verdict: UpstreamError | null): void => {
  if (verdict !== null) throw verdict
}

/** Queued surveys that the API refused in several runs, and that are not asked for again yet. */
const restingSurveys = async (
  { warehouse, rules, log }: RunDependencies,
  { serverTime }: Tally,
): Promise<readonly number[]> => {
  if (rules.full || serverTime === null) return []
  const refused = await warehouse.refusedSurveys()
  const resting = refused.filter((survey) => restsAfterRefusal(survey, serverTime, rules.refresh))
  if (resting.length > 0)
    log.info(
      { account: warehouse.account, surveys: resting.length },
      'surveys that the API refused again and again are not requested in this run',
    )
  return resting.map(({ surveyId }) => surveyId)
}

interface WorkerOptions {
  readonly dependencies: RunDependencies
  readonly budget: RunBudget
  readonly tally: Tally
  /** Aborted with the error that ends the run. */
  readonly failure: AbortController
  readonly signal: AbortSignal
  /** What the queue held at the beginning. */
  readonly left: QueueSize
}

/** Does one task after the other, and knows what their failures mean. `on` never rejects. */
const createWorker = ({ dependencies, budget, tally, failure, signal, left }: WorkerOptions) => {
  const { warehouse, log, runId, observer, rules } = dependencies
  let stopped: StoppedError | null = null
  let requestsLeft = left.requests
  const watch = createFailureWatch(rules.consecutiveFailuresMax)
  const commits = createCommitQueue(
    (outcomes) => warehouse.commitBundles(outcomes, runId),
    (rows) => addRows(tally, rows),
  )

  const stop = (reason: StoppedError) => {
    stopped ??= reason
  }

  const read = async (task: Task, allowance: BundleAllowance): Promise<void> => {
    const { surveyId, reason } = task
    const now = tally.serverTime ?? 0n
    if (allowance.runsOver)
      log.warn(
        { surveyId, requests: task.requests },
        'this survey needs more than the budget leaves: it is read all the same, so that it is read at all',
      )
    const { outcome, refusals } = await readBundle(dependencies, {
      task,
      now,
      allowance,
      signal,
      book: bookFor(tally.spending, task.isLeftOver ? 'left_over' : reason),
    })
    sawServerTime(tally, outcome.at)
    await commits.commit(outcome)
    if (outcome.kind === 'oversized') {
      if (!budget.mayGrow()) stop(new StoppedError(budget.reason()))
    } else if (outcome.kind === 'refreshed' && outcome.refused !== null) {
      log.warn(
        { surveyId, problem: outcome.refused.error },
        'the API refused a part of a survey; it stays queued',
      )
      tally.counts.surveysFailed += 1
    } else tally.counts.surveysRefreshed += 1
    if (outcome.kind !== 'gone') watch.read(refusals.answers(), refusals.all())
    endIf(watch.verdict())
  }

  const fail = async (task: Task, error: UpstreamError): Promise<void> => {
    const refusals = error instanceof RefusedSurveyError ? error.refusals : null
    log.warn({ surveyId: task.surveyId, err: error }, 'a survey could not be refreshed; it stays queued')
    await commits.commit({
      kind: 'failed',
      surveyId: task.surveyId,
      at: tally.serverTime ?? 0n,
      error: error.message,
      isRefused: refusals !== null,
      mayBeGone: refusals?.mayBeGone(task) ?? false,
    })
    tally.counts.surveysFailed += 1
    watch.failed(error, refusals?.all() ?? [], task.refusals > 0)
    endIf(watch.verdict())
  }

  const settle = (task: Task, error: unknown): Promise<void> => {
    if (error instanceof UpstreamError && !error.endsRun && !signal.aborted) return fail(task, error)
    if (!isStop(error) && !signal.aborted) return Promise.reject(error)
    if (isStop(error) && !budget.mayGrow()) stop(error)
    return Promise.resolve()
  }

  return {
    stop,
    stopped: () => stopped,
    verdict: () => watch.lastVerdict(),
    on: async (task: Task, allowance: BundleAllowance): Promise<void> => {
      try {
        await read(task, allowance).catch((error: unknown) => settle(task, error))
      } catch (error) {
        failure.abort(error)
      } finally {
        allowance.release()
        const done = tally.counts.surveysRefreshed + tally.counts.surveysFailed
        requestsLeft -= task.requests
        observer.refreshed({ account: warehouse.account, done, left: left.untried - done, requestsLeft })
      }
    },
  }
}
