/**
 * The answers of a survey that is read in parts. The answers are kept in the warehouse as they arrive, and enter the tables together after
 * the last one (docs/decisions/bundles-and-refusals.md#0088-a-survey-that-does-not-fit-into-a-run-is-read-in-parts).
 */
import type { KeptAnswer, KeptAnswers } from '../base/allowance.js'
import { type Instant, instantFromMs } from '../model/instant.js'
import type { AccountWarehouse, OversizedTask, Stamp } from '../model/warehouse.js'
import type { Task } from '../rules/queue.js'

/** Answers between two commits. A killed run loses them and the requests under way. */
const ANSWERS_AT_ONCE = 100

export class SurveyParts implements KeptAnswers {
  readonly #surveyId: number
  readonly #commit: (answers: ReadonlyMap<string, KeptAnswer>) => Promise<void>
  readonly #kept: Map<string, KeptAnswer>
  /** The time of the first answer of an earlier run; null without one. */
  readonly begunAt: Instant | null
  /** Pages that must not be returned again. */
  readonly #used = new Set<string>()
  #new = new Map<string, KeptAnswer>()
  #lastCommit = Promise.resolve()
  #isLonger = false
  /** The requests that the survey needs, as far as known. */
  requestsNeeded: number

  static async begin(
    warehouse: Pick<AccountWarehouse, 'beginParts' | 'keptAnswers' | 'keepAnswers'>,
    task: Pick<Task, 'surveyId' | 'reserve'>,
    stamp: Stamp,
  ): Promise<SurveyParts> {
    const { surveyId } = task
    await warehouse.beginParts(surveyId, stamp)
    const kept = await warehouse.keptAnswers(surveyId)
    return new SurveyParts(task, kept, (answers) => warehouse.keepAnswers(surveyId, answers, stamp.runId))
  }

  private constructor(
    { surveyId, reserve }: Pick<Task, 'surveyId' | 'reserve'>,
    kept: ReadonlyMap<string, KeptAnswer>,
    commit: (answers: ReadonlyMap<string, KeptAnswer>) => Promise<void>,
  ) {
    this.#surveyId = surveyId
    this.#commit = commit
    this.#kept = new Map(kept)
    this.requestsNeeded = reserve
    let firstMs = Number.POSITIVE_INFINITY
    for (const { dateMs } of kept.values()) firstMs = Math.min(firstMs, dateMs)
    this.begunAt = kept.size === 0 ? null : instantFromMs(firstMs)
  }

  answerOf(request: string, use: 'once' | 'always'): KeptAnswer | null {
    if (this.#used.has(request)) return null
    if (use === 'once') this.#used.add(request)
    return this.#kept.get(request) ?? null
  }

  async add(request: string, answer: KeptAnswer): Promise<void> {
    this.#kept.set(request, answer)
    this.#new.set(request, answer)
    if (this.#new.size >= ANSWERS_AT_ONCE) this.#lastCommit = this.#keep()
    // One commit at a time: otherwise a kill would also lose answers that arrive during a commit.
    await this.#lastCommit
  }

  /** Commits the remaining answers. The next run continues from them. */
  async stop(at: Instant): Promise<OversizedTask> {
    await this.#keep()
    const parts = { answers: this.#kept.size, isLonger: this.#isLonger }
    return { kind: 'oversized', surveyId: this.#surveyId, at, requestsNeeded: this.requestsNeeded, parts }
  }

  async #keep(): Promise<void> {
    if (this.#new.size === 0) return
    const answers = this.#new
    this.#new = new Map()
    this.#isLonger = true
    await this.#commit(answers)
  }
}
