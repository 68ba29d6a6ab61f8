/** A sync through the environment's proxy: what the proxy sees, and how its refusals differ from those of the API. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { Ledger } from '../../src/http/rate-limit/ledger.js'
import { scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import type { Ended, Env } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { HAS_OPENSSL, makeCertificates } from '../support/servers/certificates.js'
import { startProxy, type TestProxy } from '../support/servers/proxy.js'
import { freePort } from '../support/servers/server.js'
import { startTlsFront } from '../support/servers/tls-front.js'
import { SLOW, slow } from '../support/suite/slow.js'

const PASSWORD = 'pr0xy-p@ss/word'
const CREDENTIALS = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`
/** A host that is not in DNS, so only a proxy finds it. */
const HOST = 'api.test'
const LIMITS = { attempts: 3, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' }

interface Context {
  readonly onTestFinished: Finished
}

const begin = async (context: Context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  const proxy = await startProxy(context.onTestFinished)
  const file = await trial.settings({ limits: LIMITS })
  return { trial, proxy, sync: ['sync', '--log-level', 'debug', ...file], check: ['check', ...file] }
}

/** Serves the API over TLS under its own host name. */
const overTls = async ({ onTestFinished }: Context, trial: Trial, proxy: TestProxy): Promise<Env> => {
  const certificates = makeCertificates(await temporaryDirectory(onTestFinished), [`DNS:${HOST}`])
  const port = await startTlsFront(trial.api.baseUrl, certificates, onTestFinished)
  proxy.target = { host: '127.0.0.1', port }
  return {
    FIELDWORK_SYNC_BASE_URL: `https://${HOST}:${port}/api/v1`,
    NODE_EXTRA_CA_CERTS: certificates.caFile,
  }
}

const withUser = ({ host }: TestProxy, password = PASSWORD): string =>
  `http://user:${encodeURIComponent(password)}@${host}`

/** Forms of the proxy's credentials that occur in the output or in a file of the warehouse. */
const leaks = async (trial: Trial, { stdout, stderr }: Ended): Promise<string[]> => {
  const files = await readdir(trial.warehouse, { recursive: true, withFileTypes: true }).catch(() => [])
  const texts = await Promise.all(
    files
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')),
  )
  const forms = [PASSWORD, encodeURIComponent(PASSWORD), CREDENTIALS.slice('Basic '.length)]
  return forms.filter((form) => [stdout, stderr, ...texts].some((text) => text.includes(form)))
}

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

slow.concurrent('http: the proxy gets whole URLs, and the API gets the usual requests', async (context) => {
  const { trial, proxy, sync, check } = await begin(context)
  proxy.credentials = CREDENTIALS
  const env = { HTTP_PROXY: withUser(proxy), HTTPS_PROXY: 'http://127.0.0.1:1' }
  const ended = await trial.runWarm(sync, env)
  expect(ended).toMatchObject({ code: 0 })
  expect(proxy.requests).toHaveLength(trial.api.arrivals.length)
  for (const { method, url, headers } of proxy.requests) {
    expect(method).toBe('GET')
    expect(url).toMatch(new RegExp(`^${trial.api.baseUrl}/surveys`))
    expect(headers).toMatchObject({ 'authorization-token': TOKEN, host: new URL(trial.api.baseUrl).host })
  }
  expect(ended.stderr).toContain(`requests go through the proxy http://${proxy.host} (HTTP_PROXY)`)
  expect(await leaks(trial, ended)).toEqual([])
  const checked = await trial.runWarm(check, env)
  expect(checked.stdout).toContain(` answers through the proxy http://${proxy.host} (HTTP_PROXY) in `)
  expect(await leaks(trial, checked)).toEqual([])
})

test
  .skipIf(!HAS_OPENSSL)
  .concurrent(
    'https: the proxy gets CONNECT and never sees a request, and only NODE_EXTRA_CA_CERTS makes a private CA trusted',
    async (context) => {
      const { trial, proxy, sync, check } = await begin(context)
      const env: Env = {
        ...(await overTls(context, trial, proxy)),
        https_proxy: withUser(proxy),
        HTTP_PROXY: 'http://127.0.0.1:1',
      }
      proxy.credentials = CREDENTIALS
      const without = await trial.runWarm(check, { ...env, NODE_EXTRA_CA_CERTS: undefined })
      expect(without).toMatchObject({ code: 4 })
      expect(without.stdout).toMatch(/its TLS certificate|issuer of its TLS certificate/)
      expect(trial.api.arrivals).toEqual([])
      proxy.requests.length = 0
      const ended = await trial.run(sync, env)
      expect(ended).toMatchObject({ code: 0 })
      expect(trial.api.arrivals.length).toBeGreaterThan(3)
      const { host } = new URL(env.FIELDWORK_SYNC_BASE_URL ?? '')
      // Connections stay open, so there are far fewer tunnels than requests.
      expect(proxy.requests.length).toBeLessThan(trial.api.arrivals.length)
      expect(new Set(proxy.requests.map(({ method, url }) => `${method} ${url}`))).toEqual(
        new Set([`CONNECT ${host}`]),
      )
      expect(JSON.stringify(proxy.requests)).not.toContain(TOKEN)
      expect(ended.stderr).toContain(`requests go through the proxy http://${proxy.host} (https_proxy)`)
      expect(await leaks(trial, ended)).toEqual([])
    },
  )

slow.concurrent('NO_PROXY: the proxy gets no request, and the log does not mention it', async (context) => {
  const { trial, proxy, sync } = await begin(context)
  const ended = await trial.runWarm(sync, {
    HTTP_PROXY: withUser(proxy),
    NO_PROXY: 'other.example,127.0.0.0/8',
  })
  expect(ended).toMatchObject({ code: 0 })
  expect(proxy.requests).toEqual([])
  expect(ended.stderr).not.toContain('the proxy')
})

const SCHEMES = ['http', 'https'] as const

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
]

test.concurrent('the error of a proxy that refuses, fails or is down names the proxy, not the API', async (context) => {
  const { trial, proxy, sync, check } = await begin(context)
  const failures = FAILURES.filter(({ scheme }) => SLOW || scheme === 'https')
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
  for (const scheme of SLOW ? SCHEMES : (['https'] as const)) {
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
