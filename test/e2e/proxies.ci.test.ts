/** A sync through the environment's proxy: what the proxy sees, and how its refusals differ from those of the API. */

import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { Ledger } from '../../src/http/rate-limit/ledger.js'
import type { Trial } from '../support/command/trial.js'
import type { TestProxy } from '../support/servers/proxy.js'
import { freePort } from '../support/servers/server.js'
import { some } from '../support/suite/cases.js'
import { begin, HOST, leaks, PASSWORD, withUser } from './proxies-shared.js'

const occupiedSlots = (trial: Trial, baseUrl: string): number => {
  const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
  const owner = { baseUrl, id: 4711 }
  const ledger = new Ledger({ directory: trial.warehouse, owner, timing, clock: systemClock })
  try {
    return ledger.occupiedMs(1_000).length
  } finally {
    ledger.close()
  }
}

const SCHEMES = ['https', 'http'] as const

/** An address that only a proxy could reach. */
const addressOf = (scheme: (typeof SCHEMES)[number]) =>
  scheme === 'http' ? 'http://127.0.0.1:1/api/v1' : `https://${HOST}/api/v1`

interface Failure {
  readonly scheme: (typeof SCHEMES)[number]
  /** How the proxy answers. */
  readonly refusal: TestProxy['refusal']
  readonly password?: string | null
  /** After `the proxy ADDRESS (VARIABLE) `. */
  readonly says: string
  /** Transient failures are retried as often as a request. */
  readonly requests: 1 | 3
}

const FAILURES: readonly Failure[] = [
  {
    scheme: 'https',
    refusal: 403,
    says: `refused to connect to ${HOST}:443 (403): check that HTTPS_PROXY names an HTTP proxy that may connect to this host`,
    requests: 1,
  },
  { scheme: 'https', refusal: 502, says: `could not connect to ${HOST}:443 (502)`, requests: 3 },
  {
    scheme: 'https',
    refusal: 'close',
    says: 'cannot be used: connection closed before the answer was complete (UND_ERR_SOCKET)',
    requests: 3,
  },
  {
    scheme: 'http',
    refusal: 407,
    password: null,
    says: 'requires a user and password (407): put them into HTTP_PROXY, as in ',
    requests: 1,
  },
  {
    scheme: 'http',
    refusal: 407,
    says: 'refused the user and password of HTTP_PROXY (407): check them',
    requests: 1,
  },
]

test.concurrent('the error of a proxy that refuses, fails or is down names the proxy, not the API', async (context) => {
  const { trial, proxy, sync, check } = await begin(context)
  const failures = some(FAILURES, 3)
  for (const { scheme, refusal, password = PASSWORD, says, requests } of failures) {
    const variable = `${scheme.toUpperCase()}_PROXY`
    proxy.refusal = refusal
    proxy.requests.length = 0
    // `check` sends a request once, and publishes nothing.
    const ended = await trial.runWarm(requests === 3 ? sync : check, {
      FIELDWORK_SYNC_BASE_URL: addressOf(scheme),
      [variable]: password === null ? `http://${proxy.host}` : withUser(proxy, password),
    })
    expect(ended.code, says).toBe(4)
    expect(ended.stdout).toContain(`the proxy http://${proxy.host} (${variable}) ${says}`)
    if (requests === 3) expect(ended.stdout).toContain('after 3 attempts: ')
    expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/the API (refused|rejected)/)
    expect(proxy.requests).toHaveLength(requests)
    expect(await leaks(trial, ended)).toEqual([])
  }
  const down = `127.0.0.1:${await freePort()}`
  const ended = await trial.runWarm(sync, {
    FIELDWORK_SYNC_BASE_URL: addressOf('https'),
    HTTPS_PROXY: `http://user:${PASSWORD.replace('/', '%2F')}@${down}`,
  })
  expect(ended.code).toBe(4)
  expect(ended.stdout).toMatch(
    new RegExp(`after 3 attempts: the proxy http://${down} \\(HTTPS_PROXY\\).*connection refused`),
  )
  expect(await leaks(trial, ended)).toEqual([])
  // Without a tunnel there was no request, so no slot is occupied.
  expect(occupiedSlots(trial, addressOf('https'))).toBe(0)
})

test.concurrent('conformance goes through the proxy as well, and its errors name the proxy, not the service', async (context) => {
  const { trial, proxy } = await begin(context)
  const args = ['conformance', '--max-requests', '4', '--log-level', 'debug']
  const ended = await trial.runWarm(args, { HTTP_PROXY: withUser(proxy) })
  expect(proxy.requests).toHaveLength(4)
  expect(trial.api.arrivals).toHaveLength(4)
  expect(ended.stderr).toContain(`requests go through the proxy http://${proxy.host} (HTTP_PROXY)`)
  for (const scheme of some(SCHEMES, 1)) {
    proxy.refusal = 407
    const refused = await trial.runWarm(args, {
      FIELDWORK_SYNC_BASE_URL: addressOf(scheme),
      [`${scheme.toUpperCase()}_PROXY`]: withUser(proxy),
    })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain(`refused the user and password of ${scheme.toUpperCase()}_PROXY (407)`)
    expect(await leaks(trial, refused)).toEqual([])
  }
})
