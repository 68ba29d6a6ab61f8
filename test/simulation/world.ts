/** The real reference server without a network. Every answer that the client received is kept for the oracle. */
import { createUnlistenedServer } from '../../src/reference-server/server.js'
import { parseIsoTime } from '../../src/reference-server/time.js'
import { Organization } from '../../src/reference-server/world/organization.js'
import { asObjects, type JsonObject } from '../support/api/reference-api.js'
import type { Plan } from './plan.js'
import type { VirtualTime } from './virtual-time.js'

/** An answer 200 as the client received it, even if the client did not read all of it. */
export interface ReceivedAnswer {
  readonly path: string
  readonly query: string
  /** The `Date` header, milliseconds. */
  readonly dateMs: number
  readonly body: JsonObject
  /** Whether a fault changed it. */
  readonly isLie: boolean
}

export interface World {
  readonly account: { readonly name: string; readonly id: number; readonly token: string }
  readonly received: ReceivedAnswer[]
  /** `12 sample_sources` for each endpoint of a survey that a fault refused, with a status that says no. */
  readonly refusals: Set<string>
  get(url: string, headers: Record<string, string>): Promise<Answer>
  /** All surveys of the API at this moment, each with its sources and progress. */
  surveys(): Promise<readonly JsonObject[]>
  arrivals(): Promise<readonly number[]>
  /** The server's true time, milliseconds. */
  nowMs(): Promise<number>
  advance(hours: number): Promise<void>
  /** Makes the server answer every later request as of this moment. */
  stopClock(): Promise<void>
  /** Removes these surveys for good. */
  forget(ids: readonly number[]): Promise<void>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const START_AT = '2026-03-01T00:00:00Z'
/** The world's clock does not pass this time, because surveys are created all the time. */
const LATEST = '2026-04-15T00:00:00Z'

/** The sources of all surveys that exist until `LATEST`. */
const sourcesIn = (seed: number, surveys: number): number => {
  const startAt = Number(parseIsoTime(START_AT))
  const organization = new Organization({ seed, account: 0, surveys, startAt })
  return organization
    .surveyPlaces(Number(parseIsoTime(LATEST)))
    .reduce((sum, place) => sum + organization.field(place).length, 0)
}

interface Request {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly url: string
  readonly headers?: Record<string, string>
  readonly payload?: object
}

export const createWorld = async ({ world }: Plan, time: VirtualTime): Promise<World> => {
  let { seed } = world
  while (sourcesIn(seed, world.surveys) > world.sourcesMax) seed += 1
  const { app, accounts } = await createUnlistenedServer({
    seed,
    surveys: world.surveys,
    pageSize: world.pageSize,
    rateLimit: world.rate,
    rateWindow: world.rateWindow,
    retryAfter: world.retryAfter,
    clock: world.speed === 1 ? 'real' : `${world.speed}x`,
    startAt: START_AT,
  })
  const [account] = accounts
  if (account === undefined) throw new Error('the reference server has no account')
  const inject = (request: Request) => time.underWay(async () => await app.inject(request))
  const control = async (method: Request['method'], path: string, payload?: object) => {
    const answer = await inject({ method, url: `/_reference/${path}`, ...(payload && { payload }) })
    if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${answer.body}`)
    return answer.json<JsonObject>()
  }
  const timeNow = async () => String((await control('GET', 'time')).now)
  let stoppedAt: string | null = null
  const holdStill = async () => {
    if (stoppedAt !== null) await control('POST', 'time', { set: stoppedAt })
  }
  /**
   * Kept here as well, because the server removes surveys only at its next request. They never return: a survey that
   * returned unchanged would be listed only by the next full listing.
   */
  const gone = new Set<number>()
  return {
    account,
    received: [],
    refusals: new Set(),
    get: async (url, headers) => {
      await holdStill()
      const answer = await inject({ method: 'GET', url, headers })
      const sent = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
      return { status: answer.statusCode, headers: Object.fromEntries(sent), body: answer.rawPayload }
    },
    surveys: async () => {
      await holdStill()
      const [only] = asObjects((await control('GET', 'truth')).accounts)
      return asObjects(only?.surveys ?? []).filter(({ id }) => !gone.has(Number(id)))
    },
    nowMs: async () => Date.parse(await timeNow()),
    arrivals: async () =>
      asObjects((await control('GET', 'requests')).requests).map(({ at_ms }) => Number(at_ms)),
    advance: async (hours) => {
      const now = Date.parse(await timeNow())
      const then = Math.min(now + hours * 3_600_000, Date.parse(LATEST))
      if (then > now) await control('POST', 'time', { set: new Date(then).toISOString() })
    },
    stopClock: async () => {
      stoppedAt = await timeNow()
    },
    forget: async (ids) => {
      for (const id of ids) gone.add(id)
      const faults = [...gone].map((id) => ({ times: 'always', action: { forget: id } }))
      await control('PUT', 'faults', faults)
    },
    close: async () => await app.close(),
  }
}
