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
  truth(): Promise<JsonObject>
  arrivals(): Promise<readonly Arrival[]>
  now(): Promise<number>
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

export const createWorld = async ({ world }: Plan, time: VirtualTime): Promise<World> => {
  const { app, accounts } = await createUnlistenedServer({
    seed: world.seed,
    surveys: world.surveys,
    pageSize: world.pageSize,
    rateLimit: world.rate,
    rateWindow: world.rateWindow,
    retryAfter: world.retryAfter,
    clock: world.clock,
    startAt: '2026-03-01T00:00:00Z',
  })
  const [account] = accounts
  if (account === undefined) throw new Error('the reference server has no account')
  const inject = (
    method: 'GET' | 'PUT' | 'POST',
    url: string,
    headers: Record<string, string>,
    body?: object,
  ) =>
    time.underWay(async () =>
      app.inject({ method, url, headers, ...(body === undefined ? {} : { payload: JSON.stringify(body) }) }),
    )
  const control = async (
    method: 'GET' | 'PUT' | 'POST',
    path: string,
    body?: object,
  ): Promise<JsonObject> => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await inject(method, `/_reference/${path}`, headers, body)
    if (answer.statusCode !== 200) throw new Error(`${method} ${path}: ${answer.statusCode} ${answer.body}`)
    return JSON.parse(answer.body) as JsonObject
  }
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
      const answer = await inject('GET', url, headers)
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(
          Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
        ),
        body: answer.rawPayload,
      }
    },
    truth: async () => {
      await holdStill()
      const told = await control('GET', 'truth')
      const [only] = told.accounts as readonly JsonObject[]
      const surveys = (only?.surveys ?? []) as readonly JsonObject[]
      return { ...only, surveys: surveys.filter(({ id }) => !gone.has(Number(id))) }
    },
    arrivals: async () => (await control('GET', 'requests')).requests as readonly Arrival[],
    now: async () => Date.parse(String((await control('GET', 'time')).now)),
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
    close: async () => {
      await app.close()
    },
  }
}
