/**
 * The levers and windows beside the API, under `/_reference`: no credentials, no cap, not in the request log.
 *
 * - `GET /_reference/time` → `{"now", "clock"}`; `POST` with `{"advance": "PT6H"}` (forward) or `{"set": "<ISO>"}`
 *   (either way) moves the clock and answers the same.
 * - `GET /_reference/requests` → `{"requests": [{at_ms, account, method, path, query, status, faults}], "dropped"}`;
 *   `DELETE` forgets them.
 * - `GET /_reference/faults` → the faults as they stand, each with `matched` and `acted`; `PUT` with a list replaces
 *   them all and answers the same, `DELETE` is `PUT []`.
 * - `GET /_reference/truth` → everything the API would tell now; `?account=<name>`, `?only=surveys`.
 * - `GET /_reference/changes?from=<ISO>&to=<ISO>` → `{"changes": [{account, survey_id, at, what, …}]}` after
 *   `from`, up to and including `to`, in the order of time; `?account=<name>`.
 */
import { Readable } from 'node:stream'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { send } from '../answer.js'
import { readQuery } from '../api/query.js'
import { Refusal } from '../api/refusal.js'
import type { FaultRegister } from '../faults/fault-register.js'
import type { RequestLog } from '../request-log.js'
import { formatHttpDate, formatUtc } from '../time/iso-time.js'
import type { WorldClock } from '../time/world-clock.js'
import type { Organization } from '../world/organization.js'
import { changesBetween } from './changes.js'
import { changesQuery } from './operations.js'
import { setFaults } from './set-faults.js'
import { setTime } from './set-time.js'
import { truthText } from './truth.js'

export interface ControlContext {
  readonly organizations: readonly Organization[]
  readonly clock: WorldClock
  readonly log: RequestLog
  readonly faults: FaultRegister
}

/** A longer list of changes is refused: the range is to be narrowed. */
const CHANGES_MAX = 200_000

export const controlRoutes =
  ({ organizations, clock, log, faults }: ControlContext): FastifyPluginCallback =>
  (app, _options, done) => {
    const tell = (request: FastifyRequest, reply: FastifyReply, body: unknown): FastifyReply =>
      send(request, reply, { status: 200, headers: {}, body, at: clock.now() })
    const time = () => ({ now: formatUtc(clock.now()), clock: clock.speed.label })

    app.get('/time', (request, reply) => tell(request, reply, time()))
    app.post('/time', (request, reply) => {
      setTime(clock, typeof request.body === 'string' ? request.body : '')
      return tell(request, reply, time())
    })
    app.get('/requests', (request, reply) =>
      tell(request, reply, { requests: log.list(), dropped: log.dropped }),
    )
    app.delete('/requests', (request, reply) => {
      log.clear()
      return tell(request, reply, { requests: [], dropped: 0 })
    })
    app.get('/faults', (request, reply) => tell(request, reply, faults.tell()))
    app.put('/faults', (request, reply) => {
      setFaults(faults, typeof request.body === 'string' ? request.body : '')
      return tell(request, reply, faults.tell())
    })
    app.delete('/faults', (request, reply) => {
      faults.replace([])
      return tell(request, reply, faults.tell())
    })
    app.get('/truth', (request, reply) => {
      const query = queryOf(request)
      const at = clock.now()
      const text = truthText(named(organizations, query), at, query.get('only') === 'surveys')
      return reply
        .header('date', formatHttpDate(at))
        .header('content-type', 'application/json; charset=utf-8')
        .send(Readable.from(text))
    })
    app.get('/changes', (request, reply) => {
      const query = queryOf(request)
      const { from, to } = readQuery(changesQuery, query)
      if (to > clock.latest) throw new Refusal(400, `the world ends at ${formatUtc(clock.latest)}`)
      const changes = changesBetween(named(organizations, query), from, to)
      if (changes.length > CHANGES_MAX) {
        throw new Refusal(400, `${changes.length} changes, the most is ${CHANGES_MAX}: narrow the range`)
      }
      return tell(request, reply, { changes })
    })
    done()
  }

const queryOf = (request: FastifyRequest): URLSearchParams =>
  new URL(request.url, 'http://localhost').searchParams

const named = (organizations: readonly Organization[], query: URLSearchParams): readonly Organization[] => {
  const name = query.get('account')
  if (name === null) return organizations
  const found = organizations.filter(({ identity }) => identity.name === name)
  if (found.length === 0) throw new Refusal(404, `there is no account ${JSON.stringify(name)}`)
  return found
}
