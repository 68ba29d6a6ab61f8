/** Says in one line why the store failed and what to check. Never quotes a credential. */
import { RestError } from '@azure/storage-blob'
import { notOfAStore, oneLine, unreachable } from '../unreachable.js'

/** The store's own name for the error, such as `BlobNotFound`; empty if the answer has none, or there is no answer. */
export const codeOf = (error: unknown): string =>
  error instanceof RestError && error.response !== undefined
    ? (error.response.headers.get('x-ms-error-code') ?? '')
    : ''

const CREDENTIALS =
  'AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or the identity of the pod or the machine'

export const reasonOf = (error: unknown): string => {
  if (error instanceof RestError && error.statusCode !== undefined) return answered(error, error.statusCode)
  const name = error instanceof Error ? error.name : ''
  if (name === 'CredentialUnavailableError' || name === 'AggregateAuthenticationError')
    return `no credentials were found; set ${CREDENTIALS}`
  if (name === 'AuthenticationError' || name === 'AuthenticationRequiredError')
    return `the identity was refused (${oneLine(error)}); check AZURE_CLIENT_ID, AZURE_TENANT_ID and its federated credential`
  return unreachable(error, 'AZURE_STORAGE_ACCOUNT, storage.endpoint') ?? oneLine(error)
}

const answered = (error: RestError, status: number): string => {
  const code = codeOf(error)
  const answer = `${status} ${code}`.trim()
  if (code === 'ContainerNotFound' || code === 'ContainerBeingDeleted')
    return 'there is no such container; create it, or correct storage.url'
  if (code === 'AccountRequiresHttps') return `the account requires https (${answer}); check storage.endpoint`
  if (isClockWrong(error)) return `the clock of this machine differs from the store's (${answer}); correct it`
  if (code === 'AuthenticationFailed' || code === 'InvalidAuthenticationInfo')
    return `the credentials were refused (${answer}); check ${CREDENTIALS}`
  if (status === 401 || status === 403)
    return `refused (${answer}); check that the credentials may read, write, list and delete blobs in this container, such as with the role Storage Blob Data Contributor, and that the firewall of the account admits this machine: ${CREDENTIALS}`
  if (status === 429 || status === 503) return `the store is overloaded (${answer}); try again later`
  if (code === '') return notOfAStore(status)
  if (status >= 500) return `the store failed (${answer}); try again later`
  return `${answer}: ${oneLine(error)}`
}

/** If our clock differs from the store's by more than this, a refusal is due to the clock: the store answers as for a wrong key. */
const CLOCK_MS_MAX = 14 * 60_000

const isClockWrong = ({ statusCode, response }: RestError): boolean =>
  statusCode === 403 && Math.abs(Date.parse(response?.headers.get('date') ?? '') - Date.now()) > CLOCK_MS_MAX
