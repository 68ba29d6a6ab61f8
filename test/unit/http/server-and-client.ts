/** A raw HTTP server on a free port that records each arrival, and a client for it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.js'
import { Secret } from '../../../src/base/secret.js'
import { createHttpClient, type HttpClient, type HttpClientOptions } from '../../../src/http/client.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { type LogLine, testLog } from '../../support/log/test-log.js'
import { mostInAny } from '../../support/oracle/rate.js'
import { closeServer, listen } from '../../support/servers/server.js'

export interface Arrival {
  readonly atMs: number
  readonly url: string
  readonly headers: IncomingMessage['headers']
}

export interface TestServer extends AsyncDisposable {
  readonly baseUrl: string
  readonly arrivals: Arrival[]
  /** The number of connections opened so far. */
  connections(): number
}

export type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void

export const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** `nth` counts from 1. */
export const startServer = async (handler: Handler = (_, it) => json(it, {})): Promise<TestServer> => {
  const arrivals: Arrival[] = []
  let connections = 0
  const server = createServer((request, response) => {
    arrivals.push({ atMs: performance.now(), url: request.url ?? '', headers: request.headers })
    handler(request, response, arrivals.length)
  })
  server.on('connection', () => {
    connections += 1
  })
  return {
    baseUrl: `http://127.0.0.1:${await listen(server)}/api/v1`,
    arrivals,
    connections: () => connections,
    [Symbol.asyncDispose]: () => closeServer(server),
  }
}

export const TOKEN = 'tok-7f3a-secret/value'

export interface TestClient extends HttpClient {
  readonly lines: readonly LogLine[]
  /** A GET without abort signal or request budget. */
  get(path?: string): ReturnType<HttpClient['getJson']>
  close(): Promise<void>
}

type Overrides = Partial<Omit<HttpClientOptions, 'limits' | 'log'>> & {
  limits?: Partial<HttpClientOptions['limits']>
}

const LIMITS = {
  request_timeout: 20_000,
  attempts: 6,
  patience: 0,
  backoff_base: 1,
  backoff_max: 20,
  response_bytes_max: 1_000_000,
}

export const startClient = (baseUrl: string, overrides: Overrides = {}): TestClient => {
  const log = testLog()
  const client = createHttpClient({
    account: 'default',
    baseUrl,
    id: 12,
    headers: { 'Authorization-ID': '12', 'Authorization-Token': new Secret(TOKEN) },
    rate: { requests: 100, perMs: 1_000 },
    ledgerDirectory: null,
    clock: systemClock,
    random: () => 0.5,
    probe: '/surveys',
    ...overrides,
    limits: { ...LIMITS, ...overrides.limits },
    log,
  })
  const context = () => ({ signal: new AbortController().signal, allowance: unlimitedAllowance })
  return {
    lines: log.lines,
    get: (path = '/surveys') => client.getJson(path, [], context()),
    getJson: (path, query, given) => client.getJson(path, query, given),
    usage: () => client.usage(),
    close: async () => client[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}

/** The most arrivals in any window of `perMs`. */
export const worstWindow = (arrivals: readonly Arrival[], perMs: number): number =>
  mostInAny(
    arrivals.map(({ atMs }) => atMs).sort((one, other) => one - other),
    perMs,
  )

/** The error that a promise rejects with. */
export const failureOf = async (promise: Promise<unknown>): Promise<Error> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
    throw new Error(`rejected with something that is not an Error: ${String(error)}`)
  }
  throw new Error('it did not fail')
}

/** Resolves when `condition` holds. The timeout of the test limits the wait. */
export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await delay(2)
}
