/** An outage on a clock that the test moves: how long a run waits, how often it asks, and what it says. */
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { testClock } from '../../support/time/test-clock.js'
import {
  failureOf,
  type Handler,
  json,
  startClient,
  startServer,
  type TestClient,
  until,
} from './server-and-client.js'

const MINUTE_MS = 60_000
const SAYS = 'the API answers nothing: the run waits for it'

type Settings = NonNullable<Parameters<typeof startClient>[1]>

/** No time passes while a request is under way, so the load of the machine decides nothing. */
const open = async (handler: (atMs: number) => Handler, settings: Settings = {}) => {
  const clock = testClock()
  const startMs = clock.nowMs()
  const sentMs: number[] = []
  let answered = 0
  const server = await startServer((request, response, nth) => {
    sentMs.push(clock.nowMs() - startMs)
    response.on('close', () => {
      answered += 1
    })
    handler(clock.nowMs() - startMs)(request, response, nth)
  })
  const client = startClient(server.baseUrl, {
    ...settings,
    clock,
    limits: {
      ...{ patience: 15 * MINUTE_MS, request_timeout: 86_400_000, backoff_base: 500, backoff_max: MINUTE_MS },
      ...settings.limits,
    },
  })
  return {
    server,
    client,
    sentMs,
    passedMs: () => clock.nowMs() - startMs,
    /** Lets time pass, a second after the other, until `work` has ended. */
    pass: async <Value>(work: Promise<Value>): Promise<Value> => {
      let hasEnded = false
      const end = () => {
        hasEnded = true
      }
      work.then(end, end)
      while (!hasEnded) {
        await delay(2)
        const isQuiet = settings.createTransport !== undefined || answered === client.usage().requests
        if (isQuiet && !hasEnded) clock.advance(1_000)
      }
      return await work
    },
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

const unavailable: Handler = (_, response) => response.writeHead(503).end()
const available: Handler = (_, response) => json(response, { ok: true })
const awayFor =
  (ms: number, answer = unavailable) =>
  (atMs: number) =>
    atMs < ms ? answer : available

const said = (client: TestClient) =>
  client.lines.filter(({ message }) => message === SAYS).map(({ level }) => level)

test('eight requests wait for 45 seconds, and one at a time asks', async () => {
  await using api = await open(awayFor(45_000))
  const work = Promise.all(Array.from({ length: 8 }, (_, nth) => api.client.get(`/surveys/${nth}/progress`)))
  expect(await api.pass(work)).toHaveLength(8)
  const asked = api.sentMs.filter((atMs) => atMs < 45_000).length
  const probes = api.server.arrivals.slice(0, asked).filter(({ url }) => url === '/api/v1/surveys')
  // Six failures in a row, and what was in flight then.
  expect(asked - probes.length).toBeLessThanOrEqual(6 + 7)
  // The waits double: half a second, one, two, four, eight, sixteen, thirty-two.
  expect(probes.length).toBeGreaterThan(2)
  expect(probes.length).toBeLessThanOrEqual(8)
  // At once, and after a minute if the last wait was that long.
  expect(said(api.client).slice(0, 1)).toEqual(['warn'])
  expect(said(api.client).length).toBeLessThanOrEqual(2)
  expect(api.client.lines.filter(({ level }) => level === 'info').map(({ message }) => message)).toEqual([
    'the API answers again',
  ])
  expect(api.client.usage().unanswered).toBe(null)
})

test('after the patience every request fails with the same error, and one line a minute has said so', async () => {
  await using api = await open(awayFor(Number.POSITIVE_INFINITY))
  const requests = [1, 2, 3].map((nth) => failureOf(api.client.get(`/surveys/${nth}/progress`)))
  const [first, ...others] = await api.pass(Promise.all(requests))
  expect(first).toMatchObject({ code: 'no_answer', endsRun: true })
  for (const other of others) expect(other).toBe(first)
  expect(api.passedMs()).toBeGreaterThanOrEqual(15 * MINUTE_MS)
  expect(api.passedMs()).toBeLessThan(16 * MINUTE_MS)
  expect(said(api.client).length).toBeGreaterThanOrEqual(14)
  expect(said(api.client).length).toBeLessThanOrEqual(16)
  // Once the waits are at their limit, half a minute on average.
  expect(api.sentMs.length).toBeLessThan(45)
  expect(first?.message).toBe(
    "the API of account 'default' gave no usable answer for 15 min 00 s, the last time: the API answered 503. Start the run again when the " +
      'service answers; limits.patience (15 min 00 s) is how long a run waits',
  )
})

test('the time of the run ends the wait earlier', async () => {
  await using api = await open(awayFor(Number.POSITIVE_INFINITY), { durationMsMax: 2 * MINUTE_MS })
  expect(await api.pass(failureOf(api.client.get()))).toMatchObject({ code: 'no_answer' })
  expect(api.passedMs()).toBeLessThan(2 * MINUTE_MS + 5_000)
})

test('Retry-After is kept', async () => {
  const later: Handler = (_, response) => response.writeHead(503, { 'retry-after': '120' }).end()
  await using api = await open(awayFor(300_000, later), { limits: { attempts: 1 } })
  await api.pass(api.client.get())
  const waits = api.sentMs.slice(0, 4).map((atMs, nth) => atMs - (api.sentMs[nth - 1] ?? atMs))
  expect(Math.min(...waits.slice(1))).toBeGreaterThanOrEqual(120_000)
})

test('a request that fails while others are answered fails after its attempts, and once more after the list was answered', async () => {
  await using api = await open(
    () => (request, response, nth) =>
      (request.url?.endsWith('/broken') ? unavailable : available)(request, response, nth),
  )
  expect(await api.pass(failureOf(api.client.get('/surveys/1/broken')))).toMatchObject({
    code: 'attempts_exhausted',
    endsRun: false,
    message: expect.stringContaining('after 7 attempts'),
  })
  expect(said(api.client)).toEqual([])
  expect(api.client.usage()).toMatchObject({ requests: 8 })
})

test('a service that answers its list alone is not waited for longer than the patience', async () => {
  // Every second request of the list is answered, and nothing else.
  await using api = await open(
    () => (request, response, nth) =>
      (request.url?.endsWith('/broken') || nth % 2 === 0 ? unavailable : available)(request, response, nth),
  )
  const error = await api.pass(failureOf(api.client.get('/surveys/1/broken')))
  expect(['no_answer', 'attempts_exhausted']).toContain('code' in error ? error.code : null)
  expect(api.passedMs()).toBeLessThan(16 * MINUTE_MS)
})

test.each([401, 403, 404, 302, 429])('%i is an answer', async (status) => {
  await using api = await open((atMs) =>
    atMs < 20_000
      ? unavailable
      : atMs < 100_000
        ? (_, response) => response.writeHead(status).end()
        : available,
  )
  const outcome = await api.pass(api.client.get().catch((error: unknown) => error))
  if (status === 429) expect(outcome).toMatchObject({ code: 'rate_refused' })
  else expect(outcome).toMatchObject({ status })
})

describe('what waiting does not mend', () => {
  const failing = (code: string) => () => ({
    get: () => Promise.reject(Object.assign(new Error(code), { code })),
    destroy: () => Promise.resolve(),
  })

  test.each([
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ENOTFOUND',
  ])('%s fails after its attempts', async (code) => {
    await using api = await open(() => available, { createTransport: failing(code) })
    expect(await api.pass(failureOf(api.client.get()))).toMatchObject({ code: 'attempts_exhausted' })
    expect(api.client.usage()).toMatchObject({ requests: 6 })
  })

  test('a host that an earlier run was answered by may be unknown for a while', async () => {
    await using api = await open(() => available, {
      createTransport: failing('ENOTFOUND'),
      wasAnswered: true,
    })
    expect(await api.pass(failureOf(api.client.get()))).toMatchObject({ code: 'no_answer' })
  })
})

test('an abort ends the wait, and another request asks in its place', async () => {
  await using api = await open(awayFor(100_000), { limits: { attempts: 1, backoff_base: MINUTE_MS } })
  const stop = new AbortController()
  const context = { signal: stop.signal, allowance: unlimitedAllowance }
  const stopped = failureOf(api.client.getJson('/surveys/1', [], context))
  await until(() => api.client.usage().unanswered !== null)
  const other = api.client.get('/surveys/2')
  const reason = new StoppedError('stop')
  stop.abort(reason)
  expect(await stopped).toBe(reason)
  expect(await api.pass(other)).toMatchObject({ body: { ok: true } })
})
