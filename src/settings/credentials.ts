/**
 * Reads credentials and addresses. No problem quotes a value: it may hold a password, people swap the identifier, the address and the
 * token, and a token in the wrong place must not reach a terminal.
 */
import { canBeHeader } from '../base/network.js'
import { Secret, secretsInUrl } from '../base/secret.js'
import type { MailAddress } from '../model/monitoring.js'
import {
  bad,
  good,
  type Read,
  type Reader,
  readerOf,
  readPath,
  readRateRequests,
  wholeNumberFrom,
} from './readers.js'

/** The address of a server over http, without credentials, query and fragment. */
const serverUrl =
  (what: string, credentials: string, read: (url: URL) => Read<string>): Reader<string> =>
  (value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return bad(`must be ${what}`)
    const url = new URL(value)
    if (!/^https?:$/.test(url.protocol)) return bad(NOT_HTTP)
    if (url.username !== '' || url.password !== '')
      return bad(`must not contain a user or password; ${credentials}`)
    return /[?#]/.test(value) ? bad(NO_QUERY) : read(url)
  }

const NOT_HTTP = 'must begin with https:// or http://'
const NO_QUERY = 'must not contain a query (?) or fragment (#)'

const textLike =
  (pattern: RegExp, problem: string): Reader<string> =>
  (value) =>
    typeof value === 'string' && pattern.test(value) ? good(value) : bad(problem)

/** Address of the API, without a slash at its end (API document, "What the service does"). */
export const readBaseUrl = serverUrl(
  'a URL such as https://host.example/api/v1',
  'put the credentials into id and token',
  ({ origin, pathname }) => {
    const path = pathname.replace(/\/+$/, '')
    return path.endsWith('/api/v1') ? good(`${origin}${path}`) : bad('must end with /api/v1')
  },
)

const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/

/** Whether a URL is an address of this machine. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname)

/** The caller's identifier, header Authorization-ID (API document, "Authentication"). */
export const readId: Reader<number> = (value) => {
  const read = readerOf(wholeNumberFrom(1, Number.MAX_SAFE_INTEGER))(value)
  return read.ok ? read : bad('must be the identifier of the account: a whole number from 1')
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
export const readAccountName = textLike(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

/** An address that gets requests about a run. It may be a secret, such as that of a webhook, whose path is often its only protection. */
const secretUrl =
  (example: string, problemIn: (value: string) => string | null): Reader<Secret> =>
  (value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return bad(`must be a URL, ${example}`)
    if (!/^https?:$/.test(new URL(value).protocol)) return bad(NOT_HTTP)
    if (value !== value.trim() || /[\p{Cc}\s]/u.test(value)) return bad('must not contain white space')
    const problem = value.includes('#') ? 'must not contain a fragment (#)' : problemIn(value)
    return problem === null ? good(new Secret(value)) : bad(problem)
  }

/** An address such as that of a webhook, whose path is often its only protection. */
const EXAMPLE_OF_NOTIFY = 'such as https://hc-ping.com/8d0f…'
export const readNotifyUrl = secretUrl(EXAMPLE_OF_NOTIFY, () => null)

/** The address that people open. It is sent to them, so it holds no secret. */
export const readReportUrl: Reader<string> = (value) => {
  const read = readNotifyUrl(value)
  if (!read.ok)
    return bad(read.problem.replace(EXAMPLE_OF_NOTIFY, 'such as https://files.example.com/report.html'))
  const { href, password } = new URL(read.value.reveal())
  return password === ''
    ? good(href)
    : bad('must not contain a password: everybody who gets a digest sees it')
}

const EXAMPLE_OF_SMTP = 'such as smtps://user@mail.example.com or smtp://mail.example.com:587'
const SMTP_PORTS: Readonly<Record<string, number>> = { 'smtps:': 465, 'smtp:': 587 }

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** Whether TLS begins with the first byte. */
  readonly isTls: boolean
  readonly user: string | null
}

/** Address of a mail server, `smtps://` or `smtp://`, with the user but without the password. */
export const readSmtpUrl: Reader<SmtpServer> = (value) => {
  if (typeof value !== 'string' || !URL.canParse(value)) return bad(`must be a URL, ${EXAMPLE_OF_SMTP}`)
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(value)
  const usual = SMTP_PORTS[protocol]
  if (usual === undefined) return bad(`must begin with smtps:// or smtp://, ${EXAMPLE_OF_SMTP}`)
  if (password !== '') return bad('must not contain the password; put it into password or password_file')
  if (hostname === '' || !/^\/?$/.test(`${pathname}${search}${hash}`) || /[\p{C}\s]/u.test(value))
    return bad(`must have only user, host and port, ${EXAMPLE_OF_SMTP}`)
  const user = decoded(username)
  if (user === null || /\p{Cc}/u.test(user)) return bad('has a user that is not URL-encoded text')
  return good({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? usual : Number(port),
    isTls: protocol === 'smtps:',
    user: user === '' ? null : user,
  })
}

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

export const readMailPassword: Reader<Secret> = (value) =>
  typeof value === 'string' && value !== '' && value.length <= TOKEN_LENGTH_MAX && !/\p{Cc}/u.test(value)
    ? good(new Secret(value))
    : bad('must be the password as text on one line')

const MAIL_ADDRESS =
  /^(?:([^\p{C}<>]*)<)?([^\s\p{C}<>@,;:"()[\]\\]{1,64}@[^\s\p{C}<>@,;:"()[\]\\]{1,255})(>?)$/u

/** `name@example.com` or `Name <name@example.com>`. */
export const readMailAddress: Reader<MailAddress> = (value) => {
  const [, name, address, end] = (typeof value === 'string' && MAIL_ADDRESS.exec(value.trim())) || []
  return address === undefined || (name === undefined) !== (end === '')
    ? bad('must be a mail address, such as fieldwork@example.com or Fieldwork <fieldwork@example.com>')
    : good({ name: (name ?? '').trim().replace(/^"(.*)"$/, '$1'), address })
}

const RECIPIENTS_MAX = 50

export const readMailAddresses: Reader<readonly MailAddress[]> = (value) => {
  const items = typeof value === 'string' ? value.split(',') : value
  const read = Array.isArray(items) ? items.map(readMailAddress) : []
  const found = read.flatMap((one) => (one.ok ? [one.value] : []))
  return found.length === 0 || found.length < read.length || found.length > RECIPIENTS_MAX
    ? bad(
        `must be a list of 1 to ${RECIPIENTS_MAX} mail addresses, such as [ann@example.com, ben@example.com]`,
      )
    : good(found)
}

/** `http://pushgateway:9091`, or with the job and labels of the group: `…/metrics/job/fieldwork_sync/instance/research`. */
export const readPushgatewayUrl = secretUrl('such as http://pushgateway:9091', (value) => {
  if (value.includes('?')) return 'must not contain a query (?)'
  const [, group = ''] = /\/metrics\/job(?:@base64)?\/(.*?)\/*$/.exec(new URL(value).pathname) ?? []
  return group === '' || group.split('/').length % 2 === 1
    ? null
    : 'must end with the address, or with /metrics/job/NAME followed by pairs of /LABEL/VALUE'
})

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

interface StorageUrl {
  readonly isAzure: boolean
  readonly bucket: string
  readonly prefix: string
}

export const EXAMPLE_OF_URL = 's3://bucket/prefix'
const BUCKET = /^(?!.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const CONTAINER = /^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/
/** S3 allows keys of 1,024 bytes, Azure as many characters. The rest is for our own part of the key. */
const PREFIX_BYTES_MAX = 512

const FROM_SDK = 'credentials belong into the environment, such as AWS_PROFILE or AZURE_STORAGE_KEY'

/** The prefix is read as written, without URL encoding. No problem quotes the value, which may hold a password. */
export const readStorageUrl: Reader<StorageUrl> = (value) => {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(String(value)) ?? []
  const problem = schemeProblem(scheme.toLowerCase())
  if (problem !== null) return bad(problem)
  const [, bucket = '', path = ''] = /^([^/]*)\/?(.*)$/s.exec(rest) ?? []
  if (bucket.includes('@')) return bad(`must not contain a user or password; ${FROM_SDK}`)
  if (/[?#]/.test(rest)) return bad(NO_QUERY)
  if (bucket === '') return bad(`must name a bucket, such as ${EXAMPLE_OF_URL}`)
  const isAzure = scheme.toLowerCase() === 'az'
  if (!(isAzure ? CONTAINER : BUCKET).test(bucket))
    return bad(
      `must name a ${isAzure ? 'container' : 'bucket'} of 3 to 63 lower-case letters, digits${isAzure ? '' : ', dots'} and hyphens, which begins and ends with a letter or digit`,
    )
  const prefix = path.replace(/\/+$/, '')
  if (/\p{C}/u.test(prefix)) return bad('must have only printable characters')
  if (prefix.split('/').some((part) => part === '.' || part === '..' || (part === '' && prefix !== '')))
    return bad('must have no empty part (//) and no part . or .. after the bucket')
  return Buffer.byteLength(prefix) <= PREFIX_BYTES_MAX
    ? good({ isAzure, bucket, prefix })
    : bad(`must have at most ${PREFIX_BYTES_MAX} bytes after the bucket`)
}

const AZURE = ['abfs', 'abfss', 'adl', 'azure', 'wasb', 'wasbs']

const schemeProblem = (scheme: string): string | null => {
  if (scheme === 's3' || scheme === 'az') return null
  const problem = 'must begin with s3:// or az://'
  if (scheme === 'gs' || scheme === 'gcs')
    return `${problem}: Google Cloud Storage has no conditional writes in its S3 protocol, and without them two runs could overwrite each other. Use a store with the protocol of S3, such as ${EXAMPLE_OF_URL}, or Azure Blob Storage`
  if (AZURE.includes(scheme))
    return `${problem}: write az://container/prefix, and name the account in AZURE_STORAGE_ACCOUNT`
  const isServer = scheme === 'http' || scheme === 'https'
  return `${problem}, such as ${EXAMPLE_OF_URL}${isServer ? '; the address of the server belongs into storage.endpoint' : ''}`
}

const EXAMPLE_OF_ENDPOINT = 'such as https://minio.internal:9000'

export const readEndpoint = serverUrl(
  `the URL of a server, ${EXAMPLE_OF_ENDPOINT}`,
  FROM_SDK,
  ({ origin, pathname }) =>
    /^\/*$/.test(pathname)
      ? good(origin)
      : bad(
          `must end after the host and port, ${EXAMPLE_OF_ENDPOINT}; bucket and prefix belong into storage.url`,
        ),
)

export const readRegion = textLike(/^[A-Za-z0-9_-]{1,64}$/, 'must be the name of a region, such as eu-west-1')

/** Address of the Redis of a shared cap. */
export const readRedisUrl: Reader<Secret> = (value) => {
  const problem =
    'must be the URL of a Redis, such as redis://redis:6379 or rediss://user:password@host:6380/0'
  if (typeof value !== 'string' || !URL.canParse(value)) return bad(problem)
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(value)
  const isRedis = protocol === 'redis:' || protocol === 'rediss:'
  // The client would ignore a query, in which other clients expect a password or another database, and it throws for a broken `%`.
  const isPlain =
    search === '' && hash === '' && /^\/?\d{0,3}$/.test(pathname) && decoded(username + password) !== null
  return isRedis && hostname !== '' && isPlain ? good(new Secret(value)) : bad(problem)
}

/** Requests per window of this process while Redis is away, of a cap; null to stop instead, 0 if a percentage gives less than one. */
type Fallback = (cap: number) => number | null

export const readFallback: Reader<Fallback> = (value) => {
  if (value === 'stop') return good(() => null)
  const percent = typeof value === 'string' ? Number(/^(\d{1,3})%$/.exec(value)?.[1]) : Number.NaN
  if (percent >= 1 && percent <= 100) return good((cap) => Math.floor((cap * percent) / 100))
  const requests = readRateRequests(value)
  return requests.ok
    ? good(() => requests.value)
    : bad('must be stop, a percentage of the cap such as 50%, or a number of requests such as 20')
}
