/** Why no store answered, in one line, for every client: the network, a certificate, or a server that is no object store. */
import { messageOf } from '../base/errors.js'

const SYSTEM_CODE = /^E[A-Z0-9_]+$/
/** Such as `connect ECONNREFUSED 10.0.0.1:9000`, which names the server. Other messages may quote a whole address. */
const SYSTEM_MESSAGE = /^[a-z]+ E[A-Z0-9_]+ \S+$/

const isTls = (code: string): boolean => /CERT|_TLS_|SIGNATURE|ISSUER/.test(code)

/** `check` names what to check beside the network. Null if the error has another reason. */
export const unreachable = (error: unknown, check: string): string | null => {
  const { name } = error instanceof Error ? error : { name: '' }
  // Some clients report a body that breaks off as an AbortError. An abort of ours never gets here.
  const reset = name === 'AbortError' ? 'ECONNRESET' : ''
  const code = error instanceof Error && 'code' in error ? String(error.code) : reset
  if (isTls(code))
    return `the certificate of the server is not trusted (${code}); give its authority by NODE_EXTRA_CA_CERTS`
  if (SYSTEM_CODE.test(code))
    return notReached(SYSTEM_MESSAGE.test(messageOf(error)) ? messageOf(error) : code, check)
  return name === 'TimeoutError' ? notReached('no answer in time', check) : null
}

const notReached = (why: string, check: string): string =>
  `the server cannot be reached (${why}); check ${check} and the network`

export const notOfAStore = (status: number): string =>
  status >= 500
    ? `the store, or a proxy before it, failed (${status}); try again later`
    : `the answer is not of an object store (${status}); check storage.endpoint`

const MESSAGE_CHARACTERS_MAX = 300

/** Without the id of an access key of AWS. */
export const oneLine = (error: unknown): string =>
  (messageOf(error).split('\n')[0] ?? '')
    .replaceAll(/\b(AKIA|ASIA)[A-Z0-9]{12,}\b/g, '[redacted]')
    .slice(0, MESSAGE_CHARACTERS_MAX)
