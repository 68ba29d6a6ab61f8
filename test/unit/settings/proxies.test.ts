/** The proxy of an account, and the problem that is reported for an unusable one. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ACCOUNT_ENV, load, problemsOf } from '../../support/settings/settings-from-yaml.js'

const PASSWORD = 'pr0xy-p@ss/word'
const WITH_USER = `http://user:${encodeURIComponent(PASSWORD)}@proxy.example:3128`

const proxyOf = async (env: Readonly<Record<string, string>>, baseUrl = 'https://api.example/api/v1') =>
  (await load({ env: { ...ACCOUNT_ENV, FIELDWORK_SYNC_BASE_URL: baseUrl, ...env } })).accounts[0]?.proxy ??
  null

describe('the proxy variables', () => {
  const HTTP = 'http://127.0.0.1:8080/api/v1'
  const CASES: readonly (readonly [string, Readonly<Record<string, string>>, string | null, string?])[] = [
    ['no variable means no proxy', {}, null],
    ['HTTPS_PROXY applies to https', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1'],
    ['HTTPS_PROXY does not apply to http', { HTTPS_PROXY: 'http://p:1' }, null, HTTP],
    [
      'HTTP_PROXY applies to http, also for loopback',
      { HTTP_PROXY: 'http://[::1]:1' },
      'http://[::1]:1',
      HTTP,
    ],
    ['HTTP_PROXY does not apply to https', { HTTP_PROXY: 'http://p:1' }, null],
    ['names in lower case are read', { https_proxy: 'http://p:1' }, 'http://p:1'],
    ['they take precedence', { https_proxy: 'http://low:1', HTTPS_PROXY: 'http://up:1' }, 'http://low:1'],
    ['and if they are empty, there is no proxy', { https_proxy: '', HTTPS_PROXY: 'http://up:1' }, null],
    ['a proxy may use TLS', { HTTPS_PROXY: 'https://p' }, 'https://p'],
    ['a proxy may have an IPv6 address', { HTTPS_PROXY: 'http://[::1]:3128/' }, 'http://[::1]:3128'],
    ...['proxy:3128', 'user:p@ss@proxy:3128/', 'HTTP://proxy:3128', ' proxy:3128 '].map(
      (value) => [`${value} is read as curl reads it`, { HTTPS_PROXY: value }, 'http://proxy:3128'] as const,
    ),
    ['a host without port and scheme', { https_proxy: 'localhost' }, 'http://localhost'],
    ['an IPv6 address without scheme', { https_proxy: '[::1]:3128' }, 'http://[::1]:3128'],
  ]
  const cases = CASES.map(([what, env, address, baseUrl]) => ({ what, env, address, baseUrl }))
  test.each(cases)('$what', async ({ env, address, baseUrl }) => {
    expect((await proxyOf(env, baseUrl))?.address ?? null).toBe(address)
  })
})

describe('NO_PROXY', () => {
  test.each<readonly [noProxy: string, host: string, isExcepted: boolean]>([
    ['api.example', 'api.example', true],
    ['example', 'api.example', true],
    ['.example', 'api.example', true],
    ['*.example', 'api.example', true],
    ['API.Example.', 'api.example', true],
    ['api.example', 'api.example.', true],
    ['other.example, api.example', 'api.example', true],
    ['other.example api.example', 'api.example', true],
    ['*', 'api.example', true],
    ['pi.example', 'api.example', false],
    ['x.api.example', 'api.example', false],
    ['', 'api.example', false],
    [',', 'api.example', false],
    ['api.example:443', 'api.example', true],
    ['api.example:8443', 'api.example', false],
    ['api.example:8443', 'api.example:8443', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['2.3', '10.1.2.3', false],
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8:443', '10.1.2.3', true],
    ['10.0.0.0/8', '11.1.2.3', false],
    ['10.0.0.0/99', '10.1.2.3', false],
    ['10.0.0.0/8/8', '10.1.2.3', false],
    ['0.0.0.0/0', 'api.example', false],
    ['::1', '[::1]', true],
    ['[::1]:443', '[::1]', true],
    ['0:0:0:0:0:0:0:1', '[::1]', true],
    ['fd00::/8', '[fd12::1]', true],
    ['10.0.0.0/8', '[fd12::1]', false],
  ])('%j excepts %s: %s', async (noProxy, host, isExcepted) => {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: noProxy }
    expect((await proxyOf(env, `https://${host}/api/v1`)) === null).toBe(isExcepted)
  })
})

test.each([
  'ftp://proxy',
  'http://',
  '//proxy:3128',
  ':3128',
  '://proxy:3128',
  'proxy:port',
  'http:proxy:3128',
  'http://u:p@:1',
  'a proxy',
])('the proxy %s is refused in one line with the variable but without its value', async (value) => {
  const problem =
    'must be the address of an HTTP proxy, such as http://proxy.example:3128 or http://user:password@proxy.example:3128'
  expect(await problemsOf({ env: { ...ACCOUNT_ENV, HTTPS_PROXY: value } })).toEqual([
    `HTTPS_PROXY: ${problem}`,
  ])
  expect(await problemsOf({ env: { ...ACCOUNT_ENV, http_proxy: value } })).toEqual([`http_proxy: ${problem}`])
})

test.each(['socks5://proxy:1080', 'SOCKS5H://u:p@proxy', 'socks4a://proxy:1080', 'socks://proxy'])(
  'the SOCKS proxy %s is called unsupported',
  async (value) => {
    expect(await problemsOf({ env: { ...ACCOUNT_ENV, HTTPS_PROXY: value } })).toEqual([
      expect.stringMatching(
        /^HTTPS_PROXY: names a SOCKS proxy, which is not supported; it must be the address/,
      ),
    ])
  },
)

test('the password of a proxy is in no message and in no printed settings', async () => {
  const broken = `socks5://user:${encodeURIComponent(PASSWORD)}@proxy:1080`
  expect(JSON.stringify(await problemsOf({ env: { ...ACCOUNT_ENV, HTTPS_PROXY: broken } }))).not.toMatch(
    /pr0xy|user:p[^a]/,
  )
  for (const value of [WITH_USER, WITH_USER.slice('http://'.length)]) {
    const proxy = await proxyOf({ HTTPS_PROXY: value })
    expect(proxy?.address).toBe('http://proxy.example:3128')
    expect(proxy?.authorization?.reveal()).toBe(`Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`)
    expect(proxy?.secrets.map((secret) => secret.reveal())).toContain(PASSWORD)
    expect(`${inspect(proxy, { depth: 9 })}${JSON.stringify(proxy)}`).not.toMatch(/pr0xy/)
  }
})

test('a command that sends no requests ignores the proxy variables', async () => {
  expect(await problemsOf({ env: { HTTPS_PROXY: 'ftp://proxy' }, requireAccounts: false })).toEqual([])
})

test('plain http through a proxy on another host is refused unless it is allowed', async () => {
  const env = { ...ACCOUNT_ENV, FIELDWORK_SYNC_BASE_URL: 'http://127.0.0.1:8080/api/v1' }
  const remote = { ...env, HTTP_PROXY: WITH_USER }
  expect(await problemsOf({ env: remote })).toEqual([
    'FIELDWORK_SYNC_BASE_URL: would send the token over plain http to the proxy of HTTP_PROXY; name the host in NO_PROXY, or set allow_insecure_http: true in the settings file',
  ])
  expect(await problemsOf({ env: remote, yaml: 'allow_insecure_http: true\n' })).toEqual([])
  expect(await problemsOf({ env: { ...remote, no_proxy: '127.0.0.1' } })).toEqual([])
  expect(await problemsOf({ env: { ...env, HTTP_PROXY: 'http://localhost:3128' } })).toEqual([])
})
