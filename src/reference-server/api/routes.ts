/**
 * The API on HTTP: routes, and the one way every request under `/api/v1` takes. Path and method are looked at
 * first (404, 405), then credentials (401), then the cap (429), then faults, then parameters and records (400, 404).
 */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from '../answer.js'
import { deliver } from '../faults/deliver.js'
import type { ActingFault } from '../faults/fault-counter.js'
import type { FaultRegister } from '../faults/fault-register.js'
import { outcomeOf, statusOf } from '../faults/outcome.js'
import type { RequestLog } from '../request-log.js'
import type { Micros } from '../time/iso-time.js'
import type { WorldClock } from '../time/world-clock.js'
import { admit, type Member, memberOf } from './admission.js'
import type { Asked } from './endpoint.js'
import { ENDPOINTS } from './endpoints.js'
import { Refusal } from './refusal.js'
import type { RetryAfterStyle } from './retry-after.js'

export const API_PREFIX = '/api/v1'

export interface ApiContext {
  readonly members: readonly Member[]
  readonly clock: WorldClock
  /** Real time that never goes back, milliseconds: the cap is counted on it. */
  readonly monotonicMs: () => number
  /** What to add to `monotonicMs` for milliseconds since 1970. */
  readonly epochMs: number
  readonly log: RequestLog
  readonly pageSize: number
  readonly retryAfter: RetryAfterStyle
  readonly faults: FaultRegister
}

export const apiRoutes =
  (context: ApiContext): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const endpoint of ENDPOINTS) {
      const path = endpoint.path.replace('{SURVEY_ID}', ':surveyId')
      app.get<{ Params: { surveyId?: string } }>(path, (request, reply) =>
        serve(context, request, reply, {
          paged: 'page' in endpoint.query.shape,
          tell: (asked) =>
            endpoint.tell({
              ...asked,
              surveyId: request.params.surveyId ?? '',
              pageSize: context.pageSize,
            }),
        }),
      )
    }
    app.setNotFoundHandler((request, reply) => serveNoRoute(context, request, reply))
    done()
  }

/** Answers a request under `/api/v1` that no route takes. */
export const serveNoRoute = (context: ApiContext, request: FastifyRequest, reply: FastifyReply): void =>
  serve(context, request, reply, null)

/** What is asked of an endpoint, past its path. */
interface Served {
  /** Whether its answers are pages of a list. */
  readonly paged: boolean
  tell(asked: Omit<Asked, 'surveyId' | 'pageSize'>): unknown
}

/** `endpoint` is null for a path or method that the API does not have. */
const serve = (
  context: ApiContext,
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: Served | null,
): void => {
  const arrivedMs = context.monotonicMs()
  const at = context.clock.now()
  const { path, query } = splitUrl(request.url)
  const member = memberOf(context.members, request.headers)
  let faults: readonly ActingFault[] = []
  const answer = answerOf(at, () => {
    if (endpoint === null) throw refusalOfRoute(path)
    const organization = admit(member, { nowMs: arrivedMs, at }, context.retryAfter)
    const asked = { organization, at, query: new URLSearchParams(query) }
    const account = organization.identity.name
    faults = context.faults.meet({ account, path, query: asked.query, paged: endpoint.paged })
    return endpoint.tell(asked)
  })
  const outcome = outcomeOf(answer, faults)
  context.log.add({
    at_ms: context.epochMs + arrivedMs,
    account: member?.organization.identity.name ?? null,
    method: request.method,
    path,
    query,
    status: statusOf(outcome),
    faults: faults.map(({ place }) => place),
  })
  deliver(request, reply, outcome)
}

const answerOf = (at: Micros, tell: () => unknown): Answer => {
  try {
    return { status: 200, headers: {}, body: tell(), at }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, headers: error.headers, body: { error: error.message }, at }
  }
}

const KNOWN_PATHS = ENDPOINTS.map(
  ({ path }) => new RegExp(`^${API_PREFIX}${path.replace('{SURVEY_ID}', '[^/]+')}$`),
)

/** The API document has three paths and, on each, GET alone. */
const refusalOfRoute = (path: string): Refusal => {
  if (!isDecodable(path)) return undecodablePath()
  return KNOWN_PATHS.some((known) => known.test(path))
    ? new Refusal(405, 'only GET is possible here', { allow: 'GET' })
    : new Refusal(404, 'there is no such path')
}

/** A percent sign in the path that is none. */
export const undecodablePath = (): Refusal =>
  new Refusal(400, 'the path cannot be decoded: in a path, a percent sign is written %25')

const isDecodable = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

const splitUrl = (url: string): { readonly path: string; readonly query: string } => {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
}
