/**
 * The forms of credentials and addresses. No problem quotes a value: a value may hold a password, people swap the identifier, the address
 * and the token, and a token in the wrong place must not reach a terminal.
 */
import { z } from 'zod'
import { canBeHeader } from '../base/network.js'
import { Secret, secretsInUrl } from '../base/secret.js'
import type { MailAddress } from '../model/monitoring.js'
import { HASHID } from '../model/survey-address.js'
import {
  bad,
  commaSeparated,
  filePath,
  good,
  listAs,
  type Read,
  rateRequests,
  readAs,
  textAs,
  textThat,
  wholeNumberFrom,
} from './readers.js'

/** The address of a server over http, without credentials, query and fragment. */
const serverUrl = (what: string, credentials: string, read: (url: URL) => Read<string>) =>
  textAs(`must be ${what}`, (text) => {
    if (!URL.canParse(text)) return bad(`must be ${what}`)
    const url = new URL(text)
    if (!/^https?:$/.test(url.protocol)) return bad(NOT_HTTP)
    if (url.username !== '' || url.password !== '')
      return bad(`must not contain a user or password; ${credentials}`)
    return /[?#]/.test(text) ? bad(NO_QUERY) : read(url)
  })

const NOT_HTTP = 'must begin with https:// or http://'
const NO_QUERY = 'must not contain a query (?) or fragment (#)'

/** Address of the API, without a slash at its end (API document, "What the service does"). */
export const baseUrl = serverUrl(
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
export const accountId = wholeNumberFrom(
  1,
  Number.MAX_SAFE_INTEGER,
  'must be the identifier of the account: a whole number from 1',
)

const TOKEN_LENGTH_MAX = 8_192

/** The secret token, header Authorization-Token. It must fit into a header. */
export const secretToken = textAs('must be text', (value) => {
  if (value.trim() === '') return bad('is empty; it must be the secret token of the account')
  // `trim` removes a byte order mark too.
  if (value !== value.trim()) return bad('begins or ends with white space; a header cannot carry that')
  if (value.length > TOKEN_LENGTH_MAX) {
    return bad(`is longer than ${TOKEN_LENGTH_MAX} characters; a token is shorter`)
  }
  return canBeHeader(value)
    ? good(new Secret(value))
    : bad('contains a line break, control character or non-ASCII character; a header cannot carry that')
})

/** The name of an account. It appears in a column and in the file paths of published partitions. */
export const accountName = z
  .string('must be 1 to 64 letters, digits, _ or -')
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

/** An address that gets requests about a run. The address may be a secret: the path of a webhook is often its only protection. */
const secretUrl = (example: string, problemIn: (value: string) => string | null) =>
  textAs(`must be a URL, ${example}`, (value) => {
    if (!URL.canParse(value)) return bad(`must be a URL, ${example}`)
    if (!/^https?:$/.test(new URL(value).protocol)) return bad(NOT_HTTP)
    if (value !== value.trim() || /[\p{Cc}\s]/u.test(value)) return bad('must not contain white space')
    const problem = value.includes('#') ? 'must not contain a fragment (#)' : problemIn(value)
    return problem === null ? good(new Secret(value)) : bad(problem)
  })

/** The address of a ping or webhook, whose path is often its only protection. */
export const notifyUrl = secretUrl('such as https://hc-ping.com/8d0f…', () => null)

/** The address that people open. It is sent to people, so it must hold no secret. */
export const reportUrl = secretUrl('such as https://files.example.com/report.html', (value) =>
  new URL(value).password === '' ? null : 'must not contain a password: everybody who gets a digest sees it',
).transform((url) => new URL(url.reveal()).href)

const EXAMPLE_OF_SURVEY = `such as https://survey.example.com/surveys/${HASHID}`

/** The address of any survey in the service, with `{hashid}` in its path, query or fragment. It is published, so it must hold no secret. */
export const surveyUrl = textAs(`must be a URL, ${EXAMPLE_OF_SURVEY}`, (value): Read<string> => {
  if (!URL.canParse(value)) return bad(`must be a URL, ${EXAMPLE_OF_SURVEY}`)
  const { protocol, username, password, host } = new URL(value)
  if (!/^https?:$/.test(protocol)) return bad(NOT_HTTP)
  if (/[\p{Cc}\s]/u.test(value)) return bad('must not contain white space')
  if (username !== '' || password !== '')
    return bad('must not contain credentials: everybody who opens the report sees it')
  if (host.includes(HASHID) || !value.includes(HASHID))
    return bad(`must have ${HASHID} in its path, ${EXAMPLE_OF_SURVEY}`)
  return good(value)
})

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
export const smtpUrl = textAs(`must be a URL, ${EXAMPLE_OF_SMTP}`, (value): Read<SmtpServer> => {
  if (!URL.canParse(value)) return bad(`must be a URL, ${EXAMPLE_OF_SMTP}`)
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
})

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

export const mailPassword = textThat(
  'must be the password as text on one line',
  (value) => value !== '' && value.length <= TOKEN_LENGTH_MAX && !/\p{Cc}/u.test(value),
).transform((value) => new Secret(value))

const MAIL_ADDRESS =
  /^(?:([^\p{C}<>]*)<)?([^\s\p{C}<>@,;:"()[\]\\]{1,64}@[^\s\p{C}<>@,;:"()[\]\\]{1,255})(>?)$/u

const NO_MAIL_ADDRESS =
  'must be a mail address, such as fieldwork@example.com or Fieldwork <fieldwork@example.com>'

/** `name@example.com` or `Name <name@example.com>`. */
export const mailAddress = textAs(NO_MAIL_ADDRESS, (value): Read<MailAddress> => {
  const [, name, address, end] = MAIL_ADDRESS.exec(value.trim()) ?? []
  return address === undefined || (name === undefined) !== (end === '')
    ? bad(NO_MAIL_ADDRESS)
    : good({ name: (name ?? '').trim().replace(/^"(.*)"$/, '$1'), address })
})

const RECIPIENTS_MAX = 50

const NO_MAIL_ADDRESSES = `must be a list of 1 to ${RECIPIENTS_MAX} mail addresses, such as [ann@example.com, ben@example.com]`

export const mailAddresses = z.preprocess(
  commaSeparated,
  listAs(NO_MAIL_ADDRESSES, (items): Read<readonly MailAddress[]> => {
    const read = items.map((item) => readAs(mailAddress, item))
    const addresses = read.flatMap((result) => (result.ok ? [result.value] : []))
    const isGood = addresses.length > 0 && addresses.length === items.length && items.length <= RECIPIENTS_MAX
    return isGood ? good(addresses) : bad(NO_MAIL_ADDRESSES)
  }),
)

/** `http://pushgateway:9091`, or with the job and labels of the group: `…/metrics/job/fieldwork_sync/instance/research`. */
export const pushgatewayUrl = secretUrl('such as http://pushgateway:9091', (value) => {
  if (value.includes('?')) return 'must not contain a query (?)'
  const [, group = ''] = /\/metrics\/job(?:@base64)?\/(.*?)\/*$/.exec(new URL(value).pathname) ?? []
  return group === '' || group.split('/').length % 2 === 1
    ? null
    : 'must end with the address, or with /metrics/job/NAME followed by pairs of /LABEL/VALUE'
})

/** node-exporter reads only files with this ending. */
export const metricsFile = filePath.refine(
  (path) => path.endsWith('.prom'),
  'must end with .prom, because node-exporter reads no other files',
)

/**
 * Random parts of a path are secrets. Other parts, such as `services`, are ordinary words, and redacting them would leave holes in
 * messages.
 */
const IS_RANDOM = /^(?=.*\d).{12,}$/
/** A shorter path, such as `/hook`, is no secret. */
const PATH_LENGTH_MIN = 10

/** The parts of an address that must never be visible: everything after the host, and a password. */
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
/** S3 allows keys of 1,024 bytes, and Azure of 1,024 characters. The rest is for our own part of the key. */
const PREFIX_BYTES_MAX = 512

const FROM_SDK = 'credentials belong into the environment, such as AWS_PROFILE or AZURE_STORAGE_KEY'

/** The prefix is read as written, without URL encoding. No problem quotes the value, which may hold a password. */
export const storageUrl = textAs(
  `must begin with s3:// or az://, such as ${EXAMPLE_OF_URL}`,
  (text): Read<StorageUrl> => {
    const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? []
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
  },
)

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

export const endpointUrl = serverUrl(
  `the URL of a server, ${EXAMPLE_OF_ENDPOINT}`,
  FROM_SDK,
  ({ origin, pathname }) =>
    /^\/*$/.test(pathname)
      ? good(origin)
      : bad(
          `must end after the host and port, ${EXAMPLE_OF_ENDPOINT}; bucket and prefix belong into storage.url`,
        ),
)

export const regionName = z
  .string('must be the name of a region, such as eu-west-1')
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the name of a region, such as eu-west-1')

/** Address of the Redis of a shared cap. */
export const redisUrl = textThat(
  'must be the URL of a Redis, such as redis://redis:6379 or rediss://user:password@host:6380/0',
  (text) => {
    if (!URL.canParse(text)) return false
    const { protocol, hostname, pathname, search, hash, username, password } = new URL(text)
    const isRedis = protocol === 'redis:' || protocol === 'rediss:'
    // The client ignores a query, in which other clients expect a password or another database. And it throws for a broken `%`.
    const isPlain =
      search === '' && hash === '' && /^\/?\d{0,3}$/.test(pathname) && decoded(username + password) !== null
    return isRedis && hostname !== '' && isPlain
  },
).transform((url) => new Secret(url))

/** Requests per window of this process while Redis is away, of a cap; null to stop instead, 0 if a percentage gives less than one. */
type Fallback = (cap: number) => number | null

const NO_FALLBACK = 'must be stop, a percentage of the cap such as 50%, or a number of requests such as 20'

export const fallback = z.union(
  [
    z.literal('stop').transform((): Fallback => () => null),
    z
      .string()
      .regex(/^([1-9]\d?|100)%$/)
      .transform(
        (text): Fallback =>
          (cap) =>
            Math.floor((cap * Number.parseInt(text, 10)) / 100),
      ),
    rateRequests.transform(
      (requests): Fallback =>
        () =>
          requests,
    ),
  ],
  NO_FALLBACK,
)
