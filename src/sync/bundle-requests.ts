/** The requests of one bundle: counted, reserved in the budget of the run, and sent. Their answers are kept. */
import type { RequestContext } from '../base/allowance.js'
import { UpstreamError } from '../base/errors.js'
import type { Window } from '../model/calendar.js'
import type { Progress, SampleSource } from '../model/fields.js'
import type { Instant } from '../model/instant.js'
import type { SurveyKind } from '../model/request-usage.js'
import type { Answer, Page, Reading } from '../model/survey-source.js'
import { requestReasonOf, type Task } from '../rules/queue.js'
import type { BundleAllowance } from './budget.js'
import type { EndpointWatch } from './failure-watch.js'
import type { SurveyParts } from './parts.js'
import type { Run } from './run-state.js'

export interface BundleRequestsOptions {
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'isLeftOver'>
  readonly allowance: BundleAllowance
  readonly watch: Pick<EndpointWatch, 'isFailing'>
  /** Null if the survey is read as a whole. */
  readonly parts?: SurveyParts | null
}

export interface ProgressRequest {
  readonly kind: SurveyKind
  /** Null for the whole survey. */
  readonly sampleSourceId: number | null
  readonly window?: Window
  /** Whether the answer must be new: an answer of an earlier run does not count. */
  readonly isNew?: boolean
}

export class BundleRequests {
  readonly #run: Pick<Run, 'source' | 'signal' | 'state' | 'rules'>
  readonly #options: BundleRequestsOptions
  /**
   * The answers of all readings of the bundle. A repeated reading replaces the rows of the first, but rejections and drift events of both
   * are stored.
   */
  readonly answers: Answer[] = []

  constructor(run: Pick<Run, 'source' | 'signal' | 'state' | 'rules'>, options: BundleRequestsOptions) {
    this.#run = run
    this.#options = options
  }

  /** By the first page, the requests for the other pages and for their sources are reserved. Throws the error if they do not fit. */
  async sourcesPage(page: number): Promise<Page<SampleSource>> {
    const { surveyId } = this.#options.task
    const context = this.#context('sample_sources')
    const read = await this.#keep(this.#run.source.listSampleSources(surveyId, page, context))
    if (page === 1) this.#checkSize(read)
    return read
  }

  progress({ kind, sampleSourceId, window, isNew = false }: ProgressRequest): Promise<Reading<Progress>> {
    const query = { surveyId: this.#options.task.surveyId, sampleSourceId, window }
    const context = { ...this.#context(kind), ...(isNew && { kept: undefined }) }
    return this.#keep(this.#run.source.readProgress(query, context))
  }

  /**
   * Throws an `OversizedError` if the rest of the bundle does not fit. `requestsRead`: the requests that were read before, and have to be
   * read again.
   */
  reserveRest(requestsLeft: number, requestsRead: number, at: Instant): void {
    const { allowance, parts } = this.#options
    const requestsNeeded = requestsRead + requestsLeft
    if (parts) parts.requestsNeeded = requestsNeeded
    if (!allowance.reserveRest(requestsLeft, requestsRead)) throw new OversizedError(requestsNeeded, at)
  }

  #checkSize({ pagination: { total_pages: pages, total_count: sources }, readAt }: Page<SampleSource>): void {
    const { task, parts } = this.#options
    const sourcesMax = this.#run.rules.limits.sources_per_survey_max
    if (sources > sourcesMax) throw new TooManySourcesError(task.surveyId, sources, sourcesMax)
    // Without further pages, the sources that need a request are counted later.
    if (pages > 1 || parts) this.reserveRest(pages + sources, 1, readAt)
  }

  async #keep<Result extends Answer>(reading: Promise<Result>): Promise<Result> {
    const answer = await reading
    this.answers.push(answer)
    return answer
  }

  /** The context is made anew for each request, because the watch may have seen failures since the last one. */
  #context(kind: SurveyKind): RequestContext {
    const { task, allowance, watch, parts } = this.#options
    const { signal, state } = this.#run
    return {
      ...(parts && { kept: parts }),
      signal,
      allowance: state.requestUsage.counting(allowance, kind, requestReasonOf(task)),
      attemptsMax: watch.isFailing(kind) ? 1 : undefined,
    }
  }
}

/** The survey has more sources than the settings allow. Only its own progress is read. */
export class TooManySourcesError extends UpstreamError {
  constructor(surveyId: number, sources: number, sourcesMax: number) {
    super(
      'too_many_sources',
      `survey ${surveyId} has ${sources} sources, more than limits.sources_per_survey_max allows (${sourcesMax}): only its own progress is read`,
    )
  }
}

/** The survey does not fit into the requests that the run may use for a survey as a whole. */
export class OversizedError extends Error {
  readonly requestsNeeded: number
  readonly at: Instant

  constructor(requestsNeeded: number, at: Instant) {
    super(`the survey needs ${requestsNeeded} requests`)
    this.requestsNeeded = requestsNeeded
    this.at = at
  }
}
