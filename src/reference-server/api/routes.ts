/**
 * Serves the API on HTTP. Every request under `/api/v1` passes the same checks in the same order: path and method (404,
 * 405), credentials (401), the cap (429), faults, then parameters and records (400, 404).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, Refusal, refused } from '../answer.js'
import { succeeds } from '../faults/declaration.js'
import { type createFaults, deliver, outcomeOf } from '../faults/faults.js'
import type { ReferenceServerSettings } from '../options.js'
import type { createRequestLog } from '../request-log.js'
import type { createWorldClock, Micros } from '../time.js'
import type { Organization } from '../world/organization.js'
import { ENDPOINTS } from './endpoints.js'
import { API_PREFIX, type Endpoint } from './operation.js'
import { type Admit, retryAfterHeaders } from './rate-limit.js'

interface Member {
  readonly organization: Organization
  readonly admit: Admit
}

/** The state that all routes of a server share, the API's and the ones under `/_reference`. */
export interface ServerContext {
  readonly settings: ReferenceServerSettings
  readonly organizations: readonly Organization[]
  /** The organizations, each with its cap. */
  readonly members: readonly Member[]
  readonly clock: ReturnType<typeof createWorldClock>
  readonly log: ReturnType<typeof createRequestLog>
  readonly faults: ReturnType<typeof createFaults>
}

export const apiRoutes =
  (context: ServerContext): FastifyPluginCallback =>
  (app, _options, done) => {
    for (const endpoint of ENDPOINTS) {
      const path = endpoint.path.replace('{SURVEY_ID}', ':surveyId')
      app.get<{ Params: { surveyId?: string } }>(path, (request, reply) =>
        serve(context, request, reply, { endpoint, surveyId: request.params.surveyId ?? '' }),
      )
    }
    app.setNotFoundHandler((request, reply) => serveNoRoute(context, request, reply))
    done()
  }

/** Answers a request under `/api/v1` that has no route. */
export const serveNoRoute = (context: ServerContext, request: FastifyRequest, reply: FastifyReply): void =>
  serve(context, request, reply, null)

/** `target` is null for a path or method that the API lacks. */
const serve = (
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  target: { readonly endpoint: Endpoint; readonly surveyId: string } | null,
): void => {
  // The cap is counted on real time that never goes back.
  const arrivedMs = performance.now()
  const at = context.clock.now()
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(request.url) ?? []
  const { settings } = context
  const member = memberOf(context.members, request.headers)
  let faults: ReturnType<ServerContext['faults']['actingOn']> = []
  const answer = answerOf(at, () => {
    if (target === null) throw refusalOfRoute(path)
    const { endpoint, surveyId } = target
    const { organization } = admit(member, arrivedMs, at, settings.retryAfter)
    const parameters = new URLSearchParams(query)
    faults = context.faults.actingOn({ path, query: parameters, paged: 'page' in endpoint.query.shape })
    return endpoint.answerTo({ organization, at, surveyId, query: parameters, pageSize: settings.pageSize })
  })
  const outcome = outcomeOf(answer, faults)
  context.log.add({
    at_ms: performance.timeOrigin + arrivedMs,
    account: member?.organization.identity.name ?? null,
    method: request.method,
    path,
    query,
    status: outcome.status,
    faults: faults.map(({ index }) => index),
  })
  deliver(request, reply, outcome)
}

const answerOf = (at: Micros, bodyOf: () => unknown): Answer => {
  try {
    return { status: 200, headers: {}, body: bodyOf(), at }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return refused(error, at)
  }
}

/** The member that these headers name (API document, "Authentication"); null when either header is missing or wrong. */
const memberOf = (members: readonly Member[], headers: IncomingHttpHeaders): Member | null =>
  members.find(
    ({ organization: { identity } }) =>
      headers['authorization-id'] === String(identity.id) &&
      headers['authorization-token'] === identity.token,
  ) ?? null

/**
 * Counts a request against the cap of `member`, or throws its refusal. The request arrived at `nowMs` of real time, at `at` of the world's
 * time.
 */
const admit = (
  member: Member | null,
  nowMs: number,
  at: Micros,
  retryAfter: ReferenceServerSettings['retryAfter'],
): Member => {
  if (member === null) {
    throw new Refusal(401, 'Authorization-ID and Authorization-Token must both be sent, and belong together')
  }
  const waitMs = member.admit(nowMs)
  if (waitMs === 0) return member
  throw new Refusal(
    429,
    'too many requests: wait before the next one',
    retryAfterHeaders(retryAfter, waitMs, at),
  )
}

const KNOWN_PATHS = ENDPOINTS.map(
  ({ path }) => new RegExp(`^${API_PREFIX}${path.replace('{SURVEY_ID}', '[^/]+')}$`),
)

/** The API document has three paths, each with GET only. */
const refusalOfRoute = (path: string): Refusal => {
  if (!succeeds(() => decodeURIComponent(path))) return undecodablePath()
  return KNOWN_PATHS.some((known) => known.test(path))
    ? new Refusal(405, 'only GET is possible here', { allow: 'GET' })
    : noSuchPath()
}

export const noSuchPath = (): Refusal => new Refusal(404, 'there is no such path')

/** For a path with a percent sign that encodes nothing. */
export const undecodablePath = (): Refusal =>
  new Refusal(400, 'the path cannot be decoded: in a path, a percent sign is written %25')
