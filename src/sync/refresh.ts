/**
 * The long part of a run: takes tasks off the queue in order of urgency, reads some bundles at the same time, and commits
 * them meanwhile. It ends when the queue is empty, the budget is used up, or a failure ends the run.
 */
import { abortReason } from '../base/clock.js'
import { StoppedError } from '../base/errors.js'
import type { Task } from '../rules/queue.js'
import type { BundleAllowance, RunBudget } from './budget.js'
import type { RunDependencies, RunState } from './run-state.js'
import { createWorker, endIf, type Worker } from './worker.js'

/**
 * Enough to keep the client's eight connections busy while some bundles have only one request left. So many surveys may always be
 * under way.
 */
const READ_AT_ONCE = 8

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
  const waiting = tasks.values()
  const again: Task[] = []
  const underWay = createUnderWay(work, (task) => again.push(task))

  while (!signal.aborted && work.stopped() === null) {
    const task = waiting.next().value ?? again.shift()
    if (task === undefined) {
      if (underWay.isEmpty()) break
      await underWay.oneEnds()
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
    underWay.start(task, allowance)
    await underWay.hasRoom()
  }
  // The budget lets bundles under way end; a signal or a failure has aborted them. Complete bundles are committed.
  await underWay.allEnd()
  const broken = await work.endpointVerdict()
  // A run that a budget or a signal stops has seen enough of such an endpoint too.
  if (broken !== null) state.ended = { exitCode: broken.exitCode, message: broken.message }
  if (signal.aborted) throw abortReason(signal)
  const stopped = work.stopped()
  if (stopped !== null) throw stopped
  // The surveys are not at fault. After a stop their refusals count, so that the next run begins with other surveys.
  if (broken !== null) await dependencies.warehouse.forgetRefusals(dependencies.runId)
  endIf(work.verdict() ?? broken)
}

/** The tasks under way: some are read, and those that were read wait for their commit. */
const createUnderWay = (work: Worker, again: (task: Task) => void) => {
  const reading = new Set<Promise<void>>()
  const uncommitted = new Set<Promise<void>>()

  const track = (set: Set<Promise<void>>, promise: Promise<void>) => {
    const ended = promise.then(() => void set.delete(ended))
    set.add(ended)
  }

  const oneEnds = async (): Promise<void> => {
    // Nothing more arrives for the next commit.
    if (reading.size === 0) work.flush()
    await Promise.race([...reading, ...uncommitted])
  }

  return {
    isEmpty: () => uncommitted.size === 0,
    start: (task: Task, allowance: BundleAllowance): void => {
      const { read, committed } = work.on(task, allowance)
      track(reading, read)
      track(
        uncommitted,
        committed.then((retry) => {
          if (retry !== null) again(retry)
        }),
      )
    },
    /** Resolves when another bundle may be read. */
    hasRoom: async (): Promise<void> => {
      while (reading.size >= READ_AT_ONCE) await Promise.race(reading)
      while (uncommitted.size >= READ_AT_ONCE && work.isFull(uncommitted.size)) await oneEnds()
    },
    /** Resolves when a reading or a commit has ended. */
    oneEnds,
    allEnd: async (): Promise<void> => {
      while (uncommitted.size > 0) await oneEnds()
    },
  }
}
