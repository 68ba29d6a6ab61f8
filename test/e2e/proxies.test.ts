/** A sync through the environment's proxy: what the proxy sees, and how its refusals differ from those of the API. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { openLedger } from '../../src/http/rate-limit/ledger.js'
import { scriptedSurvey, TOKEN } from '../support/api/scripted-api.js'
import type { Ended, Env } from '../support/command/command.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { type Finished, temporaryDirectory } from '../support/files/temporary.js'
import { type Certificates, HAS_OPENSSL, makeCertificates } from '../support/servers/certificates.js'
import { startProxy, type TestProxy } from '../support/servers/proxy.js'
import { freePort } from '../support/servers/server.js'
import { startTlsFront } from '../support/servers/tls-front.js'
import { SLOW, slow } from '../support/suite/slow.js'

const PASSWORD = 'pr0xy-p@ss/word'
const CREDENTIALS = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`
/** A host that is not in DNS, so only a proxy finds it. */
const HOST = 'api.test'
const LIMITS = { attempts: 3, backoff_base: '1ms', backoff_max: '1ms' }

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
  const ledger = openLedger({ directory: trial.warehouse, owner, timing, clock: systemClock })
  try {
    return ledger.occupiedMs(1_000).length
  } finally {
    ledger.close()
  }
}

slow.concurrent(
  'http: the proxy gets every request with its whole URL, and the API gets the usual requests',
  async (context) => {
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
  },
)

test
  .skipIf(!HAS_OPENSSL)
  .concurrent(
    'https: the proxy gets CONNECT and never sees a request, and the sync trusts a private CA',
    async (context) => {
      const { trial, proxy, sync } = await begin(context)
      const env: Env = {
        ...(await overTls(context, trial, proxy)),
        https_proxy: withUser(proxy),
        HTTP_PROXY: 'http://127.0.0.1:1',
      }
      proxy.credentials = CREDENTIALS
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

test.concurrent('NO_PROXY: the proxy gets no request, and the log does not mention it', async (context) => {
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
const addressOf = (scheme: (typeof SCHEMES)[number]): Env => ({
  FIELDWORK_SYNC_BASE_URL: scheme === 'http' ? 'http://127.0.0.1:1/api/v1' : `https://${HOST}/api/v1`,
})

test.concurrent.for(SLOW ? SCHEMES : SCHEMES.slice(1))(
  '%s: the error of a proxy that is down names the proxy, not the API',
  async (scheme, context) => {
    const { trial, sync } = await begin(context)
    const env = addressOf(scheme)
    const proxy = `127.0.0.1:${await freePort()}`
    const variable = `${scheme.toUpperCase()}_PROXY`
    const ended = await trial.runWarm(sync, {
      ...env,
      [variable]: `http://user:${PASSWORD.replace('/', '%2F')}@${proxy}`,
    })
    expect(ended.code).toBe(4)
    expect(ended.stdout).toMatch(
      new RegExp(
        `gave up on .* after 3 attempts: the proxy http://${proxy} \\(${variable}\\).*connection refused`,
      ),
    )
    expect(occupiedSlots(trial, env.FIELDWORK_SYNC_BASE_URL ?? '')).toBe(0)
    expect(await leaks(trial, ended)).toEqual([])
  },
)

const REFUSALS = [
  {
    status: 407,
    when: 'requires a password',
    user: null,
    message: /the proxy \S+ \(\w+\) requires a user and password \(407\): put them into HTTPS?_PROXY, as in /,
  },
  {
    status: 407,
    when: 'requires another password',
    user: PASSWORD,
    message: /the proxy \S+ \(\w+\) refused the user and password of HTTPS?_PROXY \(407\): check them/,
  },
] as const

for (const scheme of SLOW ? SCHEMES : SCHEMES.slice(0, 1))
  test.concurrent.for(REFUSALS)(
    `${scheme}: a proxy that $when ends the run at once`,
    async ({ status, user, message }, context) => {
      const { trial, proxy, sync } = await begin(context)
      proxy.refusal = status
      const address = user === null ? `http://${proxy.host}` : withUser(proxy, user)
      const ended = await trial.runWarm(sync, {
        ...addressOf(scheme),
        [`${scheme.toUpperCase()}_PROXY`]: address,
      })
      expect(ended.code).toBe(4)
      expect(ended.stdout).toMatch(message)
      expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/the API (refused|rejected)/)
      expect(proxy.requests).toHaveLength(1)
      expect(await leaks(trial, ended)).toEqual([])
    },
  )

test.concurrent.for(SLOW ? [403, 405] : [403])(
  'https: a proxy that refuses CONNECT with %d ends the run',
  async (status, context) => {
    const { trial, proxy, sync } = await begin(context)
    proxy.refusal = status
    const env = addressOf('https')
    const ended = await trial.runWarm(sync, { ...env, HTTPS_PROXY: withUser(proxy) })
    expect(ended.code).toBe(4)
    expect(ended.stdout).toContain(
      `the proxy http://${proxy.host} (HTTPS_PROXY) refused to connect to ${HOST}:443 (${status}): check that HTTPS_PROXY names an HTTP proxy that may connect to this host`,
    )
    expect(ended.stdout).not.toContain('the API refused')
    expect(proxy.requests).toHaveLength(1)
    // Without a tunnel there was no request, so no slot is occupied.
    expect(occupiedSlots(trial, env.FIELDWORK_SYNC_BASE_URL ?? '')).toBe(0)
  },
)

const TRANSIENT = [
  [502, `could not connect to ${HOST}:443 (502)`],
  ['close', 'cannot be used: connection closed before the answer was complete (UND_ERR_SOCKET)'],
] as const

test.concurrent.for(SLOW ? TRANSIENT : TRANSIENT.slice(1))(
  'https: a transient failure of the proxy is retried as often as a request: %s',
  async ([refusal, message], context) => {
    const { trial, proxy, sync } = await begin(context)
    proxy.refusal = refusal
    const env = addressOf('https')
    const ended = await trial.runWarm(sync, { ...env, HTTPS_PROXY: withUser(proxy) })
    expect(ended.code).toBe(4)
    expect(ended.stdout).toContain(
      `after 3 attempts: the proxy http://${proxy.host} (HTTPS_PROXY) ${message}`,
    )
    expect(proxy.requests).toHaveLength(3)
    expect(occupiedSlots(trial, env.FIELDWORK_SYNC_BASE_URL ?? '')).toBe(0)
  },
)

test.concurrent('conformance goes through the proxy as well, and its errors name the proxy, not the service', async (context) => {
  const { trial, proxy } = await begin(context)
  const args = ['conformance', '--max-requests', '4', '--log-level', 'debug']
  const ended = await trial.runWarm(args, { HTTP_PROXY: withUser(proxy) })
  expect(proxy.requests).toHaveLength(4)
  expect(trial.api.arrivals).toHaveLength(4)
  expect(ended.stderr).toContain(`requests go through the proxy http://${proxy.host} (HTTP_PROXY)`)
  for (const scheme of SCHEMES) {
    proxy.refusal = 407
    const refused = await trial.runWarm(args, {
      ...addressOf(scheme),
      [`${scheme.toUpperCase()}_PROXY`]: withUser(proxy),
    })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain(`refused the user and password of ${scheme.toUpperCase()}_PROXY (407)`)
    expect(await leaks(trial, refused)).toEqual([])
  }
})

const overPrivateCa = async (
  context: Context,
  trial: Trial,
): Promise<{ baseUrl: string; certificates: Certificates }> => {
  const certificates = makeCertificates(await temporaryDirectory(context.onTestFinished), ['IP:127.0.0.1'])
  const port = await startTlsFront(trial.api.baseUrl, certificates, context.onTestFinished)
  return { baseUrl: `https://127.0.0.1:${port}/api/v1`, certificates }
}

test
  .skipIf(!HAS_OPENSSL)
  .concurrent('a check trusts a private CA with NODE_EXTRA_CA_CERTS, and not without', async (context) => {
    const { trial, check } = await begin(context)
    const { baseUrl, certificates } = await overPrivateCa(context, trial)
    const env = { FIELDWORK_SYNC_BASE_URL: baseUrl }
    const without = await trial.run(check, env)
    expect(without).toMatchObject({ code: 4 })
    expect(without.stdout).toMatch(/its TLS certificate|issuer of its TLS certificate/)
    expect(trial.api.arrivals).toHaveLength(0)
    const trusted = await trial.run(check, { ...env, NODE_EXTRA_CA_CERTS: certificates.caFile })
    expect(trusted).toMatchObject({ code: 0 })
    expect(trial.api.arrivals).toHaveLength(1)
  })
