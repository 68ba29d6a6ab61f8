/**
 * Decides when failures of single surveys end the run: many in a row, or at its end an API that refused most requests. If an endpoint
 * answers for none of many surveys, it is broken as a whole: the run reads the other endpoints, and ends as failed
 * (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */
import { type ErrorCode, UpstreamError } from '../base/errors.js'
import type { SurveyKind } from '../model/request-usage.js'
import { type RefusalKind, RefusedReadingError } from '../model/survey-source.js'
import type { AccountWarehouse } from '../model/warehouse.js'

/** After this many refused surveys and no answer, the API is taken to refuse all surveys. */
const REFUSED_SURVEYS_MIN = 2

export class FailureWatch {
  readonly #failuresMax: number
  #answered = 0
  #notFound = 0
  #failedSurveys = 0
  #refusedSurveys = 0
  readonly #refused = new Set<RefusalKind>()
  /** The failures since the last survey that was read, and their kinds. */
  #row: UpstreamError[] = []
  #rowKinds = new Set<RefusalKind | null>()
  #last: UpstreamError | null = null

  constructor(failuresMax: number) {
    this.#failuresMax = failuresMax
  }

  /** The survey was read, at least in part: `answers` counts its readings, `refusals` its refused requests. */
  read(answers: number, refusals: readonly RefusedReadingError[]): void {
    this.#answered += answers
    for (const { kind } of refusals) this.#refused.add(kind)
    this.#notFound += notFoundIn(refusals)
    this.#last = refusals[0] ?? this.#last
    this.#row = []
    this.#rowKinds = new Set()
  }

  /**
   * Nothing of the survey was read. `isKnown`: an earlier run could not read the survey either. `mayBeGone`: the next full listing shows
   * whether it has gone.
   */
  failed(
    error: UpstreamError,
    refusals: readonly RefusedReadingError[],
    { isKnown, mayBeGone }: { readonly isKnown: boolean; readonly mayBeGone: boolean },
  ): void {
    this.#last = error
    this.#failedSurveys += 1
    for (const { kind } of refusals) this.#refused.add(kind)
    if (refusals.length > 0) this.#refusedSurveys += 1
    // A survey that failed before is expected to fail again. It must not keep other surveys from being read.
    if (isKnown) return
    this.#notFound += notFoundIn(refusals)
    // Surveys that were deleted in one day follow each other in the queue, and their 404s arrive before any answer.
    if (mayBeGone) return
    this.#row.push(error)
    for (const kind of refusals.length === 0 ? [null] : refusals.map((refusal) => refusal.kind))
      this.#rowKinds.add(kind)
  }

  /** The error that ends the run now; null while it goes on. */
  verdict(): UpstreamError | null {
    const failures = this.#row.length
    if (failures < this.#failuresMax) return null
    return this.#ended(
      failures === 1 ? 'a survey failed' : `${failures} surveys failed one after the other`,
      onlyOf(this.#rowKinds),
    )
  }

  /** The error that ends the run when the queue is empty; null without one. */
  lastVerdict(): UpstreamError | null {
    const requests = this.#notFound + this.#answered
    if (this.#answered > 0)
      return this.#notFound > this.#failuresMax && this.#notFound > this.#answered
        ? this.#ended(`the API answered 404 to ${this.#notFound} of ${requests} requests`, 'not_found')
        : null
    if (this.#refusedSurveys >= REFUSED_SURVEYS_MIN)
      return this.#ended(
        `the API refused all ${this.#refusedSurveys} requested surveys`,
        onlyOf(this.#refused),
      )
    if (this.#failedSurveys < this.#failuresMax) return null
    return this.#ended('no survey could be read', null)
  }

  #ended(what: string, kind: RefusalKind | null): UpstreamError | null {
    return this.#last === null ? null : apiFailure(what, this.#last, kind)
  }
}

const notFoundIn = (refusals: readonly RefusedReadingError[]): number =>
  refusals.filter(({ kind }) => kind === 'not_found').length

/** The kind, if there is only one; null if there are several, or failures that are no refusals. */
const onlyOf = (kinds: ReadonlySet<RefusalKind | null>): RefusalKind | null => {
  const [kind] = kinds
  return kinds.size === 1 ? (kind ?? null) : null
}

/** The error of a run in which `what` happened. `kind` is the kind of all refusals; null if there are several, or other failures. */
const apiFailure = (what: string, last: UpstreamError, kind: RefusalKind | null): UpstreamError => {
  const problem = `${what}, the last with: ${last.message}`
  const failure = (code: ErrorCode, advice = '') => new UpstreamError(code, problem + advice, { cause: last })
  if (kind === 'not_found') return failure('wrong_address', `. ${WRONG_ADDRESS}`)
  if (kind === 'forbidden') return failure('surveys_forbidden', `. ${FORBIDDEN}`)
  return failure('too_many_failures')
}

const WRONG_ADDRESS =
  'The list of surveys answers below the same base_url: check whether the service, or a proxy, lacks these addresses. A 404 alone marks no survey as missing'
const FORBIDDEN = 'Check which surveys this id and token may read'

/** The least surveys for a verdict, because fewer may fail for reasons of their own. */
const SURVEYS_MIN = 5
/** Failures in a row, each after all its retries, after which an endpoint counts as failing. */
const FAILING_IN_A_ROW_MIN = 5

const NAMES: Readonly<Record<SurveyKind, string>> = {
  sample_sources: 'the list of sample sources',
  survey_progress: 'the fieldwork progress',
  sample_source_progress: 'the fieldwork progress of the sample sources',
  daily_progress: 'the fieldwork progress of single days',
}

/** `wasRefused`: the API refused the survey in an earlier run. */
interface EndpointFailure {
  readonly surveyId: number
  readonly error: UpstreamError
  readonly wasRefused: boolean
}

interface Endpoint {
  hasAnswered: boolean
  failuresInARow: number
  /** The last failure of each survey, until the first answer. */
  readonly failures: Map<number, EndpointFailure>
}

export class EndpointWatch {
  readonly #endpoints = new Map<SurveyKind, Endpoint>()

  answered(kind: SurveyKind): void {
    const endpoint = this.#of(kind)
    endpoint.hasAnswered = true
    endpoint.failuresInARow = 0
    endpoint.failures.clear()
  }

  failed(kind: SurveyKind, failure: EndpointFailure): void {
    const endpoint = this.#of(kind)
    endpoint.failuresInARow += 1
    if (!endpoint.hasAnswered) endpoint.failures.set(failure.surveyId, failure)
  }

  /** Whether the endpoint has failed again and again since its last answer. Until it answers, one attempt for each survey is enough. */
  isFailing(kind: SurveyKind): boolean {
    return this.#of(kind).failuresInARow >= FAILING_IN_A_ROW_MIN
  }

  /** The failure of an endpoint that answered for no survey; null without one. */
  async verdict(warehouse: Pick<AccountWarehouse, 'answeredSurveys'>): Promise<UpstreamError | null> {
    const problems: string[] = []
    const errors: UpstreamError[] = []
    for (const [kind, { failures: bySurvey }] of this.#endpoints) {
      const failures = [...bySurvey.values()]
      if (failures.length < SURVEYS_MIN) continue
      if (!isBroken(failures, await warehouse.answeredSurveys(kind))) continue
      const failed = failures.map(({ error }) => error)
      errors.push(...failed)
      problems.push(
        failed.every((error) => error instanceof RefusedReadingError)
          ? `the API refused ${NAMES[kind]} of all ${failed.length} requested surveys`
          : `the API gave ${NAMES[kind]} of none of the ${failed.length} requested surveys`,
      )
    }
    const last = errors.at(-1)
    if (last === undefined) return null
    const kinds = errors.map((error) => (error instanceof RefusedReadingError ? error.kind : null))
    return apiFailure(problems.join('; '), last, onlyOf(new Set(kinds)))
  }

  #of(kind: SurveyKind): Endpoint {
    const unused: Endpoint = { hasAnswered: false, failuresInARow: 0, failures: new Map() }
    const endpoint = this.#endpoints.get(kind) ?? unused
    this.#endpoints.set(kind, endpoint)
    return endpoint
  }
}

/**
 * A survey for which the endpoint was refused before, and never answered, says nothing about the endpoint, unless the endpoint has never
 * answered for any survey. `answered` are the surveys for which it answered in earlier runs.
 */
const isBroken = (failures: readonly EndpointFailure[], answered: ReadonlySet<number>): boolean =>
  failures.filter(({ surveyId, wasRefused }) => !wasRefused || answered.size === 0 || answered.has(surveyId))
    .length >= SURVEYS_MIN
