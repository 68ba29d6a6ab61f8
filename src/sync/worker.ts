/** Reads some surveys of the queue at the same time, commits them, and decides what their failures mean for the run. */
import { sum } from 'd3-array'
import { isStop, StoppedError, type UpstreamError } from '../base/errors.js'
import { abortReason } from '../base/signals.js'
import { instantFromMs } from '../model/instant.js'
import type { BundleOutcome, OversizedTask, StoredBundle } from '../model/warehouse.js'
import { requestsIn } from '../rules/estimate.js'
import type { Task } from '../rules/queue.js'
import { Batch } from './batch.js'
import type { BundleAllowance } from './budget.js'
import { type BundleReading, readBundle } from './bundle.js'
import { EndpointWatch, FailureWatch } from './failure-watch.js'
import { SurveyParts } from './parts.js'
import { Readings } from './readings.js'
import { addRows, type Run, sawServerTime } from './run-state.js'

/** Enough to keep the client's eight connections busy while some bundles have only one request left. */
const READ_AT_ONCE = 8
/** Surveys that are read, or wait for their commit. The limit bounds the memory. */
const UNDER_WAY_MAX = 64
/** Surveys whose stored rows are read together. The limit bounds the memory. */
const STORED_AT_ONCE = 32

class Worker {
  readonly #run: Run
  readonly #tasks: readonly Task[]
  /** Aborted with the error that ends the run. */
  readonly #failure = new AbortController()
  readonly #watch: FailureWatch
  readonly #endpoints = new EndpointWatch()
  readonly #outcomes: Batch<BundleOutcome>
  readonly #reading = new Set<Promise<unknown>>()
  /** The surveys that are read or wait for their commit. */
  readonly #underWay = new Set<Promise<void>>()
  /**
   * The number of failed surveys that are not committed yet. Their commit decides whether the run goes on, so no other survey is begun
   * before.
   */
  #undecided = 0
  /** Surveys that the run cannot read as a whole. They wait until all other surveys are read, or do not fit either. */
  readonly #large: Task[] = []
  /** Surveys that would fit into a run, but not into the requests that this run has left. */
  readonly #left: Task[] = []
  #requestsLeft: number

  constructor(run: Run, tasks: readonly Task[]) {
    const { warehouse, rules, runId, clock, state } = run
    this.#run = { ...run, signal: AbortSignal.any([run.signal, this.#failure.signal]) }
    this.#tasks = tasks
    this.#watch = new FailureWatch(rules.limits.consecutive_failures_max)
    this.#outcomes = new Batch(clock, async (outcomes) =>
      addRows(state, await warehouse.commitBundles(outcomes, runId)),
    )
    this.#requestsLeft = sum(tasks.map(({ requests }) => requestsIn(requests)))
  }

  /** Throws the error that ends the run. */
  async work(): Promise<void> {
    const { signal, state, warehouse, runId, budget } = this.#run
    await this.#readAll()
    // Bundles under way are completed when the budget is used up, and were aborted by a signal or a failure. Complete bundles are
    // committed.
    await Promise.all(this.#underWay)
    await this.#readInParts()
    const broken = await this.#endpoints.verdict(warehouse)
    // A broken endpoint is reported also if a budget or a signal stops the run.
    if (broken !== null)
      state.ended = { exitCode: broken.exitCode, code: broken.code, message: broken.message }
    if (signal.aborted) throw abortReason(signal)
    if (this.#left.length > 0) throw new StoppedError(budget.reason())
    // The endpoint is at fault and not the surveys, so their refusals are forgotten. After a stop the refusals stay, so that the next run
    // begins with other surveys.
    if (broken !== null) await warehouse.forgetRefusals(runId)
    endIf(this.#watch.lastVerdict() ?? broken)
  }

  /** Takes the tasks off the queue, until it is empty or the run ends. */
  async #readAll(): Promise<void> {
    const { budget, signal } = this.#run
    let stored: ReadonlyMap<number, StoredBundle> = new Map()
    let storedUpTo = 0
    for (const [index, task] of this.#tasks.entries()) {
      if (signal.aborted) return
      const isLarge = task.reserve > budget.wholeMax
      const allowance = isLarge ? null : await budget.admitBundleSoon(task.reserve, signal)
      if (allowance === null) {
        if (isLarge || task.isBegun) this.#large.push(task)
        else this.#left.push(task)
        continue
      }
      // Nothing is read of the surveys that a used budget leaves over.
      if (index >= storedUpTo) {
        storedUpTo = index + STORED_AT_ONCE
        stored = await this.#stored(this.#tasks.slice(index, storedUpTo))
      }
      this.#start({ task, stored: storedOf(task, stored), allowance, parts: null })
      while (this.#reading.size >= READ_AT_ONCE) await Promise.race(this.#reading)
      while (this.#underWay.size >= UNDER_WAY_MAX || this.#undecided > 0) await Promise.race(this.#underWay)
    }
  }

  #stored(tasks: readonly Task[]): Promise<ReadonlyMap<number, StoredBundle>> {
    return this.#run.warehouse.storedBundles(tasks.map(({ surveyId }) => surveyId))
  }

  /**
   * Reads large surveys one after the other, so that one of them is completed. If no survey fitted, the most urgent survey is read in
   * parts.
   */
  async #readInParts(): Promise<void> {
    const { budget, signal, warehouse, runId, clock, state, log } = this.#run
    const nothingFits = this.#large.length === 0 && budget.isUnused
    const large = nothingFits ? this.#left.splice(0, 1) : this.#large
    // Surveys that were begun come first: otherwise many would be begun, and none completed.
    for (const task of large.toSorted((a, b) => Number(b.isBegun) - Number(a.isBegun))) {
      const allowance = signal.aborted ? null : budget.admitParts()
      if (allowance === null) {
        this.#left.push(task)
        continue
      }
      const { surveyId } = task
      log.info({ account: warehouse.account, surveyId, requests: task.reserve }, 'reading a survey in parts')
      const at = state.serverTime ?? instantFromMs(clock.nowMs())
      const parts = await SurveyParts.begin(warehouse, task, { runId, at })
      this.#start({ task, stored: storedOf(task, await this.#stored([task])), allowance, parts })
      await Promise.all(this.#underWay)
    }
  }

  #start(survey: SurveyToRead): void {
    const bundle = this.#read(survey)
    const reading = bundle.catch(() => undefined).finally(() => this.#reading.delete(reading))
    this.#reading.add(reading)
    const underWay = this.#finish(survey.task, bundle).finally(() => this.#underWay.delete(underWay))
    this.#underWay.add(underWay)
  }

  async #read({ task, stored, allowance, parts }: SurveyToRead): Promise<BundleReading> {
    const request = { task, stored, allowance, watch: this.#endpoints, parts }
    try {
      return await readBundle(this.#run, request)
    } catch (error) {
      if (parts === null || !isStop(error)) throw error
      const outcome = await parts.stop(this.#run.state.serverTime ?? 0n)
      return { outcome, readings: new Readings(request), failure: null }
    } finally {
      allowance.release()
    }
  }

  /** Never rejects. */
  async #finish(task: Task, bundle: Promise<BundleReading>): Promise<void> {
    try {
      await this.#commit(task, await bundle)
    } catch (error) {
      if (isStop(error)) this.#putOff(task)
      else if (!this.#run.signal.aborted) this.#failure.abort(error)
    }
    this.#report(task)
  }

  /** Commits a reading, and decides whether the run goes on. */
  async #commit(task: Task, reading: BundleReading): Promise<void> {
    const { log, signal, state } = this.#run
    const { outcome, failure } = reading
    if (failure !== null) {
      if (signal.aborted) return
      log.warn({ surveyId: task.surveyId, err: failure }, 'a survey could not be refreshed; it stays queued')
      this.#undecided += 1
    }
    sawServerTime(state, outcome.at)
    try {
      await this.#outcomes.add(outcome)
      this.#count(task, reading)
      endIf(this.#watch.verdict())
    } finally {
      if (failure !== null) this.#undecided -= 1
    }
    if (outcome.kind === 'oversized') this.#putOff({ ...task, reserve: outcome.requestsNeeded }, outcome)
  }

  #count(task: Task, { outcome, readings, failure }: BundleReading): void {
    const { log, state } = this.#run
    const { surveyId } = task
    const unread = 'unread' in outcome ? outcome.unread : null
    if (unread !== null) state.counts.surveysFailed += 1
    else if (outcome.kind !== 'oversized') state.counts.surveysRefreshed += 1
    if (failure !== null) {
      const known = { isKnown: task.hasFailed, mayBeGone: 'mayBeGone' in outcome && outcome.mayBeGone }
      if (!readings.isUnproven()) this.#watch.failed(failure, readings.refusals(), known)
    } else if (outcome.kind !== 'gone') this.#watch.read(readings.answers, readings.refusals())
    if (failure === null && unread !== null)
      log.warn({ surveyId, problem: unread.error }, 'a part of a survey could not be read; it stays queued')
  }

  /** The task waits for the other surveys, or for the next run. */
  #putOff(task: Task, { parts }: Pick<OversizedTask, 'parts'> = {}): void {
    const isLarge = parts === undefined && task.reserve > this.#run.budget.wholeMax
    const waiting = isLarge ? this.#large : this.#left
    waiting.push(task)
  }

  #report(task: Task): void {
    const { warehouse, observer, state } = this.#run
    const done = state.counts.surveysRefreshed + state.counts.surveysFailed
    this.#requestsLeft -= requestsIn(task.requests)
    observer.refreshed({
      account: warehouse.account,
      done,
      left: this.#tasks.length - done,
      requestsLeft: this.#requestsLeft,
    })
  }
}

const endIf = (verdict: UpstreamError | null): void => {
  if (verdict !== null) throw verdict
}

interface SurveyToRead {
  readonly task: Task
  readonly stored: StoredBundle
  readonly allowance: BundleAllowance
  /** Null for a survey that is read as a whole. */
  readonly parts: SurveyParts | null
}

const storedOf = ({ surveyId }: Task, stored: ReadonlyMap<number, StoredBundle>): StoredBundle => {
  const bundle = stored.get(surveyId)
  if (bundle === undefined) throw new TypeError(`survey ${surveyId} is not in the queue`)
  return bundle
}

/**
 * The long part of a run: takes tasks off the queue in order of urgency. Throws the `UpstreamError` that ends the run, a `StoppedError`, or
 * an error of the warehouse.
 */
export const refresh = (run: Run, tasks: readonly Task[]): Promise<void> => new Worker(run, tasks).work()
