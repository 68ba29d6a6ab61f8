/** What the client does with each kind of answer, as the caller and the server see it. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { failureOf, json, startClient, startServer, TOKEN } from './server-and-client.js'

type Reply = (response: ServerResponse) => unknown

test('a request carries the credentials, accepts compressed JSON and names its user agent', async () => {
  await using server = await startServer((_, response) =>
    json(response, { surveys: [] }, { date: 'Tue, 03 Mar 2026 10:00:00 GMT' }),
  )
  await using client = startClient(`${server.baseUrl}/`)
  const context = { signal: new AbortController().signal, allowance: { take: () => undefined } }
  const query = [
    ['status[]', 'draft'],
    ['status[]', 'pending'],
    ['updated_since', '2026-03-01T00:00:00+01:00'],
  ] as const
  const answer = await client.getJson('surveys', query, context)
  expect(answer).toEqual({
    body: { surveys: [] },
    text: '{"surveys":[]}',
    dateMs: Date.UTC(2026, 2, 3, 10),
  })
  const [arrival] = server.arrivals
  const url = new URL(arrival?.url ?? '', server.baseUrl)
  expect(url.pathname).toBe('/api/v1/surveys')
  expect([...url.searchParams]).toEqual(query)
  expect(arrival?.headers).toMatchObject({
    'authorization-id': '12',
    'authorization-token': TOKEN,
    accept: 'application/json',
    'accept-encoding': 'gzip, br',
    'user-agent': expect.stringMatching(/^fieldwork-sync\/\d+\.\d+\.\d+/),
  })
})

const bodies: readonly (readonly [name: string, reply: Reply])[] = [
  ['gzip', (r) => r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"ok":"yes"}'))],
  ['a byte order mark in front', (r) => r.writeHead(200).end('\uFEFF{"ok":"yes"}')],
  ['chunks', (r) => r.writeHead(200).write('{"ok":') && r.end('"yes"}')],
  [
    'no Date header',
    (r) => {
      r.sendDate = false
      r.end('{"ok":"yes"}')
    },
  ],
]

test.each(bodies)('the client reads a 200 with %s', async (name, reply) => {
  await using server = await startServer((_, response) => void reply(response))
  await using client = startClient(server.baseUrl)
  const answer = await client.get()
  expect(answer).toMatchObject({ body: { ok: 'yes' }, text: '{"ok":"yes"}' })
  expect(answer.dateMs === null).toBe(name === 'no Date header')
})

const OK = '{"ok":"yes"}'
const zipped = gzipSync(OK)

const labels: readonly (readonly [coding: string | string[], body: string | Buffer])[] = [
  ['none', OK],
  ['None', OK],
  ['UTF-8', OK],
  ['utf8', OK],
  ['binary', OK],
  ['identity', OK],
  ['', OK],
  [' , ', OK],
  ['identity, gzip', zipped],
  ['gzip,identity', zipped],
  ['utf-8, GZIP', zipped],
  ['\tX-Gzip ', zipped],
  ['gzip, gzip', gzipSync(zipped)],
  ['br', brotliCompressSync(OK)],
  ['Deflate', deflateSync(OK)],
  ['gzip, br', brotliCompressSync(zipped)],
  [['identity', 'gzip'], zipped],
  [['gzip', 'x-gzip'], gzipSync(zipped)],
  [['none', 'utf-8'], OK],
]

test.each(labels)('the client reads a 200 with content-encoding %j', async (coding, body) => {
  await using server = await startServer((_, response) =>
    response.setHeader('content-encoding', coding).end(body),
  )
  await using client = startClient(server.baseUrl, { limits: { attempts: 1 } })
  expect(await client.get()).toMatchObject({ text: OK })
})

const unread: readonly (readonly [coding: string, body: string | Buffer, problem: string])[] = [
  [
    'deflate',
    deflateRawSync(OK),
    'it cannot be decompressed as deflate, its content encoding (Z_DATA_ERROR)',
  ],
  ['br', OK, 'it cannot be decompressed as br, its content encoding (ERR_'],
  ['zstd', OK, 'it has the content encoding "zstd", which was not requested'],
  ['constructor', OK, 'it has the content encoding "constructor", which was not requested'],
  ['foo', OK, 'it has the content encoding "foo", which was not requested'],
  ['gzip, foo', zipped, 'it has the content encoding "foo", which was not requested'],
  ['caf\u00e9', OK, 'it has the content encoding "caf\u00e9", which was not requested'],
  [TOKEN, OK, 'it has the content encoding "[redacted]", which was not requested'],
  ['gzip', OK, 'it cannot be decompressed as gzip, its content encoding (Z_DATA_ERROR)'],
  ['gzip', zipped.subarray(4), 'it cannot be decompressed as gzip, its content encoding (Z_DATA_ERROR)'],
  ['gzip, gzip', zipped, 'it cannot be decompressed as gzip, gzip, its content encoding (Z_DATA_ERROR)'],
  ['gzip', zipped.subarray(0, -4), 'it cannot be decompressed as gzip, its content encoding (Z_BUF_ERROR)'],
  ['gzip,'.repeat(6), zipped, 'it is compressed more than 5 times'],
]

test.each(unread)(
  'the client says why it cannot read a 200 with content-encoding %j',
  async (coding, body, problem) => {
    await using server = await startServer((_, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(body),
    )
    await using client = startClient(server.baseUrl, { limits: { attempts: 1 } })
    const failure = await failureOf(client.get())
    expect(failure.cause).toMatchObject({ code: 'invalid_body' })
    expect(failure.message).toContain(problem)
    expect(JSON.stringify(client.lines)).not.toContain(TOKEN)
  },
)

test('a refusal quotes its body whatever its content encoding is called', async () => {
  const codings = [
    ['none', 'not today'],
    ['identity, gzip', gzipSync('not today')],
  ] as const
  for (const [coding, body] of codings) {
    await using server = await startServer((_, response) =>
      response.writeHead(400, { 'content-encoding': coding }).end(body),
    )
    await using client = startClient(server.baseUrl)
    expect((await failureOf(client.get())).message).toContain('not today')
  }
})

test.each([429, 503])(
  'the client repeats a request after a %i with an unknown content encoding',
  async (status) => {
    await using server = await startServer((_, response, nth) =>
      nth === 1
        ? response.writeHead(status, { 'content-encoding': 'foo', 'retry-after': '0' }).end('x'.repeat(5_000))
        : json(response, {}),
    )
    await using client = startClient(server.baseUrl)
    expect(await client.get()).toMatchObject({ text: '{}' })
    expect(server.connections()).toBe(1)
  },
)

const refusals: readonly (readonly [status: number, headers: Record<string, string>, expected: object])[] = [
  [401, {}, { code: 'credentials_refused', endsRun: false }],
  [403, {}, { code: 'credentials_refused', endsRun: false }],
  [404, {}, { code: 'not_there', endsRun: false, status: 404 }],
  [400, {}, { code: 'request_rejected', endsRun: false, status: 400 }],
  [422, {}, { code: 'request_rejected', endsRun: false, status: 422 }],
  [204, {}, { code: 'unexpected_status', endsRun: false, status: 204 }],
  [304, {}, { code: 'redirect_refused', endsRun: false, status: 304 }],
  [
    302,
    { location: 'https://user:pass@elsewhere.example/path?token=1' },
    {
      code: 'redirect_refused',
      endsRun: false,
      message: expect.stringMatching(
        /\(302\) .* to elsewhere\.example, but credentials are sent only to base_url/,
      ),
    },
  ],
]

test.each(refusals)('the client does not retry a %i', async (status, headers, expected) => {
  await using server = await startServer((_, response) =>
    response.writeHead(status, headers).end(status === 204 || status === 304 ? undefined : 'no'),
  )
  await using client = startClient(server.baseUrl)
  const failure = await failureOf(client.get('/surveys/12'))
  expect(failure).toMatchObject({ exitCode: 4, ...expected })
  expect(failure.message).toContain('GET /api/v1/surveys/12')
  expect(failure.message).not.toContain('pass')
  expect(server.arrivals).toHaveLength(1)
})

test('the error of a 401 names the account and what to check, and other requests go on', async () => {
  await using server = await startServer((request, response) =>
    request.url?.endsWith('/other') ? response.end('{}') : response.writeHead(401).end(),
  )
  await using client = startClient(server.baseUrl)
  const failure = await failureOf(client.get())
  expect(failure.message).toBe(
    "the API refused the credentials (401) at GET /api/v1/surveys: check id and token of account 'default'",
  )
  expect(await client.get('/other')).toMatchObject({ text: '{}' })
  expect(server.arrivals).toHaveLength(2)
})

/**
 * The request timeout for servers that stop sending: longer than a busy machine takes to accept a connection. No other test here
 * needs one.
 */
const SILENCE_MS = 500

const troubles: readonly (readonly [name: string, reply: Reply, cause: { readonly code: string }])[] = [
  ['a 500', (r) => r.writeHead(500).end(), { code: 'server_trouble' }],
  ['a 408', (r) => r.writeHead(408).end(), { code: 'server_trouble' }],
  ['a reset', (r) => r.destroy(), { code: 'connection_failed' }],
  ['no answer', () => undefined, { code: 'request_timeout' }],
  ['half of the headers', (r) => r.socket?.write('HTTP/1.1 200 OK\r\nda'), { code: 'request_timeout' }],
  ['a body that stalls', (r) => r.writeHead(200).write('{"a":'), { code: 'request_timeout' }],
  ['an answer that is not HTTP', (r) => r.socket?.end('hello there\r\n\r\n'), { code: 'connection_failed' }],
  [
    'a truncated body',
    (r) => r.writeHead(200, { 'content-length': '100' }).write('{"a":1}', () => r.socket?.destroy()),
    { code: 'connection_failed' },
  ],
  ['half of a JSON text', (r) => r.writeHead(200).end('{"a":'), { code: 'invalid_body' }],
  ['HTML', (r) => r.writeHead(200).end('<html>'), { code: 'invalid_body' }],
  ['an empty body', (r) => r.writeHead(200).end(), { code: 'invalid_body' }],
  [
    'a body that is not UTF-8 outside its strings',
    (r) => r.writeHead(200).end(Buffer.from([0x22, 0x22, 0xe9])),
    { code: 'invalid_body' },
  ],
  [
    'half of a gzip stream',
    (r) => r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}').subarray(0, 15)),
    { code: 'invalid_body' },
  ],
  [
    'an encoding that the request did not accept',
    (r) => r.writeHead(200, { 'content-encoding': 'foo' }).end('{}'),
    { code: 'invalid_body' },
  ],
]

const timeoutFor = (cause: { readonly code: string }) =>
  cause.code === 'request_timeout' ? { request_timeout: SILENCE_MS } : {}

test.concurrent.each(troubles)(
  'the client retries after %s, and gives up with the number of attempts and the cause',
  async (_, reply, cause) => {
    await using server = await startServer((_request, response, nth) =>
      nth <= 3 ? void reply(response) : json(response, { ok: true }),
    )
    await using client = startClient(server.baseUrl, { limits: { ...timeoutFor(cause), attempts: 2 } })
    const failure = await failureOf(client.get())
    expect(failure).toMatchObject({ code: 'attempts_exhausted', endsRun: false, cause })
    expect(failure.message).toMatch(/^gave up on GET \/api\/v1\/surveys after 2 attempts: /)
    expect(server.arrivals).toHaveLength(2)
    expect((await client.get()).body).toEqual({ ok: true })
    expect(client.usage()).toMatchObject({ requests: 4, retries: 2 })
  },
)

test.each([
  ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ['closed', (socket: Socket) => socket.end()],
])(
  'the client does not send a request twice over a kept-alive connection that was then %s',
  async (_, end) => {
    await using server = await startServer((request, response, nth) =>
      nth === 1 ? json(response, {}) : void end(request.socket),
    )
    await using client = startClient(server.baseUrl, { limits: { attempts: 1 } })
    await client.get()
    expect(await failureOf(client.get())).toMatchObject({ code: 'attempts_exhausted' })
    await delay(100)
    expect(server.arrivals).toHaveLength(2)
    expect(server.connections()).toBe(1)
  },
)

test('the client does not retry a body over the limit', async () => {
  await using server = await startServer((_, response) => json(response, 'x'.repeat(2_000)))
  await using client = startClient(server.baseUrl, { limits: { response_bytes_max: 1_000 } })
  const failure = await failureOf(client.get())
  expect(failure).toMatchObject({ code: 'body_too_large', endsRun: false })
  expect(failure.message).toContain('larger than 1000 bytes')
  expect(server.arrivals).toHaveLength(1)
})

const bomb = gzipSync(Buffer.alloc(30_000_000, ' '))

test.each([
  ['gzip', bomb],
  ['gzip, gzip', gzipSync(bomb)],
  ['gzip, identity, gzip', gzipSync(bomb)],
])('the limit applies to the uncompressed size of a body with content-encoding %s', async (coding, body) => {
  expect(body.byteLength).toBeLessThan(100_000)
  await using server = await startServer((_, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(body),
  )
  await using client = startClient(server.baseUrl)
  const before = process.memoryUsage().arrayBuffers
  expect(await failureOf(client.get())).toMatchObject({ code: 'body_too_large' })
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(15_000_000)
})

test('the client keeps a connection after errors with short bodies', async () => {
  const statuses = [404, 503, 500, 400]
  await using server = await startServer((_, response, nth) => {
    const status = statuses[nth - 1]
    if (status === undefined) json(response, {})
    else response.writeHead(status).end('x'.repeat(5_000))
  })
  await using client = startClient(server.baseUrl, { limits: { attempts: 1 } })
  for (const _ of statuses) await failureOf(client.get())
  await client.get()
  expect(server.connections()).toBe(1)
})

test('an error quotes the server on one short line, without the secrets', async () => {
  await using server = await startServer((_, response) =>
    response
      .writeHead(400)
      .end(`no:\r\n\u001b[31m "${TOKEN}" ${encodeURIComponent(TOKEN)} ${'y'.repeat(500)}`),
  )
  await using client = startClient(server.baseUrl)
  const { message } = await failureOf(client.get())
  expect(message).toContain('(response: no: [31m "[redacted]" [redacted] yyy')
  expect(message.length).toBeLessThan(400)
})

test('a token that the server echoes as invalid JSON is not in the error, its cause or the log', async () => {
  await using server = await startServer((_, response) => response.writeHead(200).end(TOKEN))
  await using client = startClient(server.baseUrl)
  const { stack, cause } = await failureOf(client.get())
  const texts = [stack, cause instanceof Error ? cause.stack : '', JSON.stringify(client.lines)]
  expect(texts.join()).not.toContain(TOKEN.slice(0, 8))
})

test('a Retry-After on a 503 lengthens the wait, up to the longest backoff', async () => {
  await using server = await startServer((_, response, nth) =>
    nth === 1 ? response.writeHead(503, { 'retry-after': '60' }).end() : json(response, {}),
  )
  await using client = startClient(server.baseUrl, { limits: { backoff_max: 400 } })
  await client.get()
  expect((server.arrivals[1]?.atMs ?? 0) - (server.arrivals[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(395)
})

test('creating a client with a line break in a header value fails before anything is sent', () => {
  expect(() =>
    startClient('http://127.0.0.1:1/api/v1', { headers: { 'Authorization-Token': 'abc\n' } }),
  ).toThrow(expect.objectContaining({ code: 'invalid_header' }))
})

test('the client logs each request as a debug line and each retry as a warning', async () => {
  await using server = await startServer((_, response, nth) =>
    nth === 1 ? response.writeHead(500).end() : json(response, {}),
  )
  await using client = startClient(server.baseUrl)
  await client.get()
  const request = 'GET /api/v1/surveys'
  expect(client.lines).toMatchObject([
    { level: 'debug', fields: { account: 'default', request, status: 500, slotsInUse: 1 } },
    { level: 'warn', fields: { request, attempts: 1, problem: 'the API answered 500' } },
    { level: 'debug', fields: { request, status: 200, slotsInUse: 2 } },
  ])
})
