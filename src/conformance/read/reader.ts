/** Reads the three endpoints of the API document and keeps all their answers. */
import { isDeepStrictEqual } from 'node:util'
import { excerptOf } from '../../http/receive.js'
import { INTERVIEW_STATUSES, integerOf, isObject, type JsonObject } from '../fields.js'
import { Unseen } from '../verdict.js'
import type { Answer, Credentials, Query, Sender } from './sender.js'

export type Endpoint = 'surveys' | 'sample_sources' | 'fieldwork_progress'

/** A page of a list: rows that are objects, and a pagination object. */
export interface ListReading {
  readonly request: string
  readonly endpoint: 'surveys' | 'sample_sources'
  readonly query: Query
  /** The requested page; 1 without the parameter. */
  readonly page: number
  readonly rows: readonly JsonObject[]
  readonly pagination: JsonObject
}

/** A progress object of a survey, of one of its sources, or of a window of time. */
export interface ProgressReading {
  readonly request: string
  readonly surveyId: number
  readonly query: Query
  readonly progress: JsonObject
  /** `individuals` of each status in the answer, if it is a whole number. */
  readonly counts: ReadonlyMap<string, number>
  /** Interviews of all statuses but `Ignored`; null if the count of a documented status cannot be read. */
  readonly total: number | null
}

/** An answer to a request that the API document allows. */
type EndpointAnswer = Answer & { readonly endpoint: Endpoint }

export type Reader = ReturnType<typeof createReader>

export const sourcesPath = (surveyId: number): string => `/surveys/${surveyId}/sample_sources`
export const progressPath = (surveyId: number): string => `/surveys/${surveyId}/fieldwork_progress`

const SHOWN_LENGTH_MAX = 60

export const createReader = (sender: Sender) => {
  const answers: EndpointAnswer[] = []
  const lists: ListReading[] = []
  const progresses: ProgressReading[] = []
  const rawAnswers = new Map<string, Promise<Answer>>()
  const ask = async (endpoint: Endpoint, path: string, query: Query) => {
    const answer = await sender.get(path, query)
    answers.push({ ...answer, endpoint })
    const { request, status, json, problem } = answer
    if (status !== 200) throw new Unseen(`${request} was answered with ${status}`)
    if (problem !== null) throw new Unseen(`the answer to ${request} is not JSON: ${problem}`)
    if (!isObject(json)) throw new Unseen(`the answer to ${request} is not an object`)
    return { request, body: json }
  }
  const list = async (
    endpoint: ListReading['endpoint'],
    path: string,
    query: Query,
  ): Promise<ListReading> => {
    const { request, body } = await ask(endpoint, path, query)
    const { [endpoint]: rows, pagination } = body
    if (!Array.isArray(rows)) throw new Unseen(`the answer to ${request} has no array ${endpoint}`)
    if (!isObject(pagination)) throw new Unseen(`the answer to ${request} has no object pagination`)
    const page = Number(query.find(([name]) => name === 'page')?.[1] ?? 1)
    const reading = { request, endpoint, query, page, rows: rows.filter(isObject), pagination }
    lists.push(reading)
    return reading
  }
  return {
    seen: { answers, lists, progresses } as const,
    /** `surveys`, `sources` and `progress` throw `Unseen` for an answer that cannot be used. */
    surveys: (query: Query = []) => list('surveys', '/surveys', query),
    sources: (surveyId: number, query: Query = []) => list('sample_sources', sourcesPath(surveyId), query),
    progress: async (surveyId: number, query: Query = []): Promise<ProgressReading> => {
      const { request, body } = await ask('fieldwork_progress', progressPath(surveyId), query)
      const { fieldwork_progress: progress } = body
      if (!isObject(progress)) throw new Unseen(`the answer to ${request} has no object fieldwork_progress`)
      const reading = { request, surveyId, query, progress, ...countsOf(progress) }
      progresses.push(reading)
      return reading
    },
    /** Sends a request that may be answered with another status than 200; equal requests are sent once. */
    raw: (path: string, query: Query = [], credentials: Credentials = 'both'): Promise<Answer> => {
      const key = JSON.stringify([path, query, credentials])
      const answer = rawAnswers.get(key) ?? sender.get(path, query, { credentials, isDescribed: false })
      rawAnswers.set(key, answer)
      return answer
    },
    /** A value as it may be printed: short, on one line, without secrets. */
    show: (value: unknown, lengthMax = SHOWN_LENGTH_MAX): string =>
      excerptOf(JSON.stringify(value) ?? 'missing', (text) => sender.redact(text), lengthMax),
  }
}

/** Ignored interviews do not count, also if a service shows them against the document. */
export const isIgnored = (status: string): boolean => status.toLowerCase() === 'ignored'

const countsOf = ({
  interview_count_by_status: byStatus,
}: JsonObject): Pick<ProgressReading, 'counts' | 'total'> => {
  const counts = new Map<string, number>()
  if (!isObject(byStatus)) return { counts, total: null }
  for (const [status, entry] of Object.entries(byStatus)) {
    const individuals = isObject(entry) ? integerOf(entry.individuals) : null
    if (individuals !== null) counts.set(status, individuals)
  }
  const isComplete = INTERVIEW_STATUSES.every((status) => counts.has(status))
  const shown = [...counts].filter(([status]) => !isIgnored(status))
  return { counts, total: isComplete ? shown.reduce((sum, [, count]) => sum + count, 0) : null }
}

/** A whole number of the pagination object; throws `Unseen` for any other value. */
export const paging = ({ pagination, request }: ListReading, name: string): number => {
  const value = integerOf(pagination[name])
  if (value === null) throw new Unseen(`${name} of ${request} is not a whole number`)
  return value
}

/** The ids of the rows, in their order; throws `Unseen` for a row without an id. */
export const idsOf = ({ rows, request }: ListReading): readonly number[] =>
  rows.map((row) => {
    const id = integerOf(row.id)
    if (id === null) throw new Unseen(`the id of a row of ${request} is not a whole number`)
    return id
  })

export const sameIds = (a: ListReading, b: ListReading): boolean => isDeepStrictEqual(idsOf(a), idsOf(b))

/** The surveys seen so far, each once, as it was last seen. */
export const surveysSeen = ({ seen }: Reader): readonly JsonObject[] => {
  const rows = seen.lists.flatMap((list) => (list.endpoint === 'surveys' ? list.rows : []))
  const known = rows.filter(({ id }) => Number.isSafeInteger(id))
  return [...new Map(known.map((row) => [row.id, row])).values()]
}
