/** Serves the control routes of `operations.ts` under `/_reference`: no credentials, no cap, not in the request log. */
import { Readable } from 'node:stream'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { JSON_TYPE, Refusal, send } from '../answer.js'
import { readQuery } from '../api/operation.js'
import type { Faults } from '../faults/faults.js'
import { FaultsError } from '../faults/read-faults.js'
import type { RequestLog } from '../request-log.js'
import type { ProgressResource } from '../resources.js'
import {
  formatHttpDate,
  formatUtc,
  type Micros,
  parseIsoDuration,
  parseIsoTime,
  type WorldClock,
} from '../time.js'
import { NO_BOUNDS } from '../world/indicators.js'
import type { Organization } from '../world/organization.js'
import { SOURCES_SETTLE_WITHIN } from '../world/sample-sources.js'
import { statusOf, TITLE_EDIT } from '../world/timeline.js'
import { changesQuery, timeSetting, type WorldChange } from './operations.js'

interface ControlContext {
  readonly organizations: readonly Organization[]
  readonly clock: WorldClock
  readonly log: RequestLog
  readonly faults: Faults
}

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
    app.get('/requests', (request, reply) => answer(request, reply, log.list()))
    app.delete('/requests', (request, reply) => {
      log.clear()
      return answer(request, reply, log.list())
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
      return reply.headers({ date: formatHttpDate(at), 'content-type': JSON_TYPE }).send(Readable.from(text))
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

const setTime = (clock: WorldClock, body: unknown): void => {
  const setting = timeSetting.safeParse(body).data
  if (setting === undefined) throw new Refusal(400, TIME_HINT)
  const by = 'set' in setting ? null : parseIsoDuration(setting.advance)
  const at = 'set' in setting ? parseIsoTime(setting.set) : by === null ? null : clock.now() + by
  if (at === null) {
    throw new Refusal(
      400,
      `${JSON.stringify(setting)}: advance takes an ISO 8601 duration of weeks, days, hours, minutes and seconds, set a date-time with an offset; ${TIME_HINT}`,
    )
  }
  if (clock.set(at)) return
  throw new Refusal(400, `the clock goes from ${formatUtc(clock.earliest)} to ${formatUtc(clock.latest)}`)
}

const setFaults = (faults: Faults, body: unknown): void => {
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

/** Yields the pieces of one JSON document, because a large world is a large text. `light` leaves out sources and progress. */
function* truthText(
  organizations: readonly Organization[],
  at: Micros,
  light: boolean,
): Generator<string, void, undefined> {
  yield `{"now":${JSON.stringify(formatUtc(at))},"accounts":[`
  for (const [place, organization] of organizations.entries()) {
    const { name, id } = organization.identity
    yield `${place === 0 ? '' : ','}{"name":${JSON.stringify(name)},"id":${id},"surveys":[`
    for (const [order, index] of organization.surveyPlaces(at).entries()) {
      const survey = light ? organization.survey(at, index) : surveyTruth(organization, at, index)
      yield `${order === 0 ? '' : ','}${JSON.stringify(survey)}`
    }
    yield ']}'
  }
  yield ']}'
}

const surveyTruth = (organization: Organization, at: Micros, index: number) => {
  const sources = organization.listSampleSources(at, index)
  const progress = (sourceId: number | null): ProgressResource => {
    const found = organization.progress(at, index, sourceId, NO_BOUNDS)
    if (found === null) throw new Error(`sample source ${sourceId} is listed but has no progress`)
    return found
  }
  return {
    ...organization.survey(at, index),
    sample_sources: sources,
    fieldwork_progress: progress(null),
    sample_source_progress: Object.fromEntries(sources.map(({ id }) => [String(id), progress(id)])),
  }
}

/**
 * The changes after `from` up to and including `to`, past or future, in the order of time: exactly those that are visible
 * at `to` and not at `from`. Interviews are not among them.
 */
const changesBetween = (organizations: readonly Organization[], from: Micros, to: Micros): WorldChange[] =>
  organizations
    .flatMap((organization) =>
      organization
        .surveyPlaces(to)
        .reverse()
        .flatMap((index) => changesOfSurvey(organization, index, from))
        .filter(({ at }) => at > from && at <= to),
    )
    .sort((one, other) => one.at - other.at)
    .map(({ change }) => change)

const changesOfSurvey = (organization: Organization, index: number, from: Micros) => {
  const account = organization.identity.name
  const survey_id = organization.surveyId(index)
  const entry = (at: Micros, rest: Pick<WorldChange, 'what' | 'status' | 'sample_source_id'>) => ({
    at,
    change: { account, survey_id, at: formatUtc(at), ...rest },
  })
  const changes = organization.changesOf(index)
  const own = changes.map(({ at, code }, place) => {
    const status = statusOf(code)
    if (status !== null) return entry(at, { what: place === 0 ? 'created' : 'status', status })
    return entry(at, { what: code === TITLE_EDIT ? 'title' : 'project_id' })
  })
  // Most surveys of a large world stopped changing long ago. Deriving their sources would take seconds for nothing.
  const last = changes.at(-1)
  if (last === undefined || last.at + SOURCES_SETTLE_WITHIN <= from) return own
  const sources = organization
    .field(index)
    .sources.flatMap(({ id, versions, removedAt }) => [
      ...versions.map(({ at }, place) =>
        entry(at, { what: place === 0 ? 'source_added' : 'source_changed', sample_source_id: id }),
      ),
      ...(removedAt === null ? [] : [entry(removedAt, { what: 'source_removed', sample_source_id: id })]),
    ])
  return [...own, ...sources]
}
