/**
 * Sends requests with their headers and returns the answers. The only file that reveals the API's token. `dispatch` has the
 * connections.
 */
import { canBeHeader } from '../base/header-text.js'
import type { HttpProxy } from '../base/network.js'
import { Secret } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import type { Address } from './address.js'
import { createDirectRoute, createProxyRoute } from './dispatch.js'
import { invalidHeader } from './errors.js'

export type HeaderValues = Readonly<Record<string, string | Secret>>

export interface TransportOptions {
  readonly account: string
  readonly headers: HeaderValues
  readonly requestTimeoutMs: number
  readonly connections: number
  /** Null or left out: none. */
  readonly proxy?: HttpProxy | null
  /** Called for every new connection. */
  readonly onConnect?: () => void
}

export interface TransportAnswer {
  readonly status: number
  /**
   * A response header by its lower-case name, null if it is missing. If it is repeated: the first value, but the whole list of
   * `content-encoding`.
   */
  header(name: string): string | null
  /** The names of all response headers, in lower case. */
  readonly headerNames: readonly string[]
  readonly body: AsyncIterable<Uint8Array>
}

export interface Transport {
  /**
   * Sends a GET; resolves when the response headers arrive. The signal also ends a body that was not read to its end. A failing
   * proxy is a `ProxyRefusedError` or `ProxyTroubleError`.
   */
  get(address: Address, signal: AbortSignal): Promise<TransportAnswer>
  /** Breaks all connections. */
  destroy(): Promise<void>
}

/** Creates the transport of a client. Throws `invalid_header` for a header value that HTTP cannot carry. */
export type CreateTransport = (options: TransportOptions) => Transport

/** The transport over a real network. */
export const createTransport: CreateTransport = (options) => {
  checkHeaders(options)
  const { connections, requestTimeoutMs, proxy = null } = options
  const routeOptions = { connections, connectMsMax: requestTimeoutMs, onConnect: options.onConnect ?? ignore }
  const route = proxy === null ? createDirectRoute(routeOptions) : createProxyRoute(routeOptions, proxy)
  const sent = {
    ...revealed(options.headers),
    accept: 'application/json',
    'accept-encoding': 'gzip',
    'user-agent': `fieldwork-sync/${packageVersion()}`,
  }
  return {
    get: async (address, signal) => {
      const { status, headers, body } = await route.send({ method: 'GET', address, headers: sent }, signal)
      return {
        status,
        header: (name) => headerValue(name, headers[name]),
        headerNames: Object.keys(headers),
        body,
      }
    },
    destroy: () => route.destroy(),
  }
}

const ignore = () => undefined

const revealed = (headers: HeaderValues): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  )

const checkHeaders = ({ headers, account }: TransportOptions): void => {
  for (const [name, value] of Object.entries(revealed(headers))) {
    if (!canBeHeader(value)) throw invalidHeader(name, account)
  }
}

const headerValue = (name: string, value: string | string[] | undefined): string | null => {
  if (!Array.isArray(value)) return value ?? null
  return name === 'content-encoding' ? value.join(', ') : (value[0] ?? null)
}
