/** A raw HTTP server on a free port that records each arrival, and a client for it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { unlimitedAllowance } from '../../../src/base/allowance.js'
import { systemClock } from '../../../src/base/clock.js'
import type { LogFields } from '../../../src/base/log.js'
import { Secret } from '../../../src/base/secret.js'
import { createHttpClient, type HttpClient, type HttpClientOptions } from '../../../src/http/client.js'

export interface Arrival {
  readonly atMs: number
  readonly url: string
  readonly headers: IncomingMessage['headers']
}

export interface TestServer extends AsyncDisposable {
  readonly baseUrl: string
  readonly host: string
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
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((request, response) => {
    arrivals.push({ atMs: performance.now(), url: request.url ?? '', headers: request.headers })
    handler(request, response, arrivals.length)
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    host: `127.0.0.1:${port}`,
    arrivals,
    connections: () => connections,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

export const TOKEN = 'tok-7f3a-secret/value'

interface LogLine {
  readonly level: string
  readonly fields: LogFields
  readonly message: string
}

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
  backoff_base: 1,
  backoff_max: 20,
  response_bytes_max: 1_000_000,
}

export const startClient = (baseUrl: string, overrides: Overrides = {}): TestClient => {
  const lines: LogLine[] = []
  const at = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message })
  }
  const client = createHttpClient({
    account: 'default',
    baseUrl,
    id: 12,
    headers: { 'Authorization-ID': '12', 'Authorization-Token': new Secret(TOKEN) },
    rate: { requests: 100, perMs: 1_000 },
    ledgerDirectory: null,
    clock: systemClock,
    random: () => 0.5,
    ...overrides,
    limits: { ...LIMITS, ...overrides.limits },
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  })
  const context = () => ({ signal: new AbortController().signal, allowance: unlimitedAllowance })
  return {
    lines,
    get: (path = '/surveys') => client.getJson(path, [], context()),
    getJson: (path, query, given) => client.getJson(path, query, given),
    usage: () => client.usage(),
    close: async () => client[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}

/** The most arrivals in any window of `perMs`. */
export const worstWindow = (arrivals: readonly Arrival[], perMs: number): number => {
  const times = arrivals.map(({ atMs }) => atMs).sort((a, b) => a - b)
  let from = 0
  let worst = 0
  for (const [index, time] of times.entries()) {
    while (time - (times[from] ?? time) >= perMs) from += 1
    worst = Math.max(worst, index - from + 1)
  }
  return worst
}

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
