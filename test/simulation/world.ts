/** The real reference server without a network. Every answer that the client received is kept for the oracle. */
import { createUnlistenedServer } from '../../src/reference-server/server.js'
import { parseIsoTime } from '../../src/reference-server/time.js'
import { Organization } from '../../src/reference-server/world/organization.js'
import type { Plan } from './plan.js'
import type { VirtualTime } from './virtual-time.js'

export type JsonObject = Readonly<Record<string, unknown>>

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

export interface Arrival {
  readonly at_ms: number
  readonly path: string
  readonly status: number | null
  readonly faults: readonly number[]
}

export interface World {
  readonly account: { readonly name: string; readonly id: number; readonly token: string }
  readonly received: ReceivedAnswer[]
  /** `12 sample_sources` for each endpoint of a survey that a fault refused, with a status that says no. */
  readonly refusals: Set<string>
  get(url: string, headers: Record<string, string>): Promise<Answer>
  /** All surveys of the API at this moment, each with its sources and progress. */
  surveys(): Promise<readonly JsonObject[]>
  arrivals(): Promise<readonly Arrival[]>
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

export const createWorld = async (plan: Plan, time: VirtualTime): Promise<World> => {
  let seed = plan.world.seed
  while (sourcesIn(seed, plan.world.surveys) > plan.world.sourcesMax) seed += 1
  return worldOn(await startServer(plan, seed, time))
}

const START_AT = '2026-03-01T00:00:00Z'
/** The world's clock does not pass this time, because surveys are created all the time. */
const LATEST = '2026-04-15T00:00:00Z'

/** The sources of all surveys that exist until `LATEST`. */
const sourcesIn = (seed: number, surveys: number): number => {
  const organization = new Organization({
    seed,
    account: 0,
    surveys,
    startAt: Number(parseIsoTime(START_AT)),
  })
  const latest = Number(parseIsoTime(LATEST))
  return organization
    .surveyPlaces(latest)
    .reduce((sum, place) => sum + organization.field(place).sources.length, 0)
}

interface Server {
  readonly account: World['account']
  get(url: string, headers: Record<string, string>): Promise<Answer>
  control(method: Method, path: string, body?: object): Promise<JsonObject>
  close(): Promise<void>
}
type Method = 'GET' | 'PUT' | 'POST'

const startServer = async ({ world }: Plan, seed: number, time: VirtualTime): Promise<Server> => {
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
  const inject = (method: Method, url: string, headers: Record<string, string>, body?: object) =>
    time.underWay(async () =>
      app.inject({ method, url, headers, ...(body === undefined ? {} : { payload: JSON.stringify(body) }) }),
    )
  return {
    account,
    get: async (url, headers) => {
      const answer = await inject('GET', url, headers)
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(
          Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
        ),
        body: answer.rawPayload,
      }
    },
    control: async (method, path, body) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const answer = await inject(method, `/_reference/${path}`, headers, body)
      if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${answer.body}`)
      return JSON.parse(answer.body) as JsonObject
    },
    close: async () => {
      await app.close()
    },
  }
}

const surveysIn = async (control: Server['control']): Promise<readonly JsonObject[]> => {
  const [only] = (await control('GET', 'truth')).accounts as readonly JsonObject[]
  return (only?.surveys ?? []) as readonly JsonObject[]
}

const worldOn = ({ account, get, control, close }: Server): World => {
  let stoppedAt: unknown = null
  /**
   * Kept here as well, because the server removes surveys only at its next request. They never return: a survey that
   * returned unchanged would be listed only by the next full listing.
   */
  const gone = new Set<number>()
  const holdStill = async () => {
    if (stoppedAt !== null) await control('POST', 'time', { set: stoppedAt })
  }
  return {
    account,
    received: [],
    refusals: new Set(),
    get: async (url, headers) => {
      await holdStill()
      return await get(url, headers)
    },
    surveys: async () => {
      await holdStill()
      return (await surveysIn(control)).filter(({ id }) => !gone.has(Number(id)))
    },
    nowMs: async () => Date.parse(String((await control('GET', 'time')).now)),
    arrivals: async () => (await control('GET', 'requests')).requests as readonly Arrival[],
    advance: async (hours) => {
      const now = Date.parse(String((await control('GET', 'time')).now))
      const then = Math.min(now + hours * 3_600_000, Date.parse(LATEST))
      if (then > now) await control('POST', 'time', { set: new Date(then).toISOString() })
    },
    stopClock: async () => {
      stoppedAt = (await control('GET', 'time')).now
    },
    forget: async (ids) => {
      for (const id of ids) gone.add(id)
      await control(
        'PUT',
        'faults',
        [...gone].map((id) => ({ times: 'always', action: { forget: id } })),
      )
    },
    close,
  }
}
