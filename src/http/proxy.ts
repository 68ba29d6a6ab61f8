/**
 * What a proxy between us and the API may say or fail with. None of it is the API's answer, and every message names the proxy. Through a tunnel
 * (https) the two can be told apart with certainty; of a plain request (http) only a 407 is the proxy's for certain.
 */
import { UpstreamError } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import type { Address } from './address.js'
import { TransientError } from './transient-errors.js'

const theProxy = ({ address, variable }: HttpProxy): string => `the proxy ${address} (${variable})`

/** Whom a connection is to, for messages: an https request has one to the API, through the proxy. */
export const peerOf = ({ host, origin }: Address, proxy: HttpProxy | null): string => {
  if (proxy === null) return host
  return origin.startsWith('https:') ? `${host} (through ${theProxy(proxy)})` : theProxy(proxy)
}

/** The proxy wants other credentials, or does not let us reach the API: no other request would fare better. */
export class ProxyRefusedError extends UpstreamError {
  readonly code = 'proxy_refused'
  readonly endsRun = true
  /** Not a byte of the request can have reached the API. */
  readonly certainlyUnsent: boolean

  /** `host` is the API's; `certainlyUnsent` where it refused before it got the request. */
  constructor(proxy: HttpProxy, host: string, status: number, certainlyUnsent: boolean) {
    super(`${theProxy(proxy)} ${refusalOf(proxy, host, status)}`)
    this.certainlyUnsent = certainlyUnsent
  }
}

const refusalOf = ({ variable, authorization }: HttpProxy, host: string, status: number): string => {
  if (status !== 407) {
    return `refused to connect to ${host} (${status}): see whether ${variable} names an HTTP proxy that may reach it, or name the host in NO_PROXY`
  }
  return authorization === null
    ? `asks for a user and password (407): put them into ${variable}, as in http://user:password@host:port`
    : `refused the user and password of ${variable} (407): check them`
}

/** No tunnel for now: the proxy cannot be reached, or cannot reach the API. Not a byte of the request has left. */
export class ProxyTroubleError extends TransientError {
  readonly code = 'proxy_failed'
  readonly certainlyUnsent = true

  /** `problem` is in words. */
  constructor(proxy: HttpProxy, problem: string, cause?: unknown) {
    super(`${theProxy(proxy)} ${problem}`, { cause })
  }
}
