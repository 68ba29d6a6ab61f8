/** A reference server in this process, and plain requests to it without any code of our client. */
import type { ReferenceServerOptions } from '../../../src/reference-server/options.js'
import { type ReferenceServer, startReferenceServer } from '../../../src/reference-server/server.js'

export type JsonObject = Readonly<Record<string, unknown>>

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const asObject = (value: unknown): JsonObject => {
  if (!isJsonObject(value)) throw new TypeError(`expected an object, got ${JSON.stringify(value)}`)
  return value
}

export const asObjects = (value: unknown): readonly JsonObject[] => {
  if (!Array.isArray(value)) throw new TypeError(`expected an array, got ${JSON.stringify(value)}`)
  return value.map(asObject)
}

/** Starts a server without a cap, whose clock stands still, unless the options say otherwise. */
export const startWorld = (options: Omit<ReferenceServerOptions, 'port'> = {}): Promise<ReferenceServer> =>
  startReferenceServer({ port: 0, rateWindow: 'none', clock: 'frozen', ...options })

/** Settings with all accounts of a server, without a cap that a test could reach. */
export const accountsOf = ({ accounts, baseUrl }: ReferenceServer) => ({
  accounts: accounts.map(({ name, id, token }) => ({
    name,
    id,
    token,
    base_url: baseUrl,
    rate_limit: { requests: 10_000, per: '1s' },
  })),
})

/** Sends a request for `path`, below `/api/v1`, as the account at `place`; `init` overrides all of it. */
export const ask = async (
  server: ReferenceServer,
  path: string,
  init: RequestInit = {},
  place = 0,
): Promise<Response> => {
  const account = server.accounts[place]
  if (account === undefined) throw new TypeError(`the server has no account ${place}`)
  const headers = { 'Authorization-ID': String(account.id), 'Authorization-Token': account.token }
  return await fetch(`${server.baseUrl}${path}`, { headers, ...init })
}

/** The body of the answer to a GET of `path`; throws unless the status is 200. */
export const getBody = async (server: ReferenceServer, path: string, place = 0): Promise<JsonObject> => {
  const response = await ask(server, path, {}, place)
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`)
  return asObject(await response.json())
}

/** The bodies of all pages of a list; follows `next_page`. */
export const getPages = async (
  server: ReferenceServer,
  path: string,
  place = 0,
): Promise<readonly JsonObject[]> => {
  const bodies: JsonObject[] = []
  const mark = path.includes('?') ? '&' : '?'
  for (let page: unknown = 1; page !== null; page = asObject(bodies.at(-1)?.pagination).next_page) {
    bodies.push(await getBody(server, `${path}${mark}page=${page}`, place))
  }
  return bodies
}

export const getRows = async (
  server: ReferenceServer,
  path: string,
  name: string,
  place = 0,
): Promise<readonly JsonObject[]> =>
  (await getPages(server, path, place)).flatMap((body) => asObjects(body[name]))

/** Everything that the API would answer now, for the surveys of the first account. */
export const getTruth = async (server: ReferenceServer): Promise<readonly JsonObject[]> => {
  const response = await fetch(`${server.origin}/_reference/truth`)
  const [account] = asObjects(asObject(await response.json()).accounts)
  return asObjects(account?.surveys)
}
