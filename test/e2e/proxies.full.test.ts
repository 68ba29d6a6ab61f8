/** A sync through the environment's proxy: what the proxy sees, and how its refusals differ from those of the API. */
import { expect, test } from 'vitest'
import { TOKEN } from '../support/api/scripted-api.js'
import type { Env } from '../support/command/command.js'
import type { Trial } from '../support/command/trial.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { makeCertificates } from '../support/servers/certificates.js'
import type { TestProxy } from '../support/servers/proxy.js'
import { startTlsFront } from '../support/servers/tls-front.js'
import { lacks } from '../support/suite/lacks.js'
import { begin, type Context, CREDENTIALS, HOST, leaks, withUser } from './proxies-shared.js'

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

test.concurrent('http: the proxy gets whole URLs, and the API gets the usual requests', async (context) => {
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
  .skipIf(lacks('openssl'))
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
