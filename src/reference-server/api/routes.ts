/**
 * The API on HTTP: routes, and the one way every request under `/api/v1` takes. Path and method are looked at
 * first (404, 405), then credentials (401), then the cap (429), then parameters and records (400, 404).
 */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, send } from '../answer.js'
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
}

export const apiRoutes =
  (context: ApiContext): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const endpoint of ENDPOINTS) {
      const path = endpoint.path.replace('{SURVEY_ID}', ':surveyId')
      app.get<{ Params: { surveyId?: string } }>(path, (request, reply) =>
        serve(context, request, reply, ({ organization, at, query }) =>
          endpoint.tell({
            organization,
            at,
            query,
            surveyId: request.params.surveyId ?? '',
            pageSize: context.pageSize,
          }),
        ),
      )
    }
    app.setNotFoundHandler((request, reply) => serve(context, request, reply, null))
    done()
  }

const serve = (
  context: ApiContext,
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: ((asked: Omit<Asked, 'surveyId' | 'pageSize'>) => unknown) | null,
): FastifyReply => {
  const arrivedMs = context.monotonicMs()
  const at = context.clock.now()
  const { path, query } = splitUrl(request.url)
  const member = memberOf(context.members, request.headers)
  const answer = answerOf(at, () => {
    if (endpoint === null) throw refusalOfRoute(path)
    const organization = admit(member, { nowMs: arrivedMs, at }, context.retryAfter)
    return endpoint({ organization, at, query: new URLSearchParams(query) })
  })
  context.log.add({
    at_ms: context.epochMs + arrivedMs,
    account: member?.organization.identity.name ?? null,
    method: request.method,
    path,
    query,
    status: answer.status,
  })
  return send(request, reply, answer)
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
const refusalOfRoute = (path: string): Refusal =>
  KNOWN_PATHS.some((known) => known.test(path))
    ? new Refusal(405, 'only GET is possible here', { allow: 'GET' })
    : new Refusal(404, 'there is no such path')

const splitUrl = (url: string): { readonly path: string; readonly query: string } => {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
}
