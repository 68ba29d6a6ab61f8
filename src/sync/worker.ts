/** Reads some surveys of the queue at the same time, commits them meanwhile, and decides what their failures mean for the run. */
import { abortReason } from '../base/clock.js'
import { isStop, StoppedError, UpstreamError } from '../base/errors.js'
import type { BundleOutcome, StoredBundle } from '../model/warehouse.js'
import { requestsIn, sum } from '../rules/estimate.js'
import type { Task } from '../rules/queue.js'
import type { BundleAllowance, RunBudget } from './budget.js'
import { readBundle } from './bundle.js'
import { EndpointWatch, FailureWatch } from './failure-watch.js'
import { CommitQueue, readStoredAhead } from './in-groups.js'
import { UnreadSurveyError } from './readings.js'
import { addRows, type RunDependencies, type RunState, sawServerTime } from './run-state.js'

type BundleReading = Awaited<ReturnType<typeof readBundle>>

interface WorkerOptions {
  readonly dependencies: RunDependencies
  readonly budget: RunBudget
  readonly state: RunState
  /** Aborted with the error that ends the run. */
  readonly failure: AbortController
  readonly signal: AbortSignal
  readonly tasks: readonly Task[]
}

/** Enough to keep the client's eight connections busy while some bundles have only one request left. */
const READ_AT_ONCE = 8

export class Worker {
  readonly #options: WorkerOptions
  readonly watch: FailureWatch
  readonly endpoints = new EndpointWatch()
  readonly #storedOf: (task: Task) => Promise<StoredBundle>
  readonly #commits: CommitQueue<BundleOutcome>
  readonly #reading = new Set<Promise<void>>()
  /** Tasks to try again, because another account may still leave requests. */
  readonly again: Task[] = []
  /** Why no further survey is read; null while the work goes on. */
  stopped: StoppedError | null = null
  #requestsLeft: number

  constructor(options: WorkerOptions) {
    const { dependencies, state, tasks } = options
    const { warehouse, rules, runId, clock } = dependencies
    this.#options = options
    this.watch = new FailureWatch(rules.limits.consecutive_failures_max)
    this.#storedOf = readStoredAhead(warehouse, tasks)
    const commitAll = async (outcomes: readonly BundleOutcome[]) =>
      addRows(state, await warehouse.commitBundles(outcomes, runId))
    this.#commits = new CommitQueue({ commitAll, rowsIn: rowsInOutcome, clock })
    this.#requestsLeft = sum(tasks.map(({ requests }) => requestsIn(requests)))
  }

  start(task: Task, allowance: BundleAllowance): void {
    const bundle = this.#read(task, allowance).finally(() => allowance.release())
    const ended = () => void this.#reading.delete(reading)
    const reading = bundle.then(ended, ended)
    this.#reading.add(reading)
    this.#commits.track(this.#finish(task, bundle))
  }

  isIdle(): boolean {
    return this.#commits.isIdle()
  }

  async hasRoom(): Promise<void> {
    while (this.#reading.size >= READ_AT_ONCE) await Promise.race(this.#reading)
    while (this.#commits.isFull()) await this.oneEnds()
  }

  /** Resolves when a reading or a commit has ended. */
  async oneEnds(): Promise<void> {
    // Nothing more arrives for the next commit.
    if (this.#reading.size === 0) this.#commits.flush()
    await Promise.race([...this.#reading, this.#commits.oneEnds()])
  }

  async allEnd(): Promise<void> {
    while (!this.isIdle()) await this.oneEnds()
  }

  async #read(task: Task, allowance: BundleAllowance): Promise<BundleReading> {
    const { dependencies, state, signal } = this.#options
    const stored = await this.#storedOf(task)
    const { requestUsage: usage, serverTime } = state
    const request = { task, stored, now: serverTime ?? 0n, allowance, signal, usage, watch: this.endpoints }
    return await readBundle(dependencies, request)
  }

  /** Never rejects. */
  async #finish(task: Task, bundle: Promise<BundleReading>): Promise<void> {
    let again: Task | null = null
    try {
      again = await bundle
        .then((done) => this.#commit(task, done))
        .catch((error: unknown) => this.#settle(task, error))
    } catch (error) {
      this.#options.failure.abort(error)
    }
    this.#report(task, again === null)
    if (again !== null) this.again.push(again)
  }

  async #commit(task: Task, { outcome, readings }: BundleReading): Promise<Task | null> {
    const { dependencies, budget, state } = this.#options
    sawServerTime(state, outcome.at)
    await this.#commits.commit(outcome)
    if (outcome.kind === 'refreshed' && outcome.unread !== null) {
      dependencies.log.warn(
        { surveyId: task.surveyId, problem: outcome.unread.error },
        'a part of a survey could not be read; it stays queued',
      )
      state.counts.surveysFailed += 1
    } else if (outcome.kind !== 'oversized') state.counts.surveysRefreshed += 1
    if (outcome.kind !== 'gone') this.watch.read(readings.answers, readings.refusals())
    endIf(this.watch.verdict())
    return outcome.kind === 'oversized'
      ? this.#giveUp({ ...task, reserve: outcome.requestsNeeded }, new StoppedError(budget.reason()))
      : null
  }

  async #settle(task: Task, error: unknown): Promise<Task | null> {
    const { signal } = this.#options
    if (error instanceof UpstreamError && !error.endsRun && !signal.aborted)
      return await this.#fail(task, error)
    if (isStop(error)) return this.#giveUp(task, error)
    if (!signal.aborted) throw error
    return null
  }

  /** The task if another account may still leave requests. Otherwise the run stops. */
  #giveUp(task: Task, stoppedBy: StoppedError): Task | null {
    if (this.#options.budget.mayGrow()) return task
    this.stopped ??= stoppedBy
    return null
  }

  async #fail(task: Task, error: UpstreamError): Promise<null> {
    const { dependencies, state } = this.#options
    const readings = error instanceof UnreadSurveyError ? error.readings : null
    const { surveyId } = task
    dependencies.log.warn({ surveyId, err: error }, 'a survey could not be refreshed; it stays queued')
    const recorded = this.#commits.commit({
      kind: 'failed',
      surveyId,
      at: state.serverTime ?? 0n,
      error: error.message,
      isRefused: readings?.areAllRefused() ?? false,
      mayBeGone: readings?.mayBeGone() ?? false,
    })
    // What the failure means for the run is decided at once.
    this.#commits.flush()
    await recorded
    state.counts.surveysFailed += 1
    this.watch.failed(error, readings?.refusals() ?? [], task.refusals > 0)
    endIf(this.watch.verdict())
    return null
  }

  #report(task: Task, isDone: boolean): void {
    const { dependencies, state, tasks } = this.#options
    const done = state.counts.surveysRefreshed + state.counts.surveysFailed
    if (isDone) this.#requestsLeft -= requestsIn(task.requests)
    dependencies.observer.refreshed({
      account: dependencies.warehouse.account,
      done,
      left: tasks.length - done,
      requestsLeft: this.#requestsLeft,
    })
  }
}

export const endIf = (verdict: UpstreamError | null): void => {
  if (verdict !== null) throw verdict
}

/** Rows that a commit of the outcome may write. */
export const rowsInOutcome = (outcome: BundleOutcome): number =>
  outcome.kind === 'refreshed'
    ? outcome.sources.length + outcome.sourceProgress.length + (outcome.days?.rows.length ?? 0)
    : 0

/**
 * The long part of a run: takes tasks off the queue in order of urgency. Throws the `UpstreamError` that ends the run, a `StoppedError`, or
 * an error of the warehouse.
 */
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
  const broken = await worker.endpoints.verdict(dependencies.warehouse)
  // A run that a budget or a signal stops has seen enough of such an endpoint too.
  if (broken !== null) state.ended = { exitCode: broken.exitCode, message: broken.message }
  if (signal.aborted) throw abortReason(signal)
  if (worker.stopped !== null) throw worker.stopped
  // The surveys are not at fault. After a stop their refusals count, so that the next run begins with other surveys.
  if (broken !== null) await dependencies.warehouse.forgetRefusals(dependencies.runId)
  endIf(worker.watch.lastVerdict() ?? broken)
}
