/**
 * Why a connection failed, in words, and whether the request can have been sent. It certainly was not if the connection
 * was never established. A reset may come after the server has read and counted the request.
 */
import { errors } from 'undici'

interface ConnectionFailure {
  readonly problem: string
  readonly certainlyUnsent: boolean
}

const BEFORE_CONNECTED: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'host name not found in DNS'],
  ['EAI_AGAIN', 'DNS did not answer'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connecting timed out'],
  ['CERT_HAS_EXPIRED', 'its TLS certificate has expired'],
  ['CERT_NOT_YET_VALID', 'its TLS certificate is not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its TLS certificate is self-signed'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its TLS certificate chain is self-signed'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its TLS certificate cannot be verified'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'the issuer of its TLS certificate is unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'the issuer of its TLS certificate is unknown'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its TLS certificate is for another host'],
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

/** Null if `error` is not a connection failure: it is a bug of ours then. */
export const connectionFailure = (error: unknown): ConnectionFailure | null => {
  if (error instanceof errors.HTTPParserError) {
    return { problem: 'its answer is not HTTP', certainlyUnsent: false }
  }
  const code = codeOf(error)
  if (code === null || OUR_MISTAKES.has(code)) return null
  const early = BEFORE_CONNECTED.get(code)
  if (early !== undefined) return { problem: `${early} (${code})`, certainlyUnsent: true }
  const words =
    ANY_TIME.get(code) ?? (code.startsWith('HPE_') ? 'its answer is not HTTP' : 'connection failed')
  return { problem: `${words} (${code})`, certainlyUnsent: false }
}

/** undici's errors about wrong calls. */
const OUR_MISTAKES: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'ERR_INVALID_ARG_TYPE',
  'ERR_INVALID_ARG_VALUE',
  'ERR_INVALID_URL',
])

const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
