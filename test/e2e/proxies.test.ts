/** Through a proxy of the environment: what it carries, what it sees, and how its own refusals are told from the API's. */
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
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
import { startTlsFront } from '../support/servers/tls-front.js'

const PASSWORD = 'pr0xy-p@ss/word'
const CREDENTIALS = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`
/** In no DNS: only a proxy finds it. */
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

/** The API again, with TLS and a name of its own. */
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

/** Where credentials of the proxy are found: in what was printed, and in every file of the warehouse. */
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

/** A port of loopback where nobody listens. */
const closedPort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

const occupied = (trial: Trial, baseUrl: string): number => {
  const timing = { perMs: 60_000, requestTimeoutMs: 30_000 }
  const owner = { baseUrl, id: 4711 }
  const ledger = openLedger({ directory: trial.warehouse, owner, timing, clock: systemClock })
  try {
    return ledger.occupiedMs(1_000).length
  } finally {
    ledger.close()
  }
}

test.concurrent('http: it gets every request with its whole address, and the API gets what it always gets', async (context) => {
  const { trial, proxy, sync, check } = await begin(context)
  proxy.credentials = CREDENTIALS
  const env = { HTTP_PROXY: withUser(proxy), HTTPS_PROXY: 'http://127.0.0.1:1' }
  const ended = await trial.runWarm(sync, env)
  expect(ended).toMatchObject({ code: 0 })
  expect(proxy.asked).toHaveLength(trial.api.arrivals.length)
  for (const { method, url, headers } of proxy.asked) {
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
    'https: it gets CONNECT and never sees a request; a CA of one own is believed',
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
      // Connections are kept: far fewer tunnels than requests.
      expect(proxy.asked.length).toBeLessThan(trial.api.arrivals.length)
      expect(new Set(proxy.asked.map(({ method, url }) => `${method} ${url}`))).toEqual(
        new Set([`CONNECT ${host}`]),
      )
      expect(JSON.stringify(proxy.asked)).not.toContain(TOKEN)
      expect(ended.stderr).toContain(`requests go through the proxy http://${proxy.host} (https_proxy)`)
      expect(await leaks(trial, ended)).toEqual([])
    },
  )

test.concurrent('NO_PROXY: nothing is asked of it, and nothing is said of it', async (context) => {
  const { trial, proxy, sync } = await begin(context)
  const ended = await trial.runWarm(sync, {
    HTTP_PROXY: withUser(proxy),
    NO_PROXY: 'other.example,127.0.0.0/8',
  })
  expect(ended).toMatchObject({ code: 0 })
  expect(proxy.asked).toEqual([])
  expect(ended.stderr).not.toContain('the proxy')
})

const SCHEMES = ['http', 'https'] as const

/** An address that only the proxy could reach. */
const addressOf = (scheme: (typeof SCHEMES)[number]): Env => ({
  FIELDWORK_SYNC_BASE_URL: scheme === 'http' ? 'http://127.0.0.1:1/api/v1' : `https://${HOST}/api/v1`,
})

test.concurrent.for(SCHEMES)(
  '%s: a proxy that is down is named, and not the API',
  async (scheme, context) => {
    const { trial, sync } = await begin(context)
    const env = addressOf(scheme)
    const proxy = `127.0.0.1:${await closedPort()}`
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
    expect(occupied(trial, env.FIELDWORK_SYNC_BASE_URL ?? '')).toBe(0)
    expect(await leaks(trial, ended)).toEqual([])
  },
)

const REFUSALS = [
  {
    status: 407,
    when: 'asks for a password',
    user: null,
    said: /the proxy \S+ \(\w+\) asks for a user and password \(407\): put them into HTTPS?_PROXY, as in /,
  },
  {
    status: 407,
    when: 'asks for another password',
    user: PASSWORD,
    said: /the proxy \S+ \(\w+\) refused the user and password of HTTPS?_PROXY \(407\): check them/,
  },
] as const

for (const scheme of SCHEMES)
  test.concurrent.for(REFUSALS)(
    `${scheme}: one that $when ends the run at once`,
    async ({ status, user, said }, context) => {
      const { trial, proxy, sync } = await begin(context)
      proxy.refusal = status
      const given = user === null ? `http://${proxy.host}` : withUser(proxy, user)
      const ended = await trial.runWarm(sync, {
        ...addressOf(scheme),
        [`${scheme.toUpperCase()}_PROXY`]: given,
      })
      expect(ended.code).toBe(4)
      expect(ended.stdout).toMatch(said)
      expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/the API (refused|rejected)/)
      expect(proxy.asked).toHaveLength(1)
      expect(await leaks(trial, ended)).toEqual([])
    },
  )

test.concurrent.for([403, 405])(
  'https: one that refuses CONNECT with %d ends the run',
  async (status, context) => {
    const { trial, proxy, sync } = await begin(context)
    proxy.refusal = status
    const env = addressOf('https')
    const ended = await trial.runWarm(sync, { ...env, HTTPS_PROXY: withUser(proxy) })
    expect(ended.code).toBe(4)
    expect(ended.stdout).toContain(
      `the proxy http://${proxy.host} (HTTPS_PROXY) refused to connect to ${HOST}:443 (${status}): see whether HTTPS_PROXY names an HTTP proxy that may reach it`,
    )
    expect(ended.stdout).not.toContain('the API refused')
    expect(proxy.asked).toHaveLength(1)
    // No tunnel, no request: the cap is not spent.
    expect(occupied(trial, env.FIELDWORK_SYNC_BASE_URL ?? '')).toBe(0)
  },
)

test.concurrent.for([
  [502, `could not connect to ${HOST}:443 (502)`],
  ['close', 'cannot be used: connection closed before the answer was complete (UND_ERR_SOCKET)'],
] as const)(
  'https: what may pass is tried as often as a request, and no more: %s',
  async ([refusal, said], context) => {
    const { trial, proxy, sync } = await begin(context)
    proxy.refusal = refusal
    const env = addressOf('https')
    const ended = await trial.runWarm(sync, { ...env, HTTPS_PROXY: withUser(proxy) })
    expect(ended.code).toBe(4)
    expect(ended.stdout).toContain(`after 3 attempts: the proxy http://${proxy.host} (HTTPS_PROXY) ${said}`)
    expect(proxy.asked).toHaveLength(3)
    expect(occupied(trial, env.FIELDWORK_SYNC_BASE_URL ?? '')).toBe(0)
  },
)

test.concurrent('a value that is no HTTP proxy is exit 2 before anything is requested', async (context) => {
  const { trial, sync } = await begin(context)
  const ended = await trial.runWarm(sync, {
    HTTP_PROXY: `socks5://user:${PASSWORD.replace('/', '%2F')}@proxy:1080`,
  })
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(
    'HTTP_PROXY: must be the address of an HTTP proxy, such as http://proxy.example:3128',
  )
  expect(trial.api.arrivals).toHaveLength(0)
  expect(await leaks(trial, ended)).toEqual([])
})

test.concurrent('conformance goes through it as well, and tells its refusal from the service', async (context) => {
  const { trial, proxy } = await begin(context)
  const args = ['conformance', '--max-requests', '4', '--log-level', 'debug']
  const ended = await trial.runWarm(args, { HTTP_PROXY: withUser(proxy) })
  expect(proxy.asked).toHaveLength(4)
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

const direct = async (
  context: Context,
  trial: Trial,
): Promise<{ baseUrl: string; certificates: Certificates }> => {
  const certificates = makeCertificates(await temporaryDirectory(context.onTestFinished), ['IP:127.0.0.1'])
  const port = await startTlsFront(trial.api.baseUrl, certificates, context.onTestFinished)
  return { baseUrl: `https://127.0.0.1:${port}/api/v1`, certificates }
}

test
  .skipIf(!HAS_OPENSSL)
  .concurrent('a CA of one own is believed with NODE_EXTRA_CA_CERTS, and not without', async (context) => {
    const { trial, check } = await begin(context)
    const { baseUrl, certificates } = await direct(context, trial)
    const env = { FIELDWORK_SYNC_BASE_URL: baseUrl }
    const without = await trial.run(check, env)
    expect(without).toMatchObject({ code: 4 })
    expect(without.stdout).toMatch(/its TLS certificate|issuer of its TLS certificate/)
    expect(trial.api.arrivals).toHaveLength(0)
    const believed = await trial.run(check, { ...env, NODE_EXTRA_CA_CERTS: certificates.caFile })
    expect(believed).toMatchObject({ code: 0 })
    expect(trial.api.arrivals).toHaveLength(1)
  })
