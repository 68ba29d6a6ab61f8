/**
 * Reads the proxies from the variables that curl, Go and Python also read. Each account's proxy is chosen once, so that it can be
 * shown before the first request (docs/decisions/settings-and-http.md#0024-the-proxy-is-chosen-before-the-first-request). No problem quotes
 * a value, because it may hold a password.
 */
import { BlockList, isIP } from 'node:net'
import type { HttpProxy } from '../base/network.js'
import { basicCredentials, Secret, secretsInUrl } from '../base/secret.js'
import { isLoopback } from './credentials.js'
import type { Environment } from './environment.js'
import type { Problem } from './problems.js'
import { bad, good, type Read } from './readers.js'
import type { SettingsValues } from './schema.js'

export interface Proxies {
  readonly http: HttpProxy | null
  readonly https: HttpProxy | null
  readonly noProxy: string
}

export const readProxies = (env: Environment): Proxies & { readonly problems: readonly Problem[] } => {
  const problems: Problem[] = []
  const read = (name: string): HttpProxy | null => {
    const { variable, value } = variableOf(env, name)
    // People unset a variable for one command by an empty value.
    if (value === '') return null
    const outcome = readProxy(variable, value)
    if (outcome.ok) return outcome.value
    problems.push({ where: variable, text: outcome.problem })
    return null
  }
  const [http, https] = [read('HTTP_PROXY'), read('HTTPS_PROXY')]
  return { http, https, noProxy: variableOf(env, 'NO_PROXY').value, problems }
}

/** The proxy for an address; null for direct requests. */
export const proxyFor = (baseUrl: string, { http, https, noProxy }: Proxies): HttpProxy | null => {
  const url = new URL(baseUrl)
  return isExcepted(url, noProxy) ? null : url.protocol === 'https:' ? https : http
}

/**
 * Why `what` must not be sent to `url`, because it would cross a network in plain text, on the way to the proxy or to the host. Null if it
 * may be sent.
 */
export const plainProblem = (
  what: string,
  url: string,
  proxy: HttpProxy | null,
  { allow_insecure_http: isAllowed }: Pick<SettingsValues, 'allow_insecure_http'>,
): string | null => {
  if (isAllowed || new URL(url).protocol !== 'http:') return null
  if (isLoopback(url) && (proxy === null || isLoopback(proxy.address))) return null
  const to = isLoopback(url)
    ? `to the proxy of ${proxy?.variable}; name the host in NO_PROXY`
    : 'to another host; use https'
  return `would send ${what} over plain http ${to}, or set allow_insecure_http: true in the settings file`
}

/** A variable with a name in lower case overrides the one in upper case. */
const variableOf = (
  env: Environment,
  name: string,
): { readonly variable: string; readonly value: string } => {
  const lower = env[name.toLowerCase()]
  return lower === undefined
    ? { variable: name, value: env[name]?.trim() ?? '' }
    : { variable: name.toLowerCase(), value: lower.trim() }
}

const NOT_A_PROXY =
  'must be the address of an HTTP proxy, such as http://proxy.example:3128 or http://user:password@proxy.example:3128'

const readProxy = (variable: string, value: string): Read<HttpProxy> => {
  const address = withScheme(value)
  if (/^socks/i.test(address)) return bad(`names a SOCKS proxy, which is not supported; it ${NOT_A_PROXY}`)
  if (!URL.canParse(address)) return bad(NOT_A_PROXY)
  const url = new URL(address)
  const { protocol, host, username, password } = url
  if ((protocol !== 'http:' && protocol !== 'https:') || host === '') return bad(NOT_A_PROXY)
  const hasUser = username !== '' || password !== ''
  const encoded = basicCredentials(url)
  return good({
    address: `${protocol}//${host}`,
    variable,
    authorization: hasUser ? new Secret(`Basic ${encoded}`) : null,
    secrets: hasUser ? [new Secret(encoded), ...secretsInUrl(new Secret(address))] : [],
  })
}

/** As for curl, `host:port` names an HTTP proxy. Without this, `URL` would take the host or the user for the scheme. */
const withScheme = (value: string): string =>
  /^([a-z][a-z0-9+.-]*:)?\//i.test(value) ? value : `http://${value}`

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** Whether NO_PROXY names the host. NO_PROXY is read as by curl and Go, networks included. */
const isExcepted = ({ protocol, hostname, port }: URL, noProxy: string): boolean => {
  const host = bare(hostname)
  const ownPort = port === '' ? DEFAULT_PORTS[protocol] : port
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '' || entry === '*') return entry === '*'
      const [, name = entry, ofPort = ownPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? []
      return ofPort === ownPort && names(bare(name.replace(/^\*?\./, '')), host)
    })
}

/** The host without the brackets of an IPv6 address and without a dot at its end. */
const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

const names = (entry: string, host: string): boolean =>
  isIP(host) === 0 ? host === entry || host.endsWith(`.${entry}`) : isInNetwork(entry, host)

/** `entry` is an address or `address/bits`. */
const isInNetwork = (entry: string, host: string): boolean => {
  const version = isIP(host)
  const bitsMax = version === 6 ? 128 : 32
  const [address = '', bits = String(bitsMax), ...more] = entry.split('/')
  if (isIP(address) !== version || !/^\d{1,3}$/.test(bits) || Number(bits) > bitsMax || more.length > 0)
    return false
  const network = new BlockList()
  const family = version === 6 ? 'ipv6' : 'ipv4'
  network.addSubnet(address, Number(bits), family)
  return network.check(host, family)
}
