/** The reference server's endpoints, asked without a server: every request arrives, and is answered as of one moment. */
import { Readable } from 'node:stream'
import type { CreateTransport, TransportAnswer } from '../../../src/http/transport.js'
import { ENDPOINTS } from '../../../src/reference-server/api/endpoints.js'
import { Refusal } from '../../../src/reference-server/api/refusal.js'
import { API_PREFIX } from '../../../src/reference-server/api/routes.js'
import type { Micros } from '../../../src/reference-server/time/iso-time.js'
import type { Organization } from '../../../src/reference-server/world/organization.js'
import { PAGE_SIZE } from './bounds.js'

/** What arrived in one night. */
export interface Arrivals {
  /** When, on the monotonic clock, milliseconds. */
  readonly atMs: number[]
  /** Requests whose answer was the same when it was asked for last, by what is asked for. */
  readonly repeated: Record<'lists' | 'sources' | 'progress' | 'progressBySource', number>
}

export interface MonthApi {
  /** What asks in this night is answered as of `at`. */
  open(at: Micros): { readonly createTransport: CreateTransport; readonly arrivals: Arrivals }
}

/** There and back, milliseconds. */
const LATENCY_MS = 120

export const createApi = (organization: Organization): MonthApi => {
  /** The last answer to each request. */
  const told = new Map<string, string>()
  const open = (at: Micros) => {
    const arrivals: Arrivals = {
      atMs: [],
      repeated: { lists: 0, sources: 0, progress: 0, progressBySource: 0 },
    }
    const headers = new Map([['date', new Date(at / 1_000).toUTCString()]])
    const get = async ({ target }: { readonly target: string }): Promise<TransportAnswer> => {
      await pass(LATENCY_MS / 2)
      arrivals.atMs.push(performance.now())
      const { status, body } = answerTo(organization, at, target)
      const text = JSON.stringify(body)
      if (told.get(target) === text) arrivals.repeated[kindOf(target)] += 1
      told.set(target, text)
      await pass(LATENCY_MS / 2)
      return {
        status,
        header: (name) => headers.get(name) ?? null,
        headerNames: [...headers.keys()],
        // undici's body is a Readable with a few readers of its own, which the client does not use.
        body: Readable.from([Buffer.from(text)]) as unknown as TransportAnswer['body'],
      }
    }
    return { arrivals, createTransport: () => ({ get, destroy: async () => undefined }) }
  }
  return { open }
}

const kindOf = (target: string): keyof Arrivals['repeated'] => {
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
  try {
    return { status: 200, body: tell(organization, at, target) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, body: { error: error.message } }
  }
}

const tell = (organization: Organization, at: Micros, target: string): unknown => {
  const { pathname, searchParams: query } = new URL(target, 'http://127.0.0.1')
  for (const { endpoint, pattern } of ROUTES) {
    const match = pattern.exec(pathname)
    if (match === null) continue
    return endpoint.answerTo({ organization, at, surveyId: match[1] ?? '', query, pageSize: PAGE_SIZE })
  }
  throw new Error(`no endpoint for ${target}`)
}

/** The most that arrived in any stretch of so many milliseconds. */
export const mostInAny = (perMs: number, atMs: readonly number[]): number => {
  let most = 0
  for (let first = 0, last = 0; last < atMs.length; last += 1) {
    while ((atMs[last] ?? 0) - (atMs[first] ?? 0) >= perMs) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}
