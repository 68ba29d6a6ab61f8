/**
 * The failures of a proxy between us and the API. Every message names the proxy. Through a tunnel (https) the answers of
 * proxy and API are certainly distinct. Without one (http) only a 407 certainly comes from the proxy.
 */
import { UpstreamError } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import type { Address } from './address.js'
import { TransientError } from './transient-errors.js'

const theProxy = ({ address, variable }: HttpProxy): string => `the proxy ${address} (${variable})`

/** The other end of a connection, for messages. An https request has a connection to the API, through the proxy. */
export const peerOf = ({ host, origin }: Address, proxy: HttpProxy | null): string => {
  if (proxy === null) return host
  return origin.startsWith('https:') ? `${host} (through ${theProxy(proxy)})` : theProxy(proxy)
}

/** The proxy requires other credentials, or refuses to connect to the API. Every other request would fail likewise. */
export class ProxyRefusedError extends UpstreamError {
  /** No byte of the request can have reached the API. */
  readonly certainlyUnsent: boolean

  /** `host` is the API's. `certainlyUnsent`: the proxy refused before it received the request. */
  constructor(proxy: HttpProxy, host: string, status: number, certainlyUnsent: boolean) {
    super('proxy_refused', `${theProxy(proxy)} ${refusalOf(proxy, host, status)}`)
    this.certainlyUnsent = certainlyUnsent
  }
}

const refusalOf = ({ variable, authorization }: HttpProxy, host: string, status: number): string => {
  // Some proxies, tinyproxy among them, answer 401 to wrong credentials.
  if (status !== 407 && status !== 401) {
    return `refused to connect to ${host} (${status}): check that ${variable} names an HTTP proxy that may connect to this host, or add the host to NO_PROXY`
  }
  return authorization === null
    ? `requires a user and password (${status}): put them into ${variable}, as in http://user:password@host:port`
    : `refused the user and password of ${variable} (${status}): check them`
}

/** There is no tunnel for now: the proxy cannot be reached, or cannot reach the API. Nothing of the request was sent. */
export class ProxyTroubleError extends TransientError {
  readonly certainlyUnsent = true

  /** `problem` is in words. */
  constructor(proxy: HttpProxy, problem: string, cause?: unknown) {
    super('proxy_failed', `${theProxy(proxy)} ${problem}`, { cause })
  }
}
