/** The reference server's endpoints, called without a server. All requests of a night are answered as of one moment. */
import type { Received } from '../../../src/http/receive.js'
import type { CreateTransport } from '../../../src/http/transport.js'
import { Refusal } from '../../../src/reference-server/answer.js'
import { ENDPOINTS } from '../../../src/reference-server/api/endpoints.js'
import { API_PREFIX } from '../../../src/reference-server/api/operation.js'
import type { Micros } from '../../../src/reference-server/time.js'
import type { Organization } from '../../../src/reference-server/world/organization.js'
import { PAGE_SIZE } from './organization.js'

type Kind = 'lists' | 'sources' | 'progress' | 'progressBySource'

/** The requests of one night. */
export interface Arrivals {
  /** The time of each request on the monotonic clock, milliseconds. */
  readonly atMs: number[]
  /** How many requests got the same answer as the last time, by kind. */
  readonly repeated: Record<Kind, number>
  /** How many of them were made for the second time in this night. */
  readonly again: Record<Kind, number>
  /** How many pages of surveys were requested. */
  pages: number
}

/** Milliseconds from a request to its answer. */
const LATENCY_MS = 120

/** Returns the function that starts a night. */
export const createApi = (organization: Organization) => {
  /** The last answer to each request. */
  const lastAnswers = new Map<string, string>()
  return (at: Micros): { readonly createTransport: CreateTransport; readonly arrivals: Arrivals } => {
    const arrivals: Arrivals = {
      atMs: [],
      repeated: { lists: 0, sources: 0, progress: 0, progressBySource: 0 },
      again: { lists: 0, sources: 0, progress: 0, progressBySource: 0 },
      pages: 0,
    }
    const targets = new Set<string>()
    const headers = { date: new Date(at / 1_000).toUTCString() }
    const get = async ({ target }: { readonly target: string }): Promise<Received> => {
      await pass(LATENCY_MS / 2)
      arrivals.atMs.push(performance.now())
      const { status, body } = answerTo(organization, at, target)
      const text = JSON.stringify(body)
      const kind = kindOf(target)
      if (kind === 'lists') arrivals.pages += 1
      if (lastAnswers.get(target) === text) {
        arrivals.repeated[kind] += 1
        if (targets.has(target)) arrivals.again[kind] += 1
      }
      targets.add(target)
      lastAnswers.set(target, text)
      await pass(LATENCY_MS / 2)
      return {
        status,
        headers,
        read: async () => Buffer.from(text),
        [Symbol.dispose]: () => undefined,
      }
    }
    return { arrivals, createTransport: () => ({ get, destroy: async () => undefined }) }
  }
}

const kindOf = (target: string): Kind => {
  if (target.includes('sample_source_id=')) return 'progressBySource'
  if (target.includes('/fieldwork_progress')) return 'progress'
  return target.includes('/sample_sources') ? 'sources' : 'lists'
}

const pass = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs))

const ROUTES = ENDPOINTS.map((endpoint) => ({
  endpoint,
  pattern: new RegExp(`^${API_PREFIX}${endpoint.path.replace('{SURVEY_ID}', '([^/]+)')}$`),
}))

const answerTo = (organization: Organization, at: Micros, target: string) => {
  const { pathname, searchParams: query } = new URL(target, 'http://127.0.0.1')
  const route = ROUTES.find(({ pattern }) => pattern.test(pathname))
  if (route === undefined) throw new Error(`no endpoint for ${target}`)
  const surveyId = route.pattern.exec(pathname)?.[1] ?? ''
  try {
    return {
      status: 200,
      body: route.endpoint.answerTo({ organization, at, surveyId, query, pageSize: PAGE_SIZE }),
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, body: { error: error.message } }
  }
}
