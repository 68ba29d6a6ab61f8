/**
 * Decides when failures of single surveys end the run. One failed survey does not affect the others. Many failures in a row, or
 * an API that refuses most requests, mean that the rest of the queue would fail as well.
 */
import { UpstreamError } from '../base/errors.js'
import type { SurveyKind } from '../model/request-usage.js'
import { type RefusalKind, RefusedReadingError } from '../model/survey-source.js'
import type { AccountWarehouse } from '../model/warehouse.js'

export interface FailureWatch {
  /** The survey was read, at least in part: `answers` counts its readings, `refusals` its refused requests. */
  read(answers: number, refusals: readonly RefusedReadingError[]): void
  /** Nothing of the survey was read. `isKnown`: the API also refused it in an earlier run. */
  failed(error: UpstreamError, refusals: readonly RefusedReadingError[], isKnown: boolean): void
  /** The error that ends the run now; null while it goes on. */
  verdict(): UpstreamError | null
  /** The error that ends the run when the queue is empty; null without one. */
  lastVerdict(): UpstreamError | null
}

/** After this many refused surveys and no answer, the API is taken to refuse all surveys. */
const REFUSED_SURVEYS_MIN = 2

export const createFailureWatch = (consecutiveFailuresMax: number): FailureWatch => {
  const refused: Record<RefusalKind, number> = { not_found: 0, forbidden: 0, rejected: 0 }
  let answered = 0
  let notFound = 0
  let refusedSurveys = 0
  let row: UpstreamError[] = []
  let rowKinds: ReadonlySet<RefusalKind | null> = new Set()
  let last: UpstreamError | null = null

  const note = (refusals: readonly RefusedReadingError[]) => {
    for (const { kind } of refusals) refused[kind] += 1
  }
  const ended = (what: string, kind: RefusalKind | null): UpstreamError | null =>
    last === null ? null : apiFailure(what, last, kind)
  const onlyKind = (): RefusalKind | null => {
    const [kind] = rowKinds
    return rowKinds.size === 1 ? (kind ?? null) : null
  }

  return {
    read: (answers, refusals) => {
      answered += answers
      note(refusals)
      notFound += refusals.filter(({ kind }) => kind === 'not_found').length
      last = refusals[0] ?? last
      row = []
      rowKinds = new Set()
    },
    failed: (error, refusals, isKnown) => {
      last = error
      note(refusals)
      if (refusals.length > 0) refusedSurveys += 1
      // A survey that was refused before is expected to be refused again. It must not keep other surveys from being read.
      if (isKnown) return
      notFound += refusals.filter(({ kind }) => kind === 'not_found').length
      row.push(error)
      rowKinds = new Set([
        ...rowKinds,
        ...(refusals.length === 0 ? [null] : refusals.map(({ kind }) => kind)),
      ])
    },
    verdict: () => {
      if (row.length >= consecutiveFailuresMax)
        return ended(
          row.length === 1 ? 'a survey failed' : `${row.length} surveys failed one after the other`,
          onlyKind(),
        )
      if (notFound > consecutiveFailuresMax && notFound > answered)
        return ended(`the API answered 404 to ${notFound} of ${notFound + answered} requests`, 'not_found')
      return null
    },
    lastVerdict: () => {
      if (answered > 0 || refusedSurveys < REFUSED_SURVEYS_MIN) return null
      const all = refused.not_found + refused.forbidden + refused.rejected
      const what = `the API refused all ${refusedSurveys} requested surveys`
      if (refused.not_found === all) return ended(what, 'not_found')
      return refused.forbidden === all ? ended(what, 'forbidden') : ended(what, null)
    },
  }
}

/** The error of a run in which `what` happened. `kind` is the kind of all refusals; null if there are several, or other failures. */
export const apiFailure = (what: string, last: UpstreamError, kind: RefusalKind | null): UpstreamError => {
  const problem = `${what}, the last with: ${last.message}`
  if (kind === 'not_found')
    return new UpstreamError('wrong_address', `${problem}. ${WRONG_ADDRESS}`, { cause: last })
  if (kind === 'forbidden')
    return new UpstreamError('surveys_forbidden', `${problem}. ${FORBIDDEN}`, { cause: last })
  return new UpstreamError('too_many_failures', problem, { cause: last })
}

/** The kind of all these errors; null if there are several, or errors that are no refusals. */
export const onlyKindOf = (errors: readonly UpstreamError[]): RefusalKind | null => {
  const kinds = new Set(errors.map((error) => (error instanceof RefusedReadingError ? error.kind : null)))
  const [kind] = kinds
  return kinds.size === 1 ? (kind ?? null) : null
}

const WRONG_ADDRESS =
  'The address looks wrong: check base_url, and that the service answers below it. A 404 alone marks no survey as missing'
const FORBIDDEN = 'Check which surveys this id and token may read'

/**
 * Watches each endpoint of the surveys. An endpoint that answers for none of many surveys is broken or forbidden as a whole, though
 * the other endpoints may go on answering: the run reads those, and ends as failed
 * (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */

interface EndpointFailure {
  readonly surveyId: number
  readonly error: UpstreamError
  /** The API refused the survey in an earlier run. */
  readonly wasRefused: boolean
}

export interface EndpointWatch {
  answered(kind: SurveyKind): void
  failed(kind: SurveyKind, failure: EndpointFailure): void
  /** It has failed again and again since its last answer. Until it answers, one attempt for each survey is enough. */
  isFailing(kind: SurveyKind): boolean
  /** The failure of every endpoint that answered for no survey; null without one. */
  verdict(warehouse: Pick<AccountWarehouse, 'answeredSurveys'>): Promise<UpstreamError | null>
}

/** Fewer surveys may fail by themselves. */
const SURVEYS_MIN = 5
/** So many failures in a row, each after all its retries. */
const FAILING_IN_A_ROW_MIN = 5

const NAMES: Readonly<Record<SurveyKind, string>> = {
  sample_sources: 'the list of sample sources',
  survey_progress: 'the fieldwork progress',
  sample_source_progress: 'the fieldwork progress of the sample sources',
  daily_progress: 'the fieldwork progress of single days',
}

interface Endpoint {
  readonly name: string
  hasAnswered: boolean
  failuresInARow: number
  /** The last failure of each survey. */
  readonly failures: Map<number, EndpointFailure>
}

export const createEndpointWatch = (): EndpointWatch => {
  const endpoints = new Map<SurveyKind, Endpoint>()
  const endpointOf = (kind: SurveyKind): Endpoint => {
    const found = endpoints.get(kind)
    if (found !== undefined) return found
    const added = { name: NAMES[kind], hasAnswered: false, failuresInARow: 0, failures: new Map() }
    endpoints.set(kind, added)
    return added
  }
  return {
    answered: (kind) => {
      const endpoint = endpointOf(kind)
      endpoint.hasAnswered = true
      endpoint.failuresInARow = 0
      endpoint.failures.clear()
    },
    failed: (kind, failure) => {
      const endpoint = endpointOf(kind)
      endpoint.failuresInARow += 1
      if (!endpoint.hasAnswered) endpoint.failures.set(failure.surveyId, failure)
    },
    isFailing: (kind) => endpointOf(kind).failuresInARow >= FAILING_IN_A_ROW_MIN,
    verdict: async (warehouse) => {
      const broken: Endpoint[] = []
      for (const [kind, endpoint] of endpoints) {
        if (endpoint.failures.size < SURVEYS_MIN) continue
        if (isBroken(endpoint, await warehouse.answeredSurveys(kind))) broken.push(endpoint)
      }
      const last = broken.map(({ failures }) => [...failures.values()].at(-1)?.error).at(-1)
      if (last === undefined) return null
      const errors = broken.flatMap(({ failures }) => [...failures.values()].map(({ error }) => error))
      return apiFailure(broken.map(problemOf).join('; '), last, onlyKindOf(errors))
    },
  }
}

/**
 * A survey that the endpoint refused before and never answered says nothing about the endpoint, unless it has never answered for any
 * survey. `answered` are the surveys that it answered in earlier runs.
 */
const isBroken = ({ failures }: Endpoint, answered: ReadonlySet<number>): boolean =>
  [...failures.values()].filter(
    ({ surveyId, wasRefused }) => !wasRefused || answered.size === 0 || answered.has(surveyId),
  ).length >= SURVEYS_MIN

const problemOf = ({ name, failures }: Endpoint): string => {
  const isRefused = [...failures.values()].every(({ error }) => error instanceof RefusedReadingError)
  return isRefused
    ? `the API refused ${name} of all ${failures.size} requested surveys`
    : `the API gave ${name} of none of the ${failures.size} requested surveys`
}
