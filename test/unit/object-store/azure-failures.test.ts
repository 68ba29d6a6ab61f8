/** What the client of Azure Blob Storage makes of servers that fail: one line that says what to check, and no credential. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AzureAccount } from '../../../src/base/network.js'
import { Secret } from '../../../src/base/secret.js'
import type { ObjectStore } from '../../../src/object-store/object-store.js'
import { closeServer, listen } from '../../support/servers/server.js'
import { openAzure } from '../../support/storage/azurite.js'
import { NEVER } from '../../support/storage/bucket.js'
import { keysOf, textOf } from '../../support/storage/contract.js'
import { withEnvironment } from '../../support/storage/credentials.js'

const KEY = Buffer.from('the key of the account').toString('base64')
const SAS = 'sv=2026-01-01&sig=c2lnbmF0dXJl'

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

const withCode =
  (status: number, code: string, headers = {}): Answer =>
  (_, response) =>
    response
      .writeHead(status, { 'x-ms-error-code': code, 'content-type': 'application/xml', ...headers })
      .end(`<Error><Code>${code}</Code><Message>the test server says ${code}\nRequestId:1</Message></Error>`)

const page =
  (status: number, text: string): Answer =>
  (_, response) =>
    response.writeHead(status).end(text)

/** Answers one after the other; the last stays. Counts the requests. */
const open = async (
  answers: readonly Answer[],
  options: Partial<AzureAccount> & { silenceMsMax?: number } = {},
) => {
  const requests: string[] = []
  const server = createHttpServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.resume()
    const answer = answers[Math.min(requests.length, answers.length) - 1]
    request.on('end', () => answer?.(request, response))
  })
  const blobs = `http://127.0.0.1:${await listen(server, onTestFinished)}/acme`
  const account = { account: 'acme', blobs, key: new Secret(KEY), sas: null, ...options }
  const store = await openAzure(onTestFinished, account, {
    bucket: 'research',
    attemptsMax: 2,
    silenceMsMax: options.silenceMsMax ?? 30_000,
  })
  return { store, server, requests }
}

const failureOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('it did not fail')
  expect(error.cause).toBeUndefined()
  expect(error.message).not.toMatch(/\n|c2lnbmF0dXJl/)
  expect(error.message).not.toContain(KEY)
  return error.message
}

const HOUR_MS = 3_600_000

describe('the message names what to check when it is', () => {
  test.each<[string, Answer, RegExp]>([
    [
      'a wrong key',
      withCode(403, 'AuthenticationFailed'),
      /the credentials were refused \(403 Auth\w+\); check AZURE_/,
    ],
    [
      'a wrong clock',
      withCode(403, 'AuthenticationFailed', { date: new Date(Date.now() - HOUR_MS).toUTCString() }),
      /the clock of this machine differs from the store's \(403 AuthenticationFailed\); correct it$/,
    ],
    [
      'a missing role',
      withCode(403, 'AuthorizationPermissionMismatch'),
      /refused \(403 \w+\).*Storage Blob Data Contrib/,
    ],
    [
      'a missing container',
      withCode(404, 'ContainerNotFound'),
      /no such container; create it, or correct storage.url$/,
    ],
    [
      'plain http',
      withCode(400, 'AccountRequiresHttps'),
      /the account requires https \(400 .*check storage.endpoint$/,
    ],
    [
      'a broken store',
      withCode(500, 'InternalError'),
      /the store failed \(500 InternalError\); try again later/,
    ],
    [
      'an overloaded store',
      withCode(503, 'ServerBusy'),
      /the store is overloaded \(503 ServerBusy\); try again/,
    ],
    ['anything else', withCode(400, 'InvalidInput'), /400 InvalidInput: the test server says InvalidInput$/],
    [
      'a page that is not found',
      page(404, '<html>'),
      /answer is not of an object store \(404\); check storage.endpoint/,
    ],
    ['a web page', page(418, '<html><p>a teapot'), /answer is not of an object store \(418\)/],
    ['the page of a proxy', page(502, '<html>'), /or a proxy before it, failed \(502\); try again later/],
    [
      'a lost connection',
      (_, response) => response.destroy(),
      /cannot be reached \(ECONNRESET\); check AZURE_STORAGE_ACC/,
    ],
  ])('%s', async (_, answer, expected) => {
    for (const credential of [{}, { key: null, sas: new Secret(SAS) }]) {
      const { store } = await open([answer], credential)
      expect(await failureOf(store.get('a', NEVER))).toMatch(expected)
      expect(await failureOf(store.get('a', NEVER))).toMatch(/^az:\/\/research\/field\/work: cannot read a: /)
      expect(await failureOf(store.putIfAbsent('a', Buffer.from('x'), NEVER))).toContain('cannot write a: ')
      expect(await failureOf(keysOf(store, 'p/'))).toContain('cannot list p/: ')
      expect(await failureOf(store.delete(['a', 'b'], NEVER))).toContain('cannot delete ')
    }
  })

  test('a port on which nobody listens, and a name that does not resolve', async () => {
    const { store, server } = await open([])
    await closeServer(server)
    expect(await failureOf(store.get('a', NEVER))).toMatch(
      /the server cannot be reached \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/,
    )
    const { store: nowhere } = await open([], { blobs: 'http://acme.invalid' })
    expect(await failureOf(nowhere.get('a', NEVER))).toMatch(
      /cannot be reached \(getaddrinfo (ENOTFOUND|EAI_AGAIN) acme\.invalid\)/,
    )
  })

  test('a server that stays silent, also in the middle of a body', async () => {
    const { store } = await open([() => undefined], { silenceMsMax: 100 })
    expect(await failureOf(store.get('a', NEVER))).toMatch(/cannot be reached \(ETIMEDOUT\)/)
    const half: Answer = (_, response) =>
      response.writeHead(200, { etag: '"1"', 'content-length': '1000' }).write('half')
    const { store: stalling } = await open([half], { silenceMsMax: 100 })
    expect(await failureOf(stalling.get('a', NEVER))).toMatch(/cannot be reached \(E(TIMEDOUT|CONNRESET)\)/)
  })

  test('no identity', async () => {
    withEnvironment(onTestFinished, {
      AZURE_TOKEN_CREDENTIALS: 'EnvironmentCredential',
      AZURE_CLIENT_ID: undefined,
    })
    const { store } = await open([], { key: null, blobs: 'https://127.0.0.1:1' })
    expect(await failureOf(store.get('a', NEVER))).toMatch(
      /no credentials were found; set AZURE_STORAGE_CONN/,
    )
  })
})

const body =
  (text: string): Answer =>
  (_, response) =>
    response.writeHead(200, { etag: '"1"', 'content-length': text.length }).end(text)

describe('a fault that passes', () => {
  const put = (store: ObjectStore) => store.putIfAbsent('a', Buffer.from('x'), NEVER)
  const stored: Answer = (_, response) => response.writeHead(201, { etag: '"1"' }).end()

  test('503 is repeated', async () => {
    const { store, requests } = await open([withCode(503, 'ServerBusy'), stored])
    expect(await put(store)).toEqual({ kind: 'written', etag: '"1"' })
    expect(requests).toHaveLength(2)
  })

  test('a put whose answer is lost is repeated, and then loses against itself', async () => {
    const { store } = await open([(_, response) => response.destroy(), withCode(409, 'BlobAlreadyExists')])
    expect(await put(store)).toEqual({ kind: 'lost' })
  })

  test('blocks that another write has dropped are a lost condition', async () => {
    const { store } = await open([withCode(400, 'InvalidBlockList')])
    expect(await put(store)).toEqual({ kind: 'lost' })
  })

  test('a conflict that is no condition is an error', async () => {
    const { store } = await open([withCode(409, 'BlobImmutableDueToPolicy')])
    expect(await failureOf(put(store))).toMatch(
      /cannot write a: 409 BlobImmutableDueToPolicy: the test server/,
    )
  })

  test('a body that breaks off is read again, but not for ever', async () => {
    const broken: Answer = (_, response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': '8' }).write('abcd', () => response.destroy())
    }
    const { store } = await open([broken, broken, body('abcdefgh')])
    expect(await textOf(store, 'a')).toBe('abcdefgh')
    const { store: never, requests } = await open([broken])
    expect(await failureOf(never.get('a', NEVER))).toMatch(
      /cannot read a: the server cannot be reached \(ECONNRESET\)/,
    )
    expect(requests).toHaveLength(3)
  })
})

test('a listing goes over all pages', async () => {
  const listed =
    (name: string, next: string): Answer =>
    (_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/xml', date: 'Mon, 02 Mar 2026 12:00:00 GMT' })
        .end(
          `<EnumerationResults><Blobs><Blob><Name>field/work/${name}</Name><Properties><Content-Length>1</Content-Length><Etag>0x1</Etag><Last-Modified>Mon, 02 Mar 2026 11:00:00 GMT</Last-Modified></Properties></Blob></Blobs><NextMarker>${next}</NextMarker></EnumerationResults>`,
        )
  const { store, requests } = await open([listed('a', 'two'), listed('b', '')])
  const found = []
  for await (const object of store.list('', NEVER)) found.push(object)
  expect(found).toEqual(['a', 'b'].map((key) => ({ key, bytes: 1, etag: '"0x1"', ageMs: HOUR_MS })))
  expect(requests[1]).toContain('marker=two')
})

test('the proxy of the environment is not used', async () => {
  const proxy = await listen(
    createServer((socket) => socket.destroy()),
    onTestFinished,
  )
  withEnvironment(onTestFinished, { HTTP_PROXY: `http://127.0.0.1:${proxy}`, NO_PROXY: undefined })
  const { store } = await open([body('abc')])
  expect(await textOf(store, 'a')).toBe('abc')
})
