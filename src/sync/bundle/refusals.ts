/**
 * What the API refuses while one survey is read. A refusal of one address says nothing about the others, so it is noted
 * and passed over; what all of them together say is decided when the bundle is complete.
 */
import { UpstreamError } from '../../base/errors.js'
import type { Task } from '../../model/queue.js'
import { RefusedReadingError } from '../../model/survey-source.js'
import type { PartlyRefused } from '../../model/warehouse.js'

/** Which of a survey's addresses: its list of sources, its own progress, or the progress of a source or a day. */
export type RefusedPart = 'sources' | 'progress' | 'source' | 'day'

export interface Refusals {
  /** What was read, or null where the API refused it. Every other failure is thrown. */
  passOver<Result>(reading: Promise<Result>, part: RefusedPart): Promise<Result | null>
  isEmpty(): boolean
  /** How much was read. */
  answers(): number
  /** Both the survey's own addresses answered 404. */
  areAllNotFound(): boolean
  /**
   * It answered 404 for the first time, to all that was asked: a full listing tells whether it has gone. One that has
   * been refused before is known to be listed.
   */
  mayBeGone(task: Pick<Task, 'reason' | 'refusals'>): boolean
  all(): readonly RefusedReadingError[]
  /** For a bundle of which something was read; null when nothing was refused. */
  inPart(): PartlyRefused | null
}

/** Everything that was asked of the survey was refused. It stays queued. */
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
        const read = await reading
        answers += 1
        return read
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
      ['sources', 'progress'].every((wanted) => found.some(({ part }) => part === wanted)),
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

/** The first refusal, and how many more there were. */
const lineOf = (surveyId: number, all: readonly RefusedReadingError[]): string => {
  const [first, ...more] = all
  const rest = more.length === 0 ? '' : `; and ${more.length} more of its addresses`
  return `${first?.message ?? `survey ${surveyId} was refused`}${rest}`
}
