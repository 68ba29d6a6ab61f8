/** What the client says when a store fails: one line, what to check, no credential. And what it does about faults that pass. */
import { once } from 'node:events'
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { openStore } from '../../../src/object-store/open.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { NEVER } from '../../support/storage/bucket.js'
import { keysOf, textOf } from '../../support/storage/contract.js'
import { STORAGE_CREDENTIALS, withEnvironment } from '../../support/storage/credentials.js'
import {
  FORBIDDEN,
  LOST_ANSWER,
  type S3Fault,
  type S3Request,
  SLOW_DOWN,
  TRUNCATED,
} from '../../support/storage/s3-server.js'
import { failureOf, first, open } from './s3-failures-shared.js'

const MIB = 1_048_576

const refused = (status: number, code: string, region?: string): S3Fault => ({
  kind: 'refused',
  status,
  code,
  ...(region === undefined ? {} : { region }),
})

const listening = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

/** A file of zeros. One of more than 8 MiB is sent in parts of 8 MiB. */
const fileOf = async (bytes: number): Promise<string> => {
  const file = join(await temporaryDirectory(onTestFinished), 'file')
  await writeFile(file, '')
  await truncate(file, bytes)
  return file
}

describe('the message says', () => {
  const denied = refused(403, 'SignatureDoesNotMatch')
  test.each([
    ['AccessDenied', FORBIDDEN, /: refused \(403 AccessDenied\); check that the credentials may get/],
    ['a 401', refused(401, 'Unauthorized'), /refused \(401 Unauthorized\); check that/],
    ['a wrong signature', denied, /the credentials were refused \(403 Sig\w+\); check AWS_ACCESS_KEY_ID/],
    ['an expired token', refused(400, 'ExpiredToken'), /the credentials were refused \(400 ExpiredToken\)/],
    ['a missing bucket', refused(404, 'NoSuchBucket'), /no such bucket; create it, or correct storage.url/],
    [
      'another region',
      refused(301, 'PermanentRedirect', 'eu-west-1'),
      /another region \(301 PermanentRedirect\); set storage.region to eu-west-1/,
    ],
    [
      'a region that does not fit the signature',
      refused(400, 'AuthorizationHeaderMalformed'),
      /another region \(400 AuthorizationHeaderMalformed\); set storage.region$/,
    ],
    ['a broken store', refused(500, 'InternalError'), /failed \(500 InternalError after 2 attempts\)/],
    [
      'a store without conditional writes',
      refused(501, 'NotImplemented'),
      /lacks something that is needed, such as conditional writes \(501 NotImplemented\); use another store/,
    ],
    ['anything else', refused(400, 'InvalidArgument'), /400 InvalidArgument: the test server says Invalid/],
    ['a store that never answers', LOST_ANSWER, /cannot be reached \(ECONNRESET\); check storage.endpoint/],
    [
      'a store that is overloaded for good',
      SLOW_DOWN,
      /the store is overloaded \(503 SlowDown after 2 attempts\); try again later$/,
    ],
  ])('%s', async (_, fault, expected) => {
    const { store, server } = await open(() => fault)
    const message = await failureOf(store.get('a', NEVER))
    expect(message).toMatch(expected)
    expect(message).toMatch(/^s3:\/\/research\/fieldwork: cannot read a: /)
    if (fault === SLOW_DOWN) expect(server.requests).toHaveLength(2)
    if (fault !== FORBIDDEN) return
    expect(await failureOf(store.putIfAbsent('a', Buffer.from('x'), NEVER))).toContain('cannot write a: ')
    expect(await failureOf(keysOf(store, 'p/'))).toContain('cannot list p/: ')
    expect(await failureOf(store.delete(['a', 'b'], NEVER))).toContain('cannot delete 2 objects: ')
  })

  test('a port on which nobody listens, and a name that does not resolve', async () => {
    const { store, server } = await open(() => null)
    await server.close()
    expect(await failureOf(store.get('a', NEVER))).toMatch(
      /the server cannot be reached \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/,
    )
    const { store: nowhere } = await open(() => null, { endpoint: 'http://store.invalid' })
    expect(await failureOf(nowhere.get('a', NEVER))).toMatch(
      /cannot be reached \(getaddrinfo (ENOTFOUND|EAI_AGAIN) store\.invalid\)/,
    )
  })

  test('a server that stays silent', async () => {
    const endpoint = await listening(createServer())
    const options = { endpoint, silenceMsMax: 100, attemptsMax: 1 }
    const { store } = await open(() => null, options)
    expect(await failureOf(store.get('a', NEVER))).toMatch(/cannot be reached \(no answer in time\)/)
  })

  test('a server that falls silent in the middle of a body', async () => {
    const stalling = createHttpServer((_, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': '1000' }).write('half')
    })
    const endpoint = await listening(stalling)
    onTestFinished(() => stalling.closeAllConnections())
    const { store } = await open(() => null, { endpoint, silenceMsMax: 100 })
    expect(await failureOf(store.get('a', NEVER))).toMatch(/cannot be reached \(no answer in time\)/)
  })

  test.each([
    ['a web page', 418, '<html><p>a teapot'],
    ['no XML', 200, 'hello'],
    ['a page that is not found', 404, '<html><body>not found</body></html>'],
  ])('a server that is no object store and answers with %s', async (_, status, page) => {
    const other = createHttpServer((__, response) => response.writeHead(status).end(page))
    const endpoint = await listening(other)
    const { store } = await open(() => null, { endpoint })
    const expected = new RegExp(`answer is not of an object store \\(${status}\\); check storage.endpoint`)
    expect(await failureOf(keysOf(store, ''))).toMatch(expected)
    if (status !== 200) {
      expect(await failureOf(store.get('a', NEVER))).toMatch(expected)
      expect(await failureOf(store.putIfAbsent('a', Buffer.from('x'), NEVER))).toMatch(expected)
    }
  })

  test('no credentials', async () => {
    const { store } = await open(() => null)
    const none = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined }
    withEnvironment(onTestFinished, none)
    expect(await failureOf(store.get('a', NEVER))).toMatch(/no credentials were found; set AWS_ACCESS_KEY_ID/)
  })

  test('no region, of a store without an endpoint', async () => {
    withEnvironment(onTestFinished, { ...STORAGE_CREDENTIALS, AWS_REGION: undefined })
    const options = {
      bucket: 'research',
      prefix: '',
      endpoint: null,
      region: null,
      pathStyle: false,
      azure: null,
    }
    expect(await failureOf(openStore(options))).toBe(
      's3://research: no region is known; set storage.region or AWS_REGION',
    )
  })

  test('which objects were not deleted', async () => {
    const { store } = await open(({ verb }) =>
      verb === 'delete' ? { kind: 'refused', status: 200, code: 'AccessDenied' } : null,
    )
    expect(await failureOf(store.delete(['a', 'b'], NEVER))).toMatch(/cannot delete .*AccessDenied/)
  })
})

describe('a fault that passes', () => {
  test('the page of a proxy that says 503 is repeated', async () => {
    let answers = 0
    const proxy = createHttpServer((_, response) => {
      answers += 1
      response.writeHead(503).end('<html><p>no server is available')
    })
    const endpoint = await listening(proxy)
    const { store } = await open(() => null, { endpoint })
    expect(await failureOf(store.get('a', NEVER))).toMatch(/or a proxy before it, failed \(503\); try again/)
    expect(answers).toBe(2)
  })

  test('a put whose answer is lost is repeated, and then loses against itself', async () => {
    const { store } = await open(first(1, 'put', LOST_ANSWER))
    expect(await store.putIfAbsent('a', Buffer.from('ours'), NEVER)).toEqual({ kind: 'lost' })
    expect(await textOf(store, 'a')).toBe('ours')
  })

  test('a large file whose last answer is lost loses against itself too', async () => {
    const { store, server } = await open(first(1, 'multipart_complete', LOST_ANSWER))
    const file = await fileOf(8 * MIB + 1)
    expect(await store.putIfAbsent('large', { file }, NEVER)).toEqual({ kind: 'lost' })
    expect(server.store.objects.get('fieldwork/large')?.body).toHaveLength(8 * MIB + 1)
  })

  test('409 is a lost condition', async () => {
    const { store } = await open(first(1, 'put', refused(409, 'ConditionalRequestConflict')))
    expect(await store.putIfAbsent('a', Buffer.from('x'), NEVER)).toEqual({ kind: 'lost' })
  })

  test('a body that breaks off is read again', async () => {
    const { store } = await open(first(2, 'get', TRUNCATED))
    const path = join(await temporaryDirectory(onTestFinished), 'file')
    const content = Buffer.alloc(MIB, 'abc')
    await store.putIfAbsent('a', content, NEVER)
    expect(await store.getToFile('a', path, NEVER)).toBe(true)
    expect((await readFile(path)).equals(content)).toBe(true)
  })
})

test('a deletion of several objects has the checksum that every server knows, and none that older servers refuse', async () => {
  const { store, server } = await open(() => null)
  for (const key of ['a', 'b']) await store.putIfAbsent(key, Buffer.from('x'), NEVER)
  await store.delete(['a', 'b'], NEVER)
  expect(server.store.objects.size).toBe(0)
  const headers = Object.keys(server.requests.at(-1)?.headers ?? {})
  expect(headers.filter((name) => /md5|checksum/.test(name))).toEqual(['content-md5'])
})

test('a body that always breaks off is an error, and leaves no file', async () => {
  const { store } = await open(({ verb }) => (verb === 'get' ? TRUNCATED : null))
  const directory = await temporaryDirectory(onTestFinished)
  await store.putIfAbsent('a', Buffer.alloc(MIB, 'abc'), NEVER)
  const broken = /cannot read a: the server cannot be reached \(ECONNRESET\)/
  expect(await failureOf(store.get('a', NEVER))).toMatch(broken)
  await failureOf(store.getToFile('a', join(directory, 'file'), NEVER))
  expect(await readdir(directory)).toEqual([])
})

test('a large upload that fails leaves no parts in the store', async () => {
  const part = (request: S3Request) => request.query.get('partNumber') === '2'
  const { store, server } = await open((request) => (part(request) ? FORBIDDEN : null))
  const file = await fileOf(8 * MIB + 1)
  const failure = await failureOf(store.putIfAbsent('large', { file }, NEVER))
  expect(failure).toMatch(/cannot write large: refused/)
  expect(server.uploads.size).toBe(0)
  expect(server.store.objects.size).toBe(0)
})

describe('an abort', () => {
  test('rejects with its reason while the store does not answer', async () => {
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const never = new Promise<null>(() => undefined)
    const { store } = await open(() => {
      arrive()
      return never
    })
    const stop = new AbortController()
    const reason = new StoppedError('SIGTERM')
    const work = store.putIfAbsent('a', Buffer.from('x'), stop.signal)
    await arrived
    stop.abort(reason)
    await expect(work).rejects.toBe(reason)
  })

  test('stops a large upload between its parts, and drops the parts', async () => {
    const stop = new AbortController()
    const reason = new StoppedError('SIGTERM')
    const { store, server } = await open(({ query }) => {
      if (query.get('partNumber') === '2') stop.abort(reason)
      return null
    })
    const file = await fileOf(41 * MIB)
    await expect(store.putIfAbsent('large', { file }, stop.signal)).rejects.toBe(reason)
    expect(server.uploads.size).toBe(0)
    expect(server.requests.filter(({ verb }) => verb === 'multipart_part').length).toBeLessThan(6)
  })
})
