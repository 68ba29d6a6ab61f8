/**
 * The one place that talks to undici, and the one that reveals a token. undici's own handlers for retries and
 * redirects would send behind the limiter's back; they are not installed. Timeouts are ours too, one for the whole of a
 * request; only connecting has a limit here, so that a connection that was given up does not try for ever.
 */
import { Agent, type Dispatcher } from 'undici'
import { Secret } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import type { Address } from './address.js'
import { InvalidHeaderError } from './errors.js'

export type HeaderValues = Readonly<Record<string, string | Secret>>

export interface WireOptions {
  readonly account: string
  readonly headers: HeaderValues
  readonly requestTimeoutMs: number
  readonly connections: number
  /** Told of every connection that is made. */
  readonly onConnect?: () => void
}

export interface WireAnswer {
  readonly status: number
  /** A response header by its name in lower case; the first where it is repeated; null where it is missing. */
  header(name: string): string | null
  /** Of all response headers, in lower case. */
  readonly headerNames: readonly string[]
  readonly body: Dispatcher.ResponseData['body']
}

export interface Wire {
  /** Sends a GET; resolves with the response headers. */
  get(address: Address, signal: AbortSignal): Promise<WireAnswer>
  /** Breaks all connections. */
  destroy(): Promise<void>
}

/** How a client gets its wire. Throws `InvalidHeaderError` for a header value that HTTP cannot carry. */
export type CreateWire = (options: WireOptions) => Wire

/** The wire to a real network. */
export const createWire: CreateWire = (options) => {
  checkHeaders(options)
  const agent = new Agent({
    connections: options.connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.requestTimeoutMs },
  })
  agent.on('connect', () => options.onConnect?.())
  const userAgent = `fieldwork-sync/${packageVersion()}`
  return {
    get: async ({ origin, target }, signal) => {
      const { statusCode, headers, body } = await agent.request({
        origin,
        path: target,
        method: 'GET',
        headers: {
          ...revealed(options.headers),
          accept: 'application/json',
          'accept-encoding': 'gzip',
          'user-agent': userAgent,
        },
        signal,
      })
      return {
        status: statusCode,
        header: (name) => firstOf(headers[name]),
        headerNames: Object.keys(headers),
        body,
      }
    },
    destroy: () => agent.destroy(),
  }
}

const revealed = (headers: HeaderValues): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]),
  )

const checkHeaders = ({ headers, account }: WireOptions): void => {
  for (const [name, value] of Object.entries(revealed(headers))) {
    if (!/^[\t\x20-\x7e]*$/.test(value)) throw new InvalidHeaderError(name, account)
  }
}

const firstOf = (value: string | string[] | undefined): string | null =>
  (Array.isArray(value) ? value[0] : value) ?? null
