/**
 * Collects the failures of single requests while one survey is read. A failure of one endpoint says nothing about the others, so the
 * reading goes on. The end of the bundle decides what the failures mean together.
 */
import { UpstreamError } from '../base/errors.js'
import type { Progress } from '../model/fields.js'
import type { SurveyKind } from '../model/request-usage.js'
import { type Reading, RefusedReadingError } from '../model/survey-source.js'
import type { UnreadPart } from '../model/warehouse.js'
import type { Task } from '../rules/queue.js'
import type { EndpointWatch } from './failure-watch.js'

interface ReadingsOptions {
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'refusals' | 'isUnseen'>
  readonly watch: Pick<EndpointWatch, 'answered' | 'failed'>
}

export class Readings {
  readonly #options: ReadingsOptions
  readonly #failures: { readonly kind: SurveyKind; readonly error: UpstreamError }[] = []
  /** Refusals of a survey that may have gone. They say something about the endpoint only when the survey answers. */
  #unproven: { readonly kind: SurveyKind; readonly error: UpstreamError }[] = []
  answers = 0

  constructor(options: ReadingsOptions) {
    this.#options = options
  }

  /** The result of `reading`, or null if it failed. Throws errors that end the run, and errors after which the bundle is read again. */
  async passOver<Result>(kind: SurveyKind, reading: Promise<Result>): Promise<Result | null> {
    const { task, watch } = this.#options
    try {
      const result = await reading
      this.answers += 1
      watch.answered(kind)
      for (const failure of this.#unproven.splice(0)) this.#blame(failure)
      return result
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.endsRun || error instanceof OutdatedSourcesError)
        throw error
      this.#failures.push({ kind, error })
      const mayHaveGone = task.isUnseen && this.answers === 0 && isNotFound(error)
      if (mayHaveGone) this.#unproven.push({ kind, error })
      else this.#blame({ kind, error })
      return null
    }
  }

  /** Whether all failures are 404, and no page of this run showed the survey. Then the failures say nothing about the API. */
  isUnproven(): boolean {
    return this.#options.task.isUnseen && !this.isComplete() && this.#areNotFound()
  }

  #blame({ kind, error }: { readonly kind: SurveyKind; readonly error: UpstreamError }): void {
    const { task, watch } = this.#options
    watch.failed(kind, { surveyId: task.surveyId, error, wasRefused: task.refusals > 0 })
  }

  /** Adds a failure that is our own decision, and says nothing about the endpoint. */
  fail(kind: SurveyKind, error: UpstreamError): void {
    this.#failures.push({ kind, error })
  }

  isComplete(): boolean {
    return this.#failures.length === 0
  }

  /** Whether both the survey's own endpoints answered 404, and every other failure was a 404 too. */
  areAllNotFound(): boolean {
    const failed = (own: SurveyKind) => this.#failures.some(({ kind }) => kind === own)
    return this.#areNotFound() && failed('sample_sources') && failed('survey_progress')
  }

  /**
   * Whether all failures are 404, for the first time. Then a full listing shows whether the survey has gone. A survey that was refused
   * before is known to be listed.
   */
  mayBeGone(): boolean {
    const { reason, refusals } = this.#options.task
    return reason !== 'missing' && refusals === 0 && this.#areNotFound()
  }

  refusals(): readonly RefusedReadingError[] {
    return this.#failures.map(({ error }) => error).filter((error) => error instanceof RefusedReadingError)
  }

  /** The part that failed, if not everything was read. */
  unread(): UnreadPart {
    const [first = 'nothing of the survey was read', ...more] = this.#failures.map(
      ({ error }) => error.message,
    )
    const others = more.length === 0 ? '' : `; and ${more.length} more of its requests`
    return {
      error: `${first}${others}`,
      isRefused: this.refusals().length === this.#failures.length,
    }
  }

  #areNotFound(): boolean {
    return this.#failures.every(({ error }) => isNotFound(error))
  }
}

/** Whether the reading succeeded, and its row could be typed. */
export const isTyped = (
  reading: Reading<Progress> | null,
): reading is Reading<Progress> & { readonly row: Progress } => reading !== null && reading.row !== null

export const isNotFound = (error: unknown): boolean =>
  error instanceof RefusedReadingError && error.kind === 'not_found'

/** The list of sources is outdated, so it is read again with everything that depends on it. The cause is a refusal, if there was one. */
export class OutdatedSourcesError extends UpstreamError {
  constructor(message: string, options?: ErrorOptions) {
    super('sources_outdated', message, options)
  }
}

/**
 * Awaits a reading of a listed source. After a 404, throws an `OutdatedSourcesError`, because the source may have gone since the list was
 * read.
 */
export const checkListedSource = async <Result>(
  surveyId: number,
  sourceId: number,
  reading: Promise<Result>,
): Promise<Result> => {
  try {
    return await reading
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new OutdatedSourcesError(
      `source ${sourceId} of survey ${surveyId} is listed, but its progress is not found; the survey stays queued`,
      { cause: error },
    )
  }
}
