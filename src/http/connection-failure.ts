/** Why a connection failed, and whether the request can have been sent: a reset may come after the server has counted it. */
import { errors } from 'undici'
import { UpstreamError } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import type { Address } from './address.js'
import { type Passes, TransientError } from './errors.js'

const BEFORE_CONNECTED: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'host name not found in DNS'],
  ['EAI_AGAIN', 'DNS did not answer'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connecting timed out'],
])

const NO_TLS = 'its answer is not TLS: does this port speak https?'

/** These failures happen before anything is sent, and last until somebody changes a certificate or a setting. */
const OF_TLS: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'its TLS certificate has expired'],
  ['CERT_NOT_YET_VALID', 'its TLS certificate is not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its TLS certificate is self-signed'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its TLS certificate chain is self-signed'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its TLS certificate cannot be verified'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'the issuer of its TLS certificate is unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'the issuer of its TLS certificate is unknown'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its TLS certificate is for another host'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', NO_TLS],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', NO_TLS],
])

const ANY_TIME: ReadonlyMap<string, string> = new Map([
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection closed while sending'],
  ['ETIMEDOUT', 'connection timed out'],
  ['EHOSTUNREACH', 'host unreachable'],
  ['ENETUNREACH', 'network unreachable'],
  ['EPROTO', 'TLS failed'],
  ['UND_ERR_SOCKET', 'connection closed before the answer was complete'],
  ['UND_ERR_HEADERS_OVERFLOW', 'too many response headers'],
])

interface ConnectionFailure {
  readonly problem: string
  readonly certainlyUnsent: boolean
  readonly passes: Passes
}

/** Null if `error` is not a connection failure, and therefore a bug of ours. */
export const connectionFailure = (error: unknown): ConnectionFailure | null => {
  const notHttp = { problem: 'its answer is not HTTP', certainlyUnsent: false, passes: 'never' } as const
  if (error instanceof errors.HTTPParserError) return notHttp
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (typeof code !== 'string' || OUR_MISTAKES.has(code)) return null
  if (code.startsWith('HPE_')) return { ...notHttp, problem: `${notHttp.problem} (${code})` }
  const ofTls = OF_TLS.get(code)
  if (ofTls !== undefined) return { problem: `${ofTls} (${code})`, certainlyUnsent: true, passes: 'never' }
  const early = BEFORE_CONNECTED.get(code)
  return {
    problem: `${early ?? ANY_TIME.get(code) ?? 'connection failed'} (${code})`,
    certainlyUnsent: early !== undefined,
    passes: PASSES.get(code) ?? 'later',
  }
}

const PASSES: ReadonlyMap<string, Passes> = new Map([
  ['ENOTFOUND', 'if known'],
  ['UND_ERR_HEADERS_OVERFLOW', 'never'],
])

const OUR_MISTAKES: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'ERR_INVALID_ARG_TYPE',
  'ERR_INVALID_ARG_VALUE',
  'ERR_INVALID_URL',
])

// The failures of a proxy, each with its name. Through a tunnel (https) the answers of proxy and API are certainly distinct. Without
// one (http) only a 407 certainly comes from the proxy.

const theProxy = ({ address, variable }: HttpProxy): string => `the proxy ${address} (${variable})`

/** The other end of a connection, for messages. An https request has a connection to the API, through the proxy. */
export const peerOf = ({ host, origin }: Address, proxy: HttpProxy | null): string => {
  if (proxy === null) return host
  return origin.startsWith('https:') ? `${host} (through ${theProxy(proxy)})` : theProxy(proxy)
}

/** The proxy requires other credentials, or refuses to connect to the API. Every other request would fail in the same way. */
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

  constructor(
    proxy: HttpProxy,
    problem: string,
    options?: { readonly cause: unknown; readonly passes?: Passes | undefined },
  ) {
    super('proxy_failed', `${theProxy(proxy)} ${problem}`, options)
  }
}
