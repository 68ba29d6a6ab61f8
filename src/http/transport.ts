/**
 * Sends requests and receives the answers. The only file that reveals the API's token, and the only one that sends through undici, whose
 * handlers for retries and redirects would bypass the limiter. `attempt` has the timeout of a whole request. Here only connecting has a
 * limit, so that an abandoned connection does not try for ever.
 */
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { ExpectedError, messageOf } from '../base/errors.js'
import { canBeHeader, type HttpProxy } from '../base/network.js'
import { Secret } from '../base/secret.js'
import { packageVersion } from '../base/version.js'
import type { Address } from './address.js'
import { connectionFailure, ProxyRefusedError, ProxyTroubleError } from './connection-failure.js'
import { decompress } from './decompress.js'
import { invalidHeader } from './errors.js'
import { type Received, receive } from './receive.js'

export type HeaderValues = Readonly<Record<string, string | Secret>>

interface TransportOptions {
  readonly account: string
  readonly headers: HeaderValues
  readonly requestTimeoutMs: number
  readonly connections: number
  readonly proxy: HttpProxy | null
  readonly onConnect?: () => void
}

export interface Transport {
  /**
   * Sends a GET; resolves when the response headers arrive. The signal also ends a body that was not read to its end. A failing
   * proxy is a `ProxyRefusedError` or `ProxyTroubleError`.
   */
  get(address: Address, signal: AbortSignal): Promise<Received>
  destroy(): Promise<void>
}

/** Throws `invalid_header` for a header value that HTTP cannot carry. */
export type CreateTransport = (options: TransportOptions) => Transport

export const createTransport: CreateTransport = (options) => {
  const { account, connections, requestTimeoutMs, proxy } = options
  const revealed = Object.entries(options.headers).map(([name, value]) => {
    const text = value instanceof Secret ? value.reveal() : value
    if (!canBeHeader(text)) throw invalidHeader(name, account)
    return [name, text]
  })
  const { onConnect } = options
  const route = createRoute({ connections, connectMsMax: requestTimeoutMs, onConnect }, proxy)
  const sent = {
    ...Object.fromEntries(revealed),
    accept: 'application/json',
    'accept-encoding': 'gzip, br',
    'user-agent': `fieldwork-sync/${packageVersion()}`,
  }
  return {
    get: (address, signal) => route.send({ method: 'GET', address, headers: sent }, signal),
    destroy: route.destroy,
  }
}

interface DispatchOptions {
  readonly connections: number
  readonly connectMsMax: number
  /** Called for every connection to the API, or to a proxy that gets plain requests. */
  readonly onConnect?: (() => void) | undefined
}

interface Message {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly address: Address
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Route {
  /** Resolves when the response headers arrive. Rejects with a `ProxyRefusedError`, a `ProxyTroubleError`, or undici's error. */
  send(message: Message, signal: AbortSignal): Promise<Received>
  destroy(): Promise<void>
}

export const createRoute = (options: DispatchOptions, proxy: HttpProxy | null): Route =>
  proxy === null ? createDirectRoute(options) : createProxyRoute(options, proxy)

const createDirectRoute = (options: DispatchOptions): Route => {
  const agent = createAgent(options)
  const decompressing = decompress(agent)
  return {
    send: ({ address: { origin, target }, ...message }, signal) =>
      receive(decompressing, { origin, path: target, ...message }, signal),
    destroy: () => agent.destroy(),
  }
}

/**
 * For an https address the proxy gets `CONNECT` and carries bytes that it cannot read. For an http address the proxy gets the request
 * itself, with the whole URL in its first line. A plain agent sends it, because `ProxyAgent` reports a 407 as an error about arguments.
 */
const createProxyRoute = (options: DispatchOptions, proxy: HttpProxy): Route => {
  const plain = createAgent(options)
  const tunnels = createTunnels(options, proxy)
  const decompressing = { plain: decompress(plain), tunnels: decompress(tunnels) }
  const credentials =
    proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization.reveal() }
  return {
    send: async ({ address: { origin, target, host }, headers, ...message }, signal) => {
      if (origin.startsWith('https:')) {
        return await receive(decompressing.tunnels, { origin, path: target, headers, ...message }, signal)
      }
      const request = {
        origin: proxy.address,
        path: `${origin}${target}`,
        headers: { ...headers, host, ...credentials },
        ...message,
      }
      const answer = await receive(decompressing.plain, request, signal)
      if (answer.status !== 407) return answer
      answer[Symbol.dispose]()
      throw new ProxyRefusedError(proxy, host, 407, false)
    },
    destroy: async () => {
      await Promise.all([plain.destroy(), tunnels.destroy()])
    },
  }
}

const ignore = (): void => undefined

const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 }

const createAgent = ({ connections, connectMsMax, onConnect = ignore }: DispatchOptions): Agent =>
  new Agent({
    connections,
    pipelining: 1,
    ...NO_TIMEOUTS,
    connect: { timeout: connectMsMax },
  }).on('connect', onConnect)

const createTunnels = (
  { connections, connectMsMax, onConnect = ignore }: DispatchOptions,
  proxy: HttpProxy,
): ProxyAgent =>
  new ProxyAgent({
    uri: proxy.address,
    ...(proxy.authorization === null ? {} : { token: proxy.authorization.reveal() }),
    connections,
    pipelining: 1,
    ...NO_TIMEOUTS,
    proxyTls: { timeout: connectMsMax },
    requestTls: { timeout: connectMsMax },
    clientFactory: (url, options) => new TunnelPool(proxy, url, { ...options, headersTimeout: connectMsMax }),
    factory: (origin, options) => new Pool(origin, options).on('connect', onConnect),
  })

type ConnectOptions = Omit<Dispatcher.ConnectOptions, 'origin'>
type ConnectCallback = (error: Error | null, data: Dispatcher.ConnectData) => void

/** Connections to the proxy that become tunnels. A failure becomes an error that names the proxy. */
class TunnelPool extends Pool {
  readonly #proxy: HttpProxy

  constructor(proxy: HttpProxy, url: URL, options: Pool.Options) {
    super(url.origin, options)
    this.#proxy = proxy
  }

  override connect(options: ConnectOptions): Promise<Dispatcher.ConnectData>
  override connect(options: ConnectOptions, callback: ConnectCallback): void
  override connect(options: ConnectOptions, callback?: ConnectCallback) {
    return callback === undefined ? this.#open(options) : super.connect(options, callback)
  }

  async #open(options: ConnectOptions): Promise<Dispatcher.ConnectData> {
    const host = options.path
    try {
      const tunnel = await super.connect(options)
      const { statusCode, socket } = tunnel
      if (statusCode === 200) return tunnel
      socket.on('error', () => undefined).destroy()
      if (isTemporary(statusCode)) {
        throw new ProxyTroubleError(this.#proxy, `could not connect to ${host} (${statusCode})`)
      }
      throw new ProxyRefusedError(this.#proxy, host, statusCode, true)
    } catch (error) {
      if (error instanceof ExpectedError) throw error
      // We throw an error of our own: undici would recognize its error, and open the tunnel again and again without a wait.
      const failure = connectionFailure(error)
      const problem = failure?.problem ?? messageOf(error)
      const options = { cause: error, passes: failure?.passes }
      throw new ProxyTroubleError(this.#proxy, `cannot be used: ${problem}`, options)
    }
  }
}

const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 429
