/**
 * An HTTP server with the protocol of S3 over a `ModelStore`, on a free port of loopback, for one bucket. It reads no signature,
 * but refuses a request without one. Each fault is decided per request by `fault`, which may wait.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Finished } from '../files/temporary.js'
import { closeServer, listen } from '../servers/server.js'
import { ModelStore } from './model-store.js'

type S3Verb = 'get' | 'put' | 'list' | 'delete' | `multipart_${'create' | 'part' | 'complete' | 'abort'}`

export interface S3Request {
  readonly verb: S3Verb
  /** The whole key, with the store's prefix; the prefix of a listing; empty for a deletion of several. */
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly bytes: number
}

/** `lost_answer`: the request acts, then the connection breaks. `truncated`: the answer breaks off in the middle of its body. */
export type S3Fault =
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly region?: string }
  | { readonly kind: 'lost_answer' }
  | { readonly kind: 'truncated' }

export const SLOW_DOWN: S3Fault = { kind: 'refused', status: 503, code: 'SlowDown' }
export const FORBIDDEN: S3Fault = { kind: 'refused', status: 403, code: 'AccessDenied' }
export const LOST_ANSWER: S3Fault = { kind: 'lost_answer' }
export const TRUNCATED: S3Fault = { kind: 'truncated' }

export interface S3Server {
  readonly endpoint: string
  readonly bucket: string
  readonly store: ModelStore
  /** Every request with a signature, in the order of arrival. */
  readonly requests: S3Request[]
  /** Uploads that were neither completed nor aborted. */
  readonly uploads: ReadonlyMap<string, unknown>
  close(): Promise<void>
}

export interface S3ServerOptions {
  readonly store?: ModelStore
  readonly fault?: (request: S3Request) => Promise<S3Fault | null> | S3Fault | null
  /** Headers that this server does not know, such as `if-match`. */
  readonly ignored?: readonly string[]
  /** The ETag of a part is no MD5, as with a key of KMS. */
  readonly hasKey?: boolean
  /** What becomes of a part that this server copies. */
  readonly copied?: (part: Buffer) => Buffer
}

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

interface Upload {
  readonly key: string
  /** Whether the client wants the SHA-256 of parts. */
  readonly hasSums: boolean
  readonly parts: Map<number, { readonly body: Buffer; readonly etag: string }>
}

export const startS3Server = async (finished: Finished, options: S3ServerOptions = {}): Promise<S3Server> => {
  const { store = new ModelStore(), fault = () => null, ignored = [] } = options
  const requests: S3Request[] = []
  const uploads = new Map<string, Upload>()
  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await message.toArray())
    for (const name of ignored) delete message.headers[name]
    const { request, bucket: named } = parse(message, body.length)
    if (message.headers.authorization === undefined) {
      deliver(message, response, store, problem(403, 'AccessDenied'))
      return
    }
    requests.push(request)
    const happens = await fault(request)
    const answer =
      happens?.kind === 'refused'
        ? problem(happens.status, happens.code, happens.region)
        : named === BUCKET
          ? execute(store, uploads, request, body, options)
          : problem(404, 'NoSuchBucket')
    if (happens?.kind === 'lost_answer') message.socket.destroy()
    else deliver(message, response, store, answer, happens?.kind === 'truncated')
  }
  const server = createServer((message, response) => {
    // A client that gave up has closed its connection.
    handle(message, response).catch(() => message.socket.destroy())
  })
  const endpoint = `http://127.0.0.1:${await listen(server, finished)}`
  return { endpoint, bucket: BUCKET, store, requests, uploads, close: () => closeServer(server) }
}

const BUCKET = 'research'

const parse = ({ url = '', method = '', headers }: IncomingMessage, bytes: number) => {
  const { pathname, searchParams: query } = new URL(url, 'http://s3')
  const [, bucket = '', path = ''] = /^\/([^/]*)\/?(.*)$/.exec(pathname) ?? []
  const verb = verbOf(method, query, path !== '')
  const key = verb === 'list' ? (query.get('prefix') ?? '') : decodeURIComponent(path)
  return { bucket: decodeURIComponent(bucket), request: { verb, key, query, headers, bytes } }
}

const verbOf = (method: string, query: URLSearchParams, hasKey: boolean): S3Verb => {
  if (method === 'POST' && query.has('uploads')) return 'multipart_create'
  if (method === 'POST' && query.has('uploadId')) return 'multipart_complete'
  if (method === 'PUT' && query.has('uploadId')) return 'multipart_part'
  if (method === 'DELETE' && query.has('uploadId')) return 'multipart_abort'
  if (method === 'DELETE' || (method === 'POST' && query.has('delete'))) return 'delete'
  if (method === 'PUT') return 'put'
  return hasKey ? 'get' : 'list'
}

type Uploads = Map<string, Upload>

const execute = (
  store: ModelStore,
  uploads: Uploads,
  request: S3Request,
  body: Buffer,
  options: S3ServerOptions,
): Answer => {
  const { verb, key, query } = request
  if (verb === 'list') return list(store, request)
  if (verb === 'get') return get(store, request)
  if (verb === 'put') return put(store, request, body)
  if (verb === 'delete') return remove(store, request, body)
  if (verb === 'multipart_create') {
    const id = `upload-${uploads.size}-${store.requests.length}-${createHash('sha256').update(key).digest('hex')}`
    const hasSums = request.headers['x-amz-checksum-algorithm'] === 'SHA256'
    uploads.set(id, { key, hasSums, parts: new Map() })
    return xml(
      `<InitiateMultipartUploadResult><Key>${escaped(key)}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    )
  }
  const id = query.get('uploadId') ?? ''
  const upload = uploads.get(id)
  if (upload === undefined || upload.key !== key) return problem(404, 'NoSuchUpload')
  if (verb === 'multipart_part') return receivePart(store, upload, request, body, options)
  if (verb === 'multipart_abort') {
    uploads.delete(id)
    return { status: 204 }
  }
  return complete(store, uploads, id, upload, request, body)
}

const receivePart = (
  store: ModelStore,
  { hasSums, parts }: Upload,
  request: S3Request,
  body: Buffer,
  { hasKey = false, copied = (part) => part }: S3ServerOptions,
): Answer => {
  const isCopy = request.headers['x-amz-copy-source'] !== undefined
  const source = isCopy ? copiedFrom(store, request) : body
  if (source === null) return problem(400, 'InvalidRequest')
  const part = isCopy ? copied(source) : source
  const md5 = createHash('md5').update(part)
  const etag = `"${(hasKey ? md5.update('key') : md5).digest('hex')}"`
  parts.set(Number(request.query.get('partNumber')), { body: part, etag })
  const sum = hasSums ? sumOf(part) : null
  if (!isCopy)
    return { status: 200, headers: { etag, ...(sum === null ? {} : { 'x-amz-checksum-sha256': sum }) } }
  const named = sum === null ? '' : `<ChecksumSHA256>${sum}</ChecksumSHA256>`
  return xml(`<CopyPartResult><ETag>${escaped(etag)}</ETag>${named}</CopyPartResult>`)
}

/** The bytes of another object of the bucket; null if they are not there. */
const copiedFrom = (store: ModelStore, { headers }: S3Request): Buffer | null => {
  const [, source = ''] = /^\/?research\/(.*)$/.exec(String(headers['x-amz-copy-source'])) ?? []
  const found = store.objects.get(decodeURIComponent(source))?.body
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-amz-copy-source-range'])) ?? []
  if (found === undefined || Number(to) >= found.length) return null
  return found.subarray(Number(from), Number(to) + 1)
}

const sumOf = (part: Buffer): string => createHash('sha256').update(part).digest('base64')

/** As S3 has it: every part but the last has at least 5 MiB. */
const PART_BYTES_MIN = 5 * 1_048_576

const complete = (
  store: ModelStore,
  uploads: Uploads,
  id: string,
  { key, hasSums, parts }: Upload,
  request: S3Request,
  body: Buffer,
): Answer => {
  const named = [...String(body).matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
    number: Number(valueIn(part, 'PartNumber')),
    etag: unescaped(valueIn(part, 'ETag')),
    sum: valueIn(part, 'ChecksumSHA256'),
  }))
  const found = named.map(({ number }) => parts.get(number))
  const isWrong = found.some((part, index) => {
    const isSmall = index < found.length - 1 && (part?.body.length ?? 0) < PART_BYTES_MIN
    const isUnproved = hasSums && part !== undefined && sumOf(part.body) !== named[index]?.sum
    return part === undefined || isSmall || isUnproved || part.etag !== named[index]?.etag
  })
  if (named.length === 0 || isWrong) return problem(400, 'InvalidPart')
  const answer = put(store, request, Buffer.concat(found.flatMap((part) => part?.body ?? [])))
  if (answer.status !== 200) return answer
  uploads.delete(id)
  return xml(
    `<CompleteMultipartUploadResult><Key>${escaped(key)}</Key><ETag>${escaped(answer.headers?.etag ?? '')}</ETag></CompleteMultipartUploadResult>`,
  )
}

const put = (store: ModelStore, { key, headers }: S3Request, body: Buffer): Answer => {
  const found = store.objects.get(key)
  const match = headers['if-match']
  if (match !== undefined && found === undefined) return problem(404, 'NoSuchKey')
  if (match !== undefined && found?.etag !== match) return problem(412, 'PreconditionFailed')
  if (headers['if-none-match'] === '*' && found !== undefined) return problem(412, 'PreconditionFailed')
  return { status: 200, headers: { etag: store.write(key, body) } }
}

const get = (store: ModelStore, { key }: S3Request): Answer => {
  const found = store.objects.get(key)
  if (found === undefined) return problem(404, 'NoSuchKey')
  const { body, etag, writtenMs } = found
  return { status: 200, headers: { etag, 'last-modified': new Date(writtenMs).toUTCString() }, body }
}

const remove = (store: ModelStore, { key, query, headers }: S3Request, body: Buffer): Answer => {
  if (!query.has('delete')) {
    store.objects.delete(key)
    return { status: 204 }
  }
  // S3 refuses a deletion of several objects without a checksum of its body.
  const hasChecksum = Object.keys(headers).some((name) => /^(content-md5$|x-amz-checksum-)/.test(name))
  if (!hasChecksum) return problem(400, 'InvalidRequest')
  const keys = [...String(body).matchAll(/<Key>(.*?)<\/Key>/gs)].map(([, one = '']) => unescaped(one))
  if (keys.length > 1_000) return problem(400, 'MalformedXML')
  for (const one of keys) store.objects.delete(one)
  return xml('<DeleteResult></DeleteResult>')
}

const list = (store: ModelStore, { key: prefix, query }: S3Request): Answer => {
  const token = query.get('continuation-token')
  const after = token === null ? '' : String(Buffer.from(token, 'base64url'))
  const { keys, more } = store.page(prefix, after)
  const contents = keys.map((key) => {
    const { body, etag, writtenMs } = store.objects.get(key) ?? { body: '', etag: '', writtenMs: 0 }
    const modified = new Date(writtenMs).toISOString().replace(/\.\d+Z/, '.000Z')
    return `<Contents><Key>${escaped(key)}</Key><LastModified>${modified}</LastModified><ETag>${escaped(etag)}</ETag><Size>${body.length}</Size></Contents>`
  })
  const last = Buffer.from(keys.at(-1) ?? '').toString('base64url')
  const next = more ? `<NextContinuationToken>${last}</NextContinuationToken>` : ''
  return xml(
    `<ListBucketResult><Prefix>${escaped(prefix)}</Prefix><KeyCount>${keys.length}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>${more}</IsTruncated>${contents.join('')}${next}</ListBucketResult>`,
  )
}

const deliver = (
  message: IncomingMessage,
  response: ServerResponse,
  store: ModelStore,
  { status, headers = {}, body = '' }: Answer,
  truncated = false,
): void => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.sendDate = false
  response.writeHead(status, {
    ...headers,
    date: new Date(store.nowMs()).toUTCString(),
    ...(status === 204 ? {} : { 'content-length': String(bytes.length) }),
  })
  if (truncated) response.write(bytes.subarray(0, bytes.length / 2), () => message.socket.destroy())
  else response.end(bytes)
}

const xml = (text: string): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n${text}`,
})

const problem = (status: number, code: string, region?: string): Answer => ({
  ...xml(`<Error><Code>${code}</Code><Message>the test server says ${code}</Message></Error>`),
  status,
  ...(region === undefined ? {} : { headers: { 'x-amz-bucket-region': region } }),
})

const valueIn = (text: string, tag: string): string =>
  new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(text)?.[1] ?? ''

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll(/&#x([0-9A-Fa-f]+);/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll('&amp;', '&')
