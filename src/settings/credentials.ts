/**
 * The values an account is made of. None of these problems quotes the value: people swap the identifier, the
 * address and the token, and a token must not reach a terminal because it stood in the wrong place.
 */
import { canBeHeader } from '../base/header-text.js'
import { Secret } from '../base/secret.js'
import { bad, good, type Reader } from './readers.js'

/** Where the API lives, without a slash at its end (API document, "What the service does"). */
export const readBaseUrl: Reader<string> = (value) => {
  if (typeof value !== 'string' || !URL.canParse(value)) {
    return bad('must be a URL such as https://host.example/api/v1')
  }
  const url = new URL(value)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return bad('must begin with https:// or http://')
  if (url.username !== '' || url.password !== '') {
    return bad('must not contain a user or password; the credentials have settings of their own')
  }
  if (/[?#]/.test(value)) return bad('must not contain a query (?) or fragment (#)')
  const path = url.pathname.replace(/\/+$/, '')
  return path.endsWith('/api/v1') ? good(`${url.origin}${path}`) : bad('must end with /api/v1')
}

const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/

/** Whether a URL is one of this machine. */
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

/** The secret token, header Authorization-Token. Only what a header can carry is a token. */
export const readToken: Reader<Secret> = (value) => {
  if (typeof value !== 'string') return bad('must be text; put the token in quotes')
  if (value.trim() === '') return bad('is empty; it must be the secret token of the account')
  // A byte order mark is white space too.
  if (value !== value.trim()) return bad('begins or ends with white space; a header cannot carry that')
  if (value.length > TOKEN_LENGTH_MAX) {
    return bad(`is longer than ${TOKEN_LENGTH_MAX} characters; that is not a token`)
  }
  return canBeHeader(value)
    ? good(new Secret(value))
    : bad('contains a line break, control character or non-ASCII character; a header cannot carry that')
}

/** Names end up in a column and in file paths of every published partition. */
export const readAccountName: Reader<string> = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
    ? good(value)
    : bad('must be 1 to 64 letters, digits, _ or -')
