/** The real reference server, asked without a network, and what it told: every answer is kept for the oracle. */
import { createUnlistenedServer } from '../../src/reference-server/server.js'
import type { Plan } from './plan.js'
import type { VirtualTime } from './virtual-time.js'

export type JsonObject = Readonly<Record<string, unknown>>

/** An answer 200 of the API as it was handed to the client, its end reached or not. */
export interface Told {
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
  readonly told: Told[]
  ask(url: string, headers: Record<string, string>): Promise<Answer>
  /** What the API would tell at this moment, a survey with everything of it. */
  surveys(): Promise<readonly JsonObject[]>
  arrivals(): Promise<readonly Arrival[]>
  advance(hours: number): Promise<void>
  /** From now on every request is answered as of this moment. */
  freeze(): Promise<void>
  /** These have gone, and stay away. */
  forget(ids: readonly number[]): Promise<void>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export const createWorld = async (plan: Plan, time: VirtualTime): Promise<World> => {
  for (let seed = plan.world.seed; ; seed += 1) {
    const server = await startServer(plan, seed, time)
    if ((await sourcesIn(server)) <= plan.world.sourcesMax) return worldOn(server)
    await server.close()
  }
}

interface Server {
  readonly account: World['account']
  ask(url: string, headers: Record<string, string>): Promise<Answer>
  control(method: Method, path: string, body?: object): Promise<JsonObject>
  close(): Promise<void>
}
type Method = 'GET' | 'PUT' | 'POST'

const START_AT = '2026-03-01T00:00:00Z'

const startServer = async ({ world }: Plan, seed: number, time: VirtualTime): Promise<Server> => {
  const { app, accounts } = await createUnlistenedServer({
    seed,
    surveys: world.surveys,
    pageSize: world.pageSize,
    rateLimit: world.rate,
    rateWindow: world.rateWindow,
    retryAfter: world.retryAfter,
    clock: world.clock,
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
    ask: async (url, headers) => {
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

/** All that there will be in the time that a seed may take. */
const sourcesIn = async ({ control }: Server): Promise<number> => {
  await control('POST', 'time', { set: '2026-04-15T00:00:00Z' })
  const surveys = await surveysIn(control)
  await control('POST', 'time', { set: START_AT })
  return surveys.reduce((sum, { sample_sources }) => sum + (sample_sources as readonly unknown[]).length, 0)
}

const surveysIn = async (control: Server['control']): Promise<readonly JsonObject[]> => {
  const [only] = (await control('GET', 'truth')).accounts as readonly JsonObject[]
  return (only?.surveys ?? []) as readonly JsonObject[]
}

const worldOn = ({ account, ask, control, close }: Server): World => {
  let frozenAt: unknown = null
  /**
   * Kept here as well: the server forgets with the first request that it is asked after it was told to. Nothing comes
   * back: what came back unchanged would be listed only by the next full listing.
   */
  const gone = new Set<number>()
  const holdStill = async () => {
    if (frozenAt !== null) await control('POST', 'time', { set: frozenAt })
  }
  return {
    account,
    told: [],
    ask: async (url, headers) => {
      await holdStill()
      return await ask(url, headers)
    },
    surveys: async () => {
      await holdStill()
      return (await surveysIn(control)).filter(({ id }) => !gone.has(Number(id)))
    },
    arrivals: async () => (await control('GET', 'requests')).requests as readonly Arrival[],
    advance: async (hours) => {
      await control('POST', 'time', { advance: `PT${hours}H` })
    },
    freeze: async () => {
      frozenAt = (await control('GET', 'time')).now
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
