/** Readers for the address of a bucket. No problem quotes a value, because it may hold a password. */
import { bad, good, type Reader } from './readers.js'

export interface StorageUrl {
  readonly bucket: string
  readonly prefix: string
}

export const EXAMPLE_OF_URL = 's3://bucket/prefix'
const BUCKET = /^(?!.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
/** S3 allows keys of 1,024 bytes. The rest is for our own part of the key. */
const PREFIX_BYTES_MAX = 512

/** The prefix is read as written, without URL encoding. */
export const readStorageUrl: Reader<StorageUrl> = (value) => {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(String(value)) ?? []
  const problem = schemeProblem(scheme.toLowerCase())
  if (problem !== null) return bad(problem)
  const [, bucket = '', path = ''] = /^([^/]*)\/?(.*)$/s.exec(rest) ?? []
  if (bucket.includes('@'))
    return bad(
      'must not contain a user or password; the SDK finds the credentials, for instance in AWS_PROFILE',
    )
  if (/[?#]/.test(rest)) return bad('must not contain a query (?) or fragment (#)')
  if (bucket === '') return bad(`must name a bucket, such as ${EXAMPLE_OF_URL}`)
  if (!BUCKET.test(bucket))
    return bad(
      'must name a bucket of 3 to 63 lower-case letters, digits, dots and hyphens, which begins and ends with a letter or digit',
    )
  const prefix = path.replace(/\/+$/, '')
  if (/\p{C}/u.test(prefix)) return bad('must have only printable characters')
  if (prefix.split('/').some((part) => part === '.' || part === '..' || (part === '' && prefix !== '')))
    return bad('must have no empty part (//) and no part . or .. after the bucket')
  return Buffer.byteLength(prefix) <= PREFIX_BYTES_MAX
    ? good({ bucket, prefix })
    : bad(`must have at most ${PREFIX_BYTES_MAX} bytes after the bucket`)
}

const AZURE = ['abfs', 'abfss', 'adl', 'az', 'azure', 'wasb', 'wasbs']

const schemeProblem = (scheme: string): string | null => {
  if (scheme === 's3') return null
  if (scheme === 'gs' || scheme === 'gcs')
    return `must begin with s3://: Google Cloud Storage has no conditional writes in its S3 protocol, and without them two runs could overwrite each other. Use a store with the protocol of S3, such as ${EXAMPLE_OF_URL}`
  if (AZURE.includes(scheme))
    return `must begin with s3://: Azure has another protocol than S3. Use a store with the protocol of S3, such as ${EXAMPLE_OF_URL}`
  if (scheme === 'http' || scheme === 'https')
    return `must begin with s3://, such as ${EXAMPLE_OF_URL}; the address of the server belongs into storage.endpoint`
  return `must begin with s3://, such as ${EXAMPLE_OF_URL}`
}

export const readEndpoint: Reader<string> = (value) => {
  const example = 'such as https://minio.internal:9000'
  if (typeof value !== 'string' || !URL.canParse(value)) return bad(`must be the URL of a server, ${example}`)
  const { protocol, username, password, pathname, origin } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') return bad('must begin with https:// or http://')
  if (username !== '' || password !== '')
    return bad(
      'must not contain a user or password; the SDK finds the credentials, for instance in AWS_PROFILE',
    )
  if (/[?#]/.test(value)) return bad('must not contain a query (?) or fragment (#)')
  return /^\/*$/.test(pathname)
    ? good(origin)
    : bad(`must end after the host and port, ${example}; bucket and prefix belong into storage.url`)
}

export const readRegion: Reader<string> = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)
    ? good(value)
    : bad('must be the name of a region, such as eu-west-1')
