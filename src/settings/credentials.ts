/**
 * Reads the values of an account. No problem quotes a value: people swap the identifier, the address and the token, and
 * a token in the wrong place must not reach a terminal.
 */
import { canBeHeader } from '../base/header-text.js'
import { Secret } from '../base/secret.js'
import { bad, good, type Reader } from './readers.js'

/** Address of the API, without a slash at its end (API document, "What the service does"). */
export const readBaseUrl: Reader<string> = (value) => {
  if (typeof value !== 'string' || !URL.canParse(value)) {
    return bad('must be a URL such as https://host.example/api/v1')
  }
  const url = new URL(value)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return bad('must begin with https:// or http://')
  if (url.username !== '' || url.password !== '') {
    return bad('must not contain a user or password; put the credentials into id and token')
  }
  if (/[?#]/.test(value)) return bad('must not contain a query (?) or fragment (#)')
  const path = url.pathname.replace(/\/+$/, '')
  return path.endsWith('/api/v1') ? good(`${url.origin}${path}`) : bad('must end with /api/v1')
}

const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/

/** Whether a URL is an address of this machine. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname)

/** Whether a token sent to `baseUrl` crosses a network in plain text. */
export const isPlainRemote = (baseUrl: string): boolean =>
  new URL(baseUrl).protocol === 'http:' && !isLoopback(baseUrl)

/** The caller's identifier, header Authorization-ID (API document, "Authentication"). */
export const readId: Reader<number> = (value) => {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return typeof id === 'number' && Number.isSafeInteger(id) && id > 0
    ? good(id)
    : bad('must be the identifier of the account: a whole number from 1')
}

const TOKEN_LENGTH_MAX = 8_192

/** The secret token, header Authorization-Token. It must fit into a header. */
export const readToken: Reader<Secret> = (value) => {
  if (typeof value !== 'string') return bad('must be text')
  if (value.trim() === '') return bad('is empty; it must be the secret token of the account')
  // `trim` removes a byte order mark too.
  if (value !== value.trim()) return bad('begins or ends with white space; a header cannot carry that')
  if (value.length > TOKEN_LENGTH_MAX) {
    return bad(`is longer than ${TOKEN_LENGTH_MAX} characters; a token is shorter`)
  }
  return canBeHeader(value)
    ? good(new Secret(value))
    : bad('contains a line break, control character or non-ASCII character; a header cannot carry that')
}

/** The name of an account. It appears in a column and in the file paths of published partitions. */
export const readAccountName: Reader<string> = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
    ? good(value)
    : bad('must be 1 to 64 letters, digits, _ or -')
