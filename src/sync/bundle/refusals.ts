/**
 * Collects the refusals of the API while one survey is read. A refusal of one endpoint says nothing about the others, so the
 * reading goes on. What the refusals mean together is decided at the end of the bundle.
 */
import { UpstreamError } from '../../base/errors.js'
import type { Task } from '../../model/queue.js'
import { RefusedReadingError } from '../../model/survey-source.js'
import type { PartlyRefused } from '../../model/warehouse.js'

/** The refused part of a survey: its list of sources, its own progress, or the progress of a source or a day. */
export type RefusedPart = 'sources' | 'progress' | 'source' | 'day'

export interface Refusals {
  /** The result of `reading`, or null if the API refused it. Every other failure is thrown. */
  passOver<Result>(reading: Promise<Result>, part: RefusedPart): Promise<Result | null>
  isEmpty(): boolean
  /** The number of readings that were not refused. */
  answers(): number
  /** Both the survey's own endpoints answered 404, and every other refusal was a 404 too. */
  areAllNotFound(): boolean
  /**
   * All refusals are 404, for the first time: a full listing shows whether the survey has gone. A survey that was refused
   * before is known to be listed.
   */
  mayBeGone(task: Pick<Task, 'reason' | 'refusals'>): boolean
  all(): readonly RefusedReadingError[]
  /** The refusals of a bundle that was read in part; null without refusals. */
  inPart(): PartlyRefused | null
}

/** The API refused every request for the survey. It stays queued. */
export class RefusedSurveyError extends UpstreamError {
  readonly code = 'survey_refused'
  readonly endsRun = false
  readonly refusals: Refusals

  constructor(surveyId: number, refusals: Refusals) {
    super(lineOf(surveyId, refusals.all()), { cause: refusals.all()[0] })
    this.refusals = refusals
  }
}

export const createRefusals = (surveyId: number): Refusals => {
  const found: { readonly part: RefusedPart; readonly error: RefusedReadingError }[] = []
  const all = () => found.map(({ error }) => error)
  let answers = 0
  return {
    passOver: async (reading, part) => {
      try {
        const result = await reading
        answers += 1
        return result
      } catch (error) {
        if (!(error instanceof RefusedReadingError)) throw error
        found.push({ part, error })
        return null
      }
    },
    isEmpty: () => found.length === 0,
    answers: () => answers,
    areAllNotFound: () =>
      found.every(({ error }) => error.kind === 'not_found') &&
      ['sources', 'progress'].every((own) => found.some(({ part }) => part === own)),
    mayBeGone: ({ reason, refusals }) =>
      reason !== 'missing' && refusals === 0 && found.every(({ error }) => error.kind === 'not_found'),
    all,
    inPart: () =>
      found.length === 0
        ? null
        : {
            error: lineOf(surveyId, all()),
            isProgressRefused: found.some(({ part }) => part === 'progress'),
          },
  }
}

/** The first refusal, and the number of further ones. */
const lineOf = (surveyId: number, all: readonly RefusedReadingError[]): string => {
  const [first, ...more] = all
  const rest = more.length === 0 ? '' : `; and ${more.length} more of its endpoints`
  return `${first?.message ?? `survey ${surveyId} was refused`}${rest}`
}
