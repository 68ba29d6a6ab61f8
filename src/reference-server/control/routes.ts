/** Serves the control routes of `operations.ts` under `/_reference`: no credentials, no cap, not in the request log. */
import { Readable } from 'node:stream'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { JSON_TYPE, Refusal, send } from '../answer.js'
import { readQuery } from '../api/operation.js'
import type { FaultRegister } from '../faults/fault-register.js'
import { FaultsError } from '../faults/read-faults.js'
import type { RequestLog } from '../request-log.js'
import { formatHttpDate, formatUtc, parseIsoDuration, parseIsoTime } from '../time/iso-time.js'
import type { WorldClock } from '../time/world-clock.js'
import type { Organization } from '../world/organization.js'
import { changesQuery, timeSetting } from './operations.js'
import { changesBetween, truthText } from './truth.js'

interface ControlContext {
  readonly organizations: readonly Organization[]
  readonly clock: WorldClock
  readonly log: RequestLog
  readonly faults: FaultRegister
}

/** A longer list of changes is refused; the caller has to narrow the range. */
const CHANGES_MAX = 200_000

const TIME_HINT = 'send {"advance": "PT6H"} or {"set": "2026-03-01T00:00:00Z"}'

export const controlRoutes =
  ({ organizations, clock, log, faults }: ControlContext): FastifyPluginCallback =>
  (app, _options, done) => {
    const answer = (request: FastifyRequest, reply: FastifyReply, body: unknown): FastifyReply =>
      send(request, reply, { status: 200, headers: {}, body, at: clock.now() })
    const time = () => ({ now: formatUtc(clock.now()), clock: clock.speed.label })

    app.get('/time', (request, reply) => answer(request, reply, time()))
    app.post('/time', (request, reply) => {
      setTime(clock, jsonOf(request, TIME_HINT))
      return answer(request, reply, time())
    })
    app.get('/requests', (request, reply) =>
      answer(request, reply, { requests: log.list(), dropped: log.dropped }),
    )
    app.delete('/requests', (request, reply) => {
      log.clear()
      return answer(request, reply, { requests: [], dropped: 0 })
    })
    app.get('/faults', (request, reply) => answer(request, reply, faults.list()))
    app.put('/faults', (request, reply) => {
      setFaults(faults, jsonOf(request, 'the body is not JSON: send a list of faults, [] for none'))
      return answer(request, reply, faults.list())
    })
    app.delete('/faults', (request, reply) => {
      faults.replace([])
      return answer(request, reply, faults.list())
    })
    app.get('/truth', (request, reply) => {
      const query = queryOf(request)
      const at = clock.now()
      const text = truthText(named(organizations, query), at, query.get('only') === 'surveys')
      return reply
        .header('date', formatHttpDate(at))
        .header('content-type', JSON_TYPE)
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
      return answer(request, reply, { changes })
    })
    done()
  }

/** The body of `request`. Refuses one that is no JSON with `hint`, which says what to send. */
const jsonOf = ({ body }: FastifyRequest, hint: string): unknown => {
  try {
    return JSON.parse(typeof body === 'string' ? body : '')
  } catch {
    throw new Refusal(400, hint)
  }
}

/** Moves `clock` as `body` says, or refuses with 400 and moves nothing. */
const setTime = (clock: WorldClock, body: unknown): void => {
  const setting = timeSetting.safeParse(body).data
  if (setting === undefined) throw new Refusal(400, TIME_HINT)
  const at = 'set' in setting ? parseIsoTime(setting.set) : advanced(clock, setting.advance)
  if (at === null) {
    throw new Refusal(
      400,
      `${JSON.stringify(setting)}: advance takes an ISO 8601 duration of weeks, days, hours, minutes and seconds, set a date-time with an offset; ${TIME_HINT}`,
    )
  }
  if (clock.set(at)) return
  throw new Refusal(400, `the clock goes from ${formatUtc(clock.earliest)} to ${formatUtc(clock.latest)}`)
}

const advanced = (clock: WorldClock, duration: string): number | null => {
  const by = parseIsoDuration(duration)
  return by === null ? null : clock.now() + by
}

const setFaults = (faults: FaultRegister, body: unknown): void => {
  try {
    faults.replace(body)
  } catch (error) {
    if (error instanceof FaultsError) throw new Refusal(400, error.message)
    throw error
  }
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
