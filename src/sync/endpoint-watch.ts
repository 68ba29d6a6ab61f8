/**
 * Watches each endpoint of the surveys. An endpoint that answers for none of many surveys is broken or forbidden as a whole, though
 * the other endpoints may go on answering: the run reads those, and ends as failed
 * (docs/decisions/bundles-and-refusals.md#0006-a-failed-request-is-a-failed-reading-of-one-endpoint).
 */
import type { UpstreamError } from '../base/errors.js'
import type { SurveyKind } from '../model/request-usage.js'
import { RefusedReadingError } from '../model/survey-source.js'
import type { AccountWarehouse } from '../model/warehouse.js'
import { apiFailure, onlyKindOf } from './failure-watch.js'

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
