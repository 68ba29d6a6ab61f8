/** The real HTTP client without waits, and a server with one fixed answer, for tests of the source. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../src/base/clock.js'
import type { Log } from '../../../src/base/log.js'
import { Secret } from '../../../src/base/secret.js'
import { createHttpClient, type HttpClient } from '../../../src/http/client.js'

const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

export const openClient = (
  baseUrl: string,
  account: { readonly id: number; readonly token: string } = { id: 1, token: 'none' },
): HttpClient =>
  createHttpClient({
    account: 'test',
    baseUrl,
    id: account.id,
    headers: { 'Authorization-ID': String(account.id), 'Authorization-Token': new Secret(account.token) },
    rate: { requests: 1_000, perMs: 60_000 },
    limits: {
      requestTimeoutMs: 10_000,
      attemptsMax: 1,
      backoffBaseMs: 1,
      backoffMaxMs: 1,
      responseBytesMax: 10_000_000,
    },
    ledgerDirectory: null,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  })

export interface CannedServer extends AsyncDisposable {
  readonly baseUrl: string
  /** Path and query of every request, in order. */
  readonly requested: readonly string[]
}

export interface Canned {
  readonly status?: number
  readonly text: string
  /** The `Date` header; null sends none. */
  readonly date?: string | null
}

/** A server that always sends `canned`, for answers that no correct server gives. */
export const startCannedServer = async (canned: Canned): Promise<CannedServer> => {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url ?? '')
    response.sendDate = false
    if (canned.date !== null) response.setHeader('date', canned.date ?? 'Sun, 01 Mar 2026 00:00:00 GMT')
    response.writeHead(canned.status ?? 200, { 'content-type': 'application/json' }).end(canned.text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    requested,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
