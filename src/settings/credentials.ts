/**
 * Reads the values of an account. No problem quotes a value: people swap the identifier, the address and the token, and
 * a token in the wrong place must not reach a terminal.
 */
import { canBeHeader } from '../base/header-text.js'
import { Secret, secretsInUrl } from '../base/secret.js'
import { bad, good, type Reader, readPath } from './readers.js'

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

/** Readers for the addresses that get requests about a run. No problem quotes a value, because an address may be a secret. */

/** An address such as that of a webhook, whose path is often its only protection. */
export const readNotifyUrl: Reader<Secret> = (value) => {
  const problem = problemOf(value, 'such as https://hc-ping.com/8d0f…')
  return typeof value === 'string' && problem === null ? good(new Secret(value)) : bad(problem ?? '')
}

/** `http://pushgateway:9091`, or with the job and labels of the group: `…/metrics/job/fieldwork_sync/instance/research`. */
export const readPushgatewayUrl: Reader<Secret> = (value) => {
  const problem = problemOf(value, 'such as http://pushgateway:9091')
  if (typeof value !== 'string' || problem !== null) return bad(problem ?? '')
  if (value.includes('?')) return bad('must not contain a query (?)')
  const [, group = ''] = /\/metrics\/job(@base64)?\/(.*?)\/*$/.exec(new URL(value).pathname)?.slice(1) ?? []
  return group === '' || group.split('/').length % 2 === 1
    ? good(new Secret(value))
    : bad('must end with the address, or with /metrics/job/NAME followed by pairs of /LABEL/VALUE')
}

const problemOf = (value: unknown, example: string): string | null => {
  if (typeof value !== 'string' || !URL.canParse(value)) return `must be a URL, ${example}`
  const { protocol } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https:// or http://'
  if (value !== value.trim() || /[\p{Cc}\s]/u.test(value)) return 'must not contain white space'
  return value.includes('#') ? 'must not contain a fragment (#)' : null
}

/** node-exporter reads only files with this ending. */
export const readMetricsFile: Reader<string> = (value) => {
  const path = readPath(value)
  return path.ok && !path.value.endsWith('.prom')
    ? bad('must end with .prom, because node-exporter reads no other files')
    : path
}

/** Other parts of a path, such as `services`, are ordinary words. Redacting them would leave holes in messages. */
const IS_RANDOM = /^(?=.*\d).{12,}$/
/** A shorter path, such as `/hook`, is no secret. */
const PATH_LENGTH_MIN = 10

/** The parts of such an address that must never be visible: everything after the host, and a password. */
export const secretsInAddress = (url: Secret): readonly Secret[] => {
  const { href, pathname, search } = new URL(url.reveal())
  const path = `${pathname}${search}`
  const parts = path.split(/[/?&=]/).filter((part) => IS_RANDOM.test(part))
  const hidden = [href, ...(path.length < PATH_LENGTH_MIN ? [] : [path]), ...parts]
  return [url, ...hidden.map((part) => new Secret(part)), ...secretsInUrl(url)]
}

/** Readers for the address of a bucket. No problem quotes a value, because it may hold a password. */

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

/** Reads the settings of a shared cap: the Redis that holds it, and the fallback while that Redis is away. */

/** Address of the Redis. No problem quotes it, because it may hold a password. */
export const readRedisUrl: Reader<Secret> = (value) => {
  const problem =
    'must be the URL of a Redis, such as redis://redis:6379 or rediss://user:password@host:6380/0'
  if (typeof value !== 'string' || !URL.canParse(value)) return bad(problem)
  const { protocol, hostname, pathname, search, hash } = new URL(value)
  const isRedis = protocol === 'redis:' || protocol === 'rediss:'
  // The client would read options from a query, such as a password and another database.
  const isPlain = search === '' && hash === '' && /^\/?\d{0,3}$/.test(pathname)
  return isRedis && hostname !== '' && isPlain ? good(new Secret(value)) : bad(problem)
}

/** `stop`, or how many requests this process may send without Redis. */
export type Fallback =
  | { readonly kind: 'stop' }
  | { readonly kind: 'percentage'; readonly percent: number }
  | { readonly kind: 'count'; readonly requests: number }

export const readFallback: Reader<Fallback> = (value) => {
  if (value === 'stop') return good({ kind: 'stop' })
  const percent = typeof value === 'string' ? Number(/^(\d{1,3})%$/.exec(value)?.[1]) : Number.NaN
  if (percent >= 1 && percent <= 100) return good({ kind: 'percentage', percent })
  const requests = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value
  return typeof requests === 'number' && Number.isInteger(requests) && requests >= 1 && requests <= 10_000
    ? good({ kind: 'count', requests })
    : bad('must be stop, a percentage of the cap such as 50%, or a number of requests such as 20')
}

/** Requests per window of this process while Redis is away; null to stop instead, 0 if the percentage gives less than one. */
export const fallbackOf = (setting: Fallback, cap: number): number | null => {
  if (setting.kind === 'stop') return null
  return setting.kind === 'count' ? setting.requests : Math.floor((cap * setting.percent) / 100)
}
