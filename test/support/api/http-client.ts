/** The real HTTP client, set up so that nothing waits, neither for a slot nor for another attempt. */
import { systemClock } from '../../../src/base/clock.js'
import { Secret } from '../../../src/base/secret.js'
import { createHttpClient, type HttpClient } from '../../../src/http/client.js'
import { SILENT } from '../log/test-log.js'

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
      ...{ request_timeout: 10_000, attempts: 1, backoff_base: 1, backoff_max: 1 },
      response_bytes_max: 10_000_000,
    },
    ledgerDirectory: null,
    clock: systemClock,
    random: Math.random,
    log: SILENT,
  })
