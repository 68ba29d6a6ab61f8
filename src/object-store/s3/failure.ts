/** Says in one line why the store failed and what to check. Never quotes a credential or the id of an access key. */
import { S3ServiceException } from '@aws-sdk/client-s3'
import { z } from 'zod'
import { notOfAStore, oneLine, unreachable } from '../unreachable.js'

/** The HTTP status of an answer that the SDK made an error of; null for any other error. */
export const statusOf = (error: unknown): number | null =>
  error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? null) : null

/** The store's own name for the error, such as `NoSuchKey`. */
export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

const CREDENTIALS =
  'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role of the pod or the machine'

/** Codes for a token or signature that the store does not accept. AWS answers some of them with 400. */
const REFUSED_CREDENTIALS = [
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
  'TokenRefreshRequired',
]
const WRONG_REGION = [
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'PermanentRedirect',
]

export const reasonOf = (error: unknown): string => {
  const [status, name] = [statusOf(error), nameOf(error)]
  if (error instanceof S3ServiceException && status !== null) return answered(error, status)
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError')
    return `no credentials were found; set ${CREDENTIALS}`
  const network = unreachable(error, 'storage.endpoint, the region')
  if (network !== null) return network
  const unreadable = unreadableAnswer.safeParse(error)
  return unreadable.success ? notOfAStore(unreadable.data.$response.statusCode) : oneLine(error)
}

/** The SDK keeps the answer that it could not read beside its error. */
const unreadableAnswer = z.object({ $response: z.object({ statusCode: z.number() }) })

const answered = (error: S3ServiceException, status: number): string => {
  const { name } = error
  const answer = `${status} ${name}`
  if (name === 'NoSuchBucket') return 'there is no such bucket; create it, or correct storage.url'
  if (status === 301 || WRONG_REGION.includes(name)) {
    const region = error.$response?.headers['x-amz-bucket-region']
    return `the bucket is in another region (${answer}); set storage.region${region === undefined ? '' : ` to ${region}`}`
  }
  if (REFUSED_CREDENTIALS.includes(name))
    return `the credentials were refused (${answer}); check ${CREDENTIALS}`
  if (name === 'RequestTimeTooSkewed')
    return `the clock of this machine differs from the store's (${answer}); correct it`
  if (status === 401 || status === 403)
    return `refused (${answer}); check that the credentials may get, put, list and delete objects below this address: ${CREDENTIALS}`
  if (status === 429 || status === 503)
    return `the store is overloaded (${answer}${tries(error)}); try again later`
  // Servers without conditional writes answer 501 to If-None-Match and If-Match.
  if (status === 501)
    return `the store lacks something that is needed, such as conditional writes (${answer}); use another store, or a newer version of its server`
  if (status >= 500) return `the store failed (${answer}${tries(error)}); try again later`
  if (status === 404) return notOfAStore(status)
  return `${answer}: ${oneLine(error)}`
}

const tries = ({ $metadata: { attempts = 1 } }: S3ServiceException): string =>
  attempts === 1 ? '' : ` after ${attempts} attempts`
