/**
 * Sends requests with their headers and returns the answers. The only file that reveals the API's token. `dispatch` has the
 * connections.
 */
import type { Clock } from '../base/clock.js'
import { ExpectedError, StoppedError } from '../base/errors.js'
import { canBeHeader } from '../base/header-text.js'
import type { HttpProxy } from '../base/network.js'
import { Secret } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import type { Address } from './address.js'
import { connectionFailure, ProxyRefusedError, ProxyTroubleError, peerOf } from './connection-failure.js'
import { createDirectRoute, createProxyRoute } from './dispatch.js'
import { connectionFailed, invalidHeader, requestTimeout, type TransientError } from './errors.js'
import { onAbort, throwIfAnyAborted } from './signals.js'

export type HeaderValues = Readonly<Record<string, string | Secret>>

interface TransportOptions {
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

export interface ExchangeOptions {
  readonly transport: Transport
  readonly address: Address
  readonly requestTimeoutMs: number
  /** The proxy of the transport, for messages. */
  readonly proxy?: HttpProxy | null
  readonly clock: Clock
  /** Each of them ends the exchange, which rejects with the signal's reason. */
  readonly signals: readonly AbortSignal[]
}

type Exchanged<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | {
      readonly kind: 'broken'
      readonly error: TransientError | ProxyRefusedError
      /** No byte of the request can have been sent. */
      readonly certainlyUnsent: boolean
    }

/** Ends the timer of an exchange. */
const ENDED = new StoppedError('the exchange has ended')

/**
 * Sends a request once and reads its answer, within the request timeout. Returns a failure that may pass, such as a timeout or a broken
 * connection, and throws any other. `read` is called when the response headers have arrived. It reads as much of the body as it needs.
 */
export const exchange = async <Value>(
  { transport, address, requestTimeoutMs, proxy = null, clock, signals }: ExchangeOptions,
  read: (answer: TransportAnswer) => Promise<Value>,
): Promise<Exchanged<Value>> => {
  const stop = new AbortController()
  using _listening = onAbort(signals, (reason) => stop.abort(reason))
  let timeout: TransientError | null = null
  clock.sleep(requestTimeoutMs, stop.signal).then(
    () => {
      timeout = requestTimeout(peerOf(address, proxy), requestTimeoutMs)
      stop.abort(timeout)
    },
    () => undefined,
  )
  try {
    const value = await read(await transport.get(address, stop.signal))
    throwIfAnyAborted(signals)
    return { kind: 'answered', value }
  } catch (error) {
    throwIfAnyAborted(signals)
    if (error instanceof ProxyTroubleError || error instanceof ProxyRefusedError) {
      return { kind: 'broken', error, certainlyUnsent: error.certainlyUnsent }
    }
    if (error instanceof ExpectedError && error !== timeout) throw error
    if (timeout !== null) return { kind: 'broken', error: timeout, certainlyUnsent: false }
    const failure = connectionFailure(error)
    if (failure === null) throw error
    const { problem, certainlyUnsent } = failure
    return {
      kind: 'broken',
      error: connectionFailed(peerOf(address, proxy), problem, error),
      certainlyUnsent,
    }
  } finally {
    stop.abort(ENDED)
  }
}
