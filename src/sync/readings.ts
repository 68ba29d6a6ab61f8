/**
 * Collects the failures of single requests while one survey is read. A failure of one endpoint says nothing about the others, so the
 * reading goes on. What the failures mean together is decided at the end of the bundle.
 */
import { UpstreamError } from '../base/errors.js'
import type { SurveyKind } from '../model/request-usage.js'
import { type Answer, RefusedReadingError, type SurveySource } from '../model/survey-source.js'
import type { UnreadPart } from '../model/warehouse.js'
import type { Task } from '../rules/queue.js'
import type { EndpointWatch } from './failure-watch.js'

export interface Readings {
  /** The result of `reading`, or null if it failed. Throws errors that end the run, and those that make the bundle read again. */
  passOver<Result>(kind: SurveyKind, reading: Promise<Result>): Promise<Result | null>
  isComplete(): boolean
  /** The number of readings that succeeded. */
  answers(): number
  /** Both the survey's own endpoints answered 404, and every other failure was a 404 too. */
  areAllNotFound(): boolean
  /**
   * All failures are 404, for the first time: a full listing shows whether the survey has gone. A survey that was refused
   * before is known to be listed.
   */
  mayBeGone(task: Pick<Task, 'reason' | 'refusals'>): boolean
  /** Every failure is a refusal. */
  areAllRefused(): boolean
  refusals(): readonly RefusedReadingError[]
  /** The failures of a bundle that was read in part; null without failures. */
  unread(): UnreadPart | null
}

/** Every request for the survey failed. It stays queued. */
export class UnreadSurveyError extends UpstreamError {
  readonly readings: Readings

  constructor(readings: Readings) {
    super('survey_unread', readings.unread()?.error ?? 'nothing of the survey was read')
    this.readings = readings
  }
}

interface ReadingsOptions {
  readonly task: Pick<Task, 'surveyId' | 'reason' | 'refusals'>
  readonly watch: Pick<EndpointWatch, 'answered' | 'failed'>
}

export const createReadings = ({ task, watch }: ReadingsOptions): Readings => {
  const failures: { readonly kind: SurveyKind; readonly error: UpstreamError }[] = []
  let answers = 0
  const refusals = () =>
    failures.map(({ error }) => error).filter((error) => error instanceof RefusedReadingError)
  const areAllRefused = () => refusals().length === failures.length
  const areNotFound = () => failures.every(({ error }) => isNotFound(error))
  return {
    passOver: async (kind, reading) => {
      try {
        const result = await reading
        answers += 1
        watch.answered(kind)
        return result
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.endsRun || error instanceof OutdatedSourcesError)
          throw error
        failures.push({ kind, error })
        const isGone = task.reason === 'missing' && isNotFound(error)
        const { surveyId, refusals: before } = task
        if (!isGone) watch.failed(kind, { surveyId, error, wasRefused: before > 0 })
        return null
      }
    },
    isComplete: () => failures.length === 0,
    answers: () => answers,
    areAllNotFound: () =>
      areNotFound() && OWN_KINDS.every((own) => failures.some(({ kind }) => kind === own)),
    mayBeGone: ({ reason, refusals: before }) => reason !== 'missing' && before === 0 && areNotFound(),
    areAllRefused,
    refusals,
    unread: () =>
      failures.length === 0
        ? null
        : {
            error: lineOf(failures.map(({ error }) => error)),
            isProgressUnread: failures.some(({ kind }) => kind === 'survey_progress'),
            isRefused: areAllRefused(),
          },
  }
}

const isNotFound = (error: UpstreamError): boolean =>
  error instanceof RefusedReadingError && error.kind === 'not_found'

const OWN_KINDS: readonly SurveyKind[] = ['sample_sources', 'survey_progress']

/** The first failure, and the number of further ones. */
const lineOf = ([first, ...more]: readonly UpstreamError[]): string =>
  `${first?.message ?? ''}${more.length === 0 ? '' : `; and ${more.length} more of its requests`}`

/** Errors for a list of sources that is outdated. The list and everything that depends on it are read again. */

export class OutdatedSourcesError extends UpstreamError {
  constructor(message: string, options?: ErrorOptions) {
    super('sources_outdated', message, options)
  }
}

/** A listed source answered 404: it may have gone since its list was read. */
export class SourceNotFoundError extends OutdatedSourcesError {}

/** Awaits a reading of a listed source. A 404 becomes a `SourceNotFoundError`. */
export const checkListedSource = async <Result>(
  surveyId: number,
  sourceId: number,
  reading: Promise<Result>,
): Promise<Result> => {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof RefusedReadingError) || error.kind !== 'not_found') throw error
    throw new SourceNotFoundError(
      `source ${sourceId} of survey ${surveyId} is listed, but its progress is not found; the survey stays queued`,
      { cause: error },
    )
  }
}

/**
 * Keeps every answer to the requests of one bundle. A repeated reading drops the rows of the first one. Its rejections and
 * drift events are still stored.
 */

export interface KeptAnswers {
  /** Answers like the given source, and keeps each answer. */
  readonly source: SurveySource
  readonly answers: readonly Answer[]
}

export const keepAnswers = (source: SurveySource): KeptAnswers => {
  const answers: Answer[] = []
  const kept = async <Result extends Answer>(reading: Promise<Result>): Promise<Result> => {
    const answer = await reading
    answers.push(answer)
    return answer
  }
  return {
    answers,
    source: {
      listSurveys: (...args) => kept(source.listSurveys(...args)),
      listSampleSources: (...args) => kept(source.listSampleSources(...args)),
      readSurveyProgress: (...args) => kept(source.readSurveyProgress(...args)),
      readSampleSourceProgress: (...args) => kept(source.readSampleSourceProgress(...args)),
      readDayProgress: (...args) => kept(source.readDayProgress(...args)),
      usage: () => source.usage(),
    },
  }
}
