/**
 * The routes under `/_reference`: each declared once, with its answer like the resources of the API, for the server and the OpenAPI
 * document. None needs credentials, counts against the cap or appears in the request log.
 */
import { Readable } from 'node:stream'
import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { JSON_TYPE, Refusal, send } from '../answer.js'
import { momentParameter, type Operation, readQuery } from '../api/operation.js'
import type { ServerContext } from '../api/routes.js'
import { faultSchema, faultsSchema } from '../faults/declaration.js'
import { loggedRequest } from '../request-log.js'
import { moment, object, text, wholeNumber } from '../resources.js'
import { formatHttpDate, formatUtc, parseIsoDuration, parseIsoTime } from '../time.js'
import type { Organization } from '../world/organization.js'
import { FOREIGN } from './same-origin.js'
import { changeList, changesBetween, truth, truthText } from './truth.js'

const worldTime = object('WorldTime', "The world's clock", {
  now: moment("The world's time"),
  clock: text('Its speed: `real`, `frozen`, or a factor such as `600x`'),
})

/** The body of `POST /_reference/time`. */
const timeSetting = z
  .union([
    z.strictObject({
      advance: text(
        'How far to move forward: an ISO 8601 duration of weeks, days, hours, minutes and seconds',
      ),
    }),
    z.strictObject({ set: moment('The new time, later or earlier') }),
  ])
  .meta({ description: 'How to move the clock', examples: [{ advance: 'PT6H' }] })

const requestList = object('RequestList', 'The requests that reached the API, including refused ones', {
  requests: z.array(loggedRequest).meta({ description: 'In the order of arrival' }),
  dropped: wholeNumber('How many of the oldest were dropped'),
})

/** The schemas are the same for every world, so any world will do. */
const ANYWHERE = () => true

const countedFaults = z
  .array(
    faultSchema(ANYWHERE).extend({
      matched: wholeNumber('How many requests it matched, including those on which it did not act'),
      acted: wholeNumber('How often it acted'),
    }),
  )
  .meta({ description: 'The faults as declared, with how often each matched and acted' })

export interface ControlOperation extends Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** The body of an answer 200. Throws a `Refusal`. Absent if the route sends its answer itself. */
  readonly answerTo?: (context: ServerContext, request: FastifyRequest) => unknown
}

const account = z.string().optional().meta({ description: 'Name of the only account to show' })

const changesQuery = z.object({
  account,
  from: momentParameter('Shows changes after this moment'),
  to: momentParameter('Shows changes up to and including this moment'),
})

const NO_ACCOUNT = 'There is no such account'

const operation = (
  method: ControlOperation['method'],
  path: string,
  operationId: string,
  declared: Omit<ControlOperation, 'method' | 'path' | 'operationId'>,
): ControlOperation => ({
  method,
  path,
  operationId,
  ...declared,
  refusals: { ...declared.refusals, 403: FOREIGN },
})

export const CONTROL_OPERATIONS: readonly ControlOperation[] = [
  operation('get', '/time', 'readTime', {
    summary: "Read the world's clock",
    description: "The moment that the API's answers describe.",
    answer: worldTime,
    answerTo: timeOf,
  }),
  operation('post', '/time', 'moveTime', {
    summary: "Move the world's clock",
    description: 'Forward by a duration, or to any moment, also an earlier one. The world moves with it.',
    body: timeSetting,
    answer: worldTime,
    refusals: { 400: 'Neither a duration nor a moment, or one that is out of reach of the clock' },
    answerTo: moveTime,
  }),
  operation('get', '/requests', 'listRequests', {
    summary: 'List the requests that reached the API',
    description: 'Each arrival under `/api/v1` with its real time, including refused ones.',
    answer: requestList,
    answerTo: ({ log }) => log.list(),
  }),
  operation('delete', '/requests', 'forgetRequests', {
    summary: 'Clear the list of requests',
    description: 'The list starts again from empty.',
    answer: requestList,
    answerTo: ({ log }) => log.clear(),
  }),
  operation('get', '/faults', 'listFaults', {
    summary: 'List the faults',
    description: 'As declared, completed by the defaults, with how often each matched and acted.',
    answer: countedFaults,
    answerTo: ({ faults }) => faults.list(),
  }),
  operation('put', '/faults', 'replaceFaults', {
    summary: 'Replace all faults',
    description: 'Counting starts again from 0, and forgotten surveys come back.',
    body: faultsSchema(ANYWHERE).meta({
      description: 'The faults that replace all others',
      examples: [[{ match: { path: '/surveys', page: 2 }, action: { status: 503 } }]],
    }),
    answer: countedFaults,
    refusals: {
      400: 'Faults that cannot be used, a line for each problem; nothing is replaced',
      413: 'More than 1 MiB',
    },
    answerTo: ({ faults }, request) =>
      faults.replace(jsonOf(request, 'the body is not JSON: send a list of faults, [] for none')),
  }),
  operation('delete', '/faults', 'removeFaults', {
    summary: 'Remove all faults',
    description: 'Forgotten surveys come back.',
    answer: countedFaults,
    answerTo: ({ faults }) => faults.replace([]),
  }),
  operation('get', '/truth', 'readTruth', {
    summary: 'Read everything that the API shows at this moment',
    description: 'Without pages, filters and cap: a test compares its tables with it.',
    query: z.object({
      account,
      only: z.enum(['surveys']).optional().meta({ description: '`surveys` leaves out sources and progress' }),
    }),
    answer: truth,
    refusals: { 404: NO_ACCOUNT },
  }),
  operation('get', '/changes', 'listChanges', {
    summary: 'List what changes in the world between two moments',
    description:
      'Past or future, so that a test can find a survey that changes while it runs. Interviews are left out.',
    query: changesQuery,
    answer: changeList,
    refusals: { 400: 'A bound is missing or not a moment, or there are too many changes', 404: NO_ACCOUNT },
    answerTo: changesIn,
  }),
  operation('get', '/openapi.json', 'readOpenApi', {
    summary: 'Read this document',
    description:
      'OpenAPI 3.1, made from the declarations by which requests are parsed, with the settings of this server and examples from its world. `/_reference` redirects to it.',
    answer: z.looseObject({ openapi: z.string() }).meta({ description: 'This document' }),
  }),
]

/** Serves the control routes. */
export const controlRoutes =
  (context: ServerContext): FastifyPluginCallback =>
  (app, _options, done) => {
    const { organizations, clock } = context
    for (const { method, path, answerTo } of CONTROL_OPERATIONS)
      if (answerTo !== undefined)
        app[method](path, (request, reply) =>
          send(request, reply, {
            status: 200,
            headers: {},
            body: answerTo(context, request),
            at: clock.now(),
          }),
        )
    app.get('/truth', (request, reply) => {
      const query = queryOf(request)
      const at = clock.now()
      const text = truthText(named(organizations, query), at, query.get('only') === 'surveys')
      return reply.headers({ date: formatHttpDate(at), 'content-type': JSON_TYPE }).send(Readable.from(text))
    })
    done()
  }

/** The body of `request`. Refuses a body that is not JSON. `hint` says what to send. */
const jsonOf = ({ body }: FastifyRequest, hint: string): unknown => {
  try {
    return JSON.parse(typeof body === 'string' ? body : '')
  } catch {
    throw new Refusal(400, hint)
  }
}

function timeOf({ clock, settings }: ServerContext) {
  return { now: formatUtc(clock.now()), clock: settings.clock.label }
}

const TIME_HINT = 'send {"advance": "PT6H"} or {"set": "2026-03-01T00:00:00Z"}'

function moveTime(context: ServerContext, request: FastifyRequest) {
  const { clock } = context
  const setting = timeSetting.safeParse(jsonOf(request, TIME_HINT)).data
  if (setting === undefined) throw new Refusal(400, TIME_HINT)
  const by = 'set' in setting ? null : parseIsoDuration(setting.advance)
  const at = 'set' in setting ? parseIsoTime(setting.set) : by === null ? null : clock.now() + by
  if (at === null) {
    throw new Refusal(
      400,
      `${JSON.stringify(setting)}: advance takes an ISO 8601 duration of weeks, days, hours, minutes and seconds, set a date-time with an offset; ${TIME_HINT}`,
    )
  }
  if (clock.set(at)) return timeOf(context)
  throw new Refusal(400, `the clock goes from ${formatUtc(clock.earliest)} to ${formatUtc(clock.latest)}`)
}

const queryOf = (request: FastifyRequest): URLSearchParams =>
  new URL(request.url, 'http://localhost').searchParams

const named = (organizations: readonly Organization[], query: URLSearchParams): readonly Organization[] => {
  const name = query.get('account')
  if (name === null) return organizations
  const named = organizations.filter(({ identity }) => identity.name === name)
  if (named.length === 0) throw new Refusal(404, `there is no account ${JSON.stringify(name)}`)
  return named
}

const CHANGES_MAX = 200_000

function changesIn({ organizations, clock }: ServerContext, request: FastifyRequest) {
  const query = queryOf(request)
  const { from, to } = readQuery(changesQuery, query)
  if (to > clock.latest) throw new Refusal(400, `the world ends at ${formatUtc(clock.latest)}`)
  const changes = changesBetween(named(organizations, query), from, to)
  if (changes.length <= CHANGES_MAX) return { changes }
  throw new Refusal(400, `${changes.length} changes, the most is ${CHANGES_MAX}: narrow the range`)
}
