/**
 * An API whose answers a test decides. It holds a handful of surveys in memory, which the test may edit during a sync.
 * A hook sees each request first and may answer it itself. All other answers follow the API document.
 * The reference server cannot do this: its world is a function of seed, size, start and clock.
 */
import { EventEmitter } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import type { Finished } from '../files/temporary.js'
import { listen } from '../servers/server.js'
import {
  answerOf,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  pageOf,
  SAMPLE_SOURCE,
  SURVEY,
} from './api-document.js'

export type Json = Record<string, unknown>

export interface ScriptedSurvey {
  /** API document, "Survey". */
  survey: Json & { id: number; created_at: string; updated_at: string }
  sources: (Json & { id: number })[]
  progress: Json
  /** By source id. A source without an entry gets the survey's progress. */
  sourceProgress: Record<number, Json>
}

export interface Arrival {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Its number among all requests, from 1. */
  readonly number: number
  /** Real time of the arrival, milliseconds. */
  readonly atMs: number
}

/** Sends the answer and resolves to true, or leaves the answer to the script. */
export type Hook = (
  arrival: Arrival,
  response: ServerResponse,
) => boolean | undefined | Promise<boolean | undefined>

export interface ScriptedApi {
  readonly baseUrl: string
  readonly surveys: ScriptedSurvey[]
  readonly arrivals: Arrival[]
  /** The server's clock, sent in the `Date` header. */
  now: Date
  pageSize: number
  hook: Hook
  /** Resolves with the next arrival that matches. */
  arrived(match: (arrival: Arrival) => boolean): Promise<Arrival>
  /** The environment that `sync` needs to reach this API. */
  readonly env: Readonly<Record<string, string>>
}

export const TOKEN = 'tok-5cdd6e0a94b1-secret'

export const startScriptedApi = async (
  surveys: ScriptedSurvey[] = [],
  finished: Finished = onTestFinished,
): Promise<ScriptedApi> => {
  const arrivals = new EventEmitter().setMaxListeners(0)
  const server = createServer((request, response) => {
    answer(api, arrivals, request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    )
  })
  const baseUrl = `http://127.0.0.1:${await listen(server, finished)}/api/v1`
  const api: ScriptedApi = {
    baseUrl,
    surveys,
    arrivals: [],
    now: new Date('2026-03-01T00:00:00Z'),
    pageSize: 50,
    hook: () => undefined,
    arrived: (match) =>
      new Promise((resolve) => {
        const look = (arrival: Arrival) => {
          if (!match(arrival)) return
          arrivals.off('arrival', look)
          resolve(arrival)
        }
        arrivals.on('arrival', look)
      }),
    env: {
      FIELDWORK_SYNC_BASE_URL: baseUrl,
      FIELDWORK_SYNC_API_ID: '4711',
      FIELDWORK_SYNC_API_TOKEN: TOKEN,
      FIELDWORK_SYNC_RATE_LIMIT: '1000/1s',
    },
  }
  return api
}

const answer = async (
  api: ScriptedApi,
  arrivals: EventEmitter,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const url = new URL(request.url ?? '/', api.baseUrl)
  const arrival: Arrival = {
    path: url.pathname.replace(/^\/api\/v1/, ''),
    query: url.searchParams,
    headers: request.headers,
    number: api.arrivals.length + 1,
    atMs: performance.now(),
  }
  api.arrivals.push(arrival)
  arrivals.emit('arrival', arrival)
  response.sendDate = false
  if (await api.hook(arrival, response)) return
  const body = bodyOf(api, arrival)
  sendJson(api, response, body === null ? 404 : 200, body ?? { error: 'not found' })
}

export const sendJson = (api: ScriptedApi, response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json', date: api.now.toUTCString() })
  response.end(JSON.stringify(body))
}

/** A hook that answers matching requests with `status`, and leaves all others to the script. */
export const refusing =
  (
    api: ScriptedApi,
    status: number,
    matches: (arrival: Arrival) => boolean = () => true,
    headers: Readonly<Record<string, string>> = {},
  ): Hook =>
  (arrival, response) => {
    if (!matches(arrival)) return false
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    sendJson(api, response, status, { error: 'no' })
    return true
  }

/** The script's own answer; null is a 404. Hooks use it to change only a part of an answer. */
export const bodyOf = (api: ScriptedApi, { path, query }: Arrival): Json | null => {
  if (path === '/surveys') return surveyPage(api, query)
  const [, id, resource] = /^\/surveys\/(\d+)\/(sample_sources|fieldwork_progress)$/.exec(path) ?? []
  const found = api.surveys.find(({ survey }) => survey.id === Number(id))
  if (found === undefined) return null
  if (resource === 'sample_sources') {
    const { rows, pagination } = paged(api, query, found.sources)
    return { sample_sources: rows, pagination }
  }
  const sourceId = query.get('sample_source_id')
  if (sourceId === null) return { fieldwork_progress: found.progress }
  if (!found.sources.some((source) => source.id === Number(sourceId))) return null
  return { fieldwork_progress: found.sourceProgress[Number(sourceId)] ?? found.progress }
}

const surveyPage = (api: ScriptedApi, query: URLSearchParams): Json => {
  const since = query.get('updated_since')
  const listed = api.surveys
    .map(({ survey }) => survey)
    .filter((survey) => since === null || Date.parse(survey.updated_at) >= Date.parse(since))
    .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) || b.id - a.id)
  const { rows, pagination } = paged(api, query, listed)
  return { surveys: rows, pagination }
}

const paged = (api: ScriptedApi, query: URLSearchParams, all: readonly Json[]) =>
  pageOf(all, Number(query.get('page') ?? 1), api.pageSize)

/** A survey in field with `sources` sources (ids `id * 100 + 1` …), created `id` minutes after New Year 2026. */
export const scriptedSurvey = (id: number, change: Json = {}, sources = 2): ScriptedSurvey => {
  const at = new Date(Date.UTC(2026, 0, 1, 0, id % 1_000_000)).toISOString()
  const named = { title: `Survey ${id}`, hashid: `s${id}`, status: 'fieldwork' }
  return {
    survey: { ...answerOf(SURVEY, named), id, created_at: at, updated_at: at, ...change },
    sources: Array.from({ length: sources }, (_, index) => scriptedSource(id * 100 + index + 1, at)),
    progress: scriptedProgress(10),
    sourceProgress: {},
  }
}

/** Surveys with the ids 1 to `count`, alike. */
export const scriptedSurveys = (count: number, change: Json = {}, sources = 2): ScriptedSurvey[] =>
  Array.from({ length: count }, (_, index) => scriptedSurvey(index + 1, change, sources))

export const scriptedSource = (id: number, at: string, change: Json = {}): Json & { id: number } => {
  const named = { name: `S${id}`, description: `Source ${id}`, hashid: `h${id}`, country_code: 'FR' }
  return {
    ...answerOf(SAMPLE_SOURCE, { ...named, sample_size: 100, created_at: at, updated_at: at }),
    id,
    ...change,
  }
}

/** Progress with `complete` complete interviews and no others. */
export const scriptedProgress = (complete: number, change: Json = {}): Json =>
  answerOf(FIELDWORK_PROGRESS, {
    sample_size: 200,
    interviews_count: complete,
    interview_count_by_status: Object.fromEntries(
      INTERVIEW_STATUSES.map((status) => [
        status,
        status === 'complete'
          ? { individuals: complete, percentage: 100 }
          : { individuals: 0, percentage: 0 },
      ]),
    ),
    completion_rate: complete / 200,
    drop_out_rate: 0,
    length_of_interview: 300,
    ...change,
  })

/** Environment in which no account is set, because the settings file has all of them. */
export const NO_ACCOUNT = Object.fromEntries(
  ['BASE_URL', 'API_ID', 'API_TOKEN', 'RATE_LIMIT'].map((name) => [`FIELDWORK_SYNC_${name}`, undefined]),
)
