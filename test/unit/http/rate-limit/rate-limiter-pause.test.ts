/** A 429 pauses all requests of the client and loses none. A server that keeps refusing ends the run. */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../../src/base/errors.js'
import { failureOf, json, startClient, startServer, type TestClient, until } from '../server-and-client.js'

const pausesOf = (client: TestClient) =>
  client.lines.filter(({ level, message }) => level === 'warn' && message.includes('for the rate (429)'))

/** The headers of the first answer, and how long nothing may arrive after it. */
const requests: readonly (readonly [name: string, headers: Record<string, string>, pausedMs: number])[] = [
  ['one window if it has no Retry-After', {}, 600],
  ['the seconds of its Retry-After', { 'retry-after': '1' }, 1_000],
  [
    'the time from its Date to the date of its Retry-After',
    { date: 'Tue, 03 Mar 2026 10:00:00 GMT', 'retry-after': 'Tue, 03 Mar 2026 10:00:01 GMT' },
    1_000,
  ],
]

describe.concurrent('a 429', () => {
  test.each(requests)('pauses for %s', async (_, headers, pausedMs) => {
    let refusedAtMs = 0
    await using server = await startServer((_request, response, nth) => {
      if (nth > 1) return json(response, {})
      refusedAtMs = performance.now()
      response.writeHead(429, headers).end('slow down')
    })
    await using client = startClient(server.baseUrl, { rate: { requests: 20, perMs: 600 } })
    const answer = client.get()
    await until(() => client.usage().pausedUntilMs !== null)
    const late = client.get()
    await Promise.all([answer, late])
    expect(server.arrivals).toHaveLength(3)
    expect((server.arrivals[1]?.atMs ?? 0) - refusedAtMs).toBeGreaterThanOrEqual(pausedMs - 5)
    expect(client.usage()).toMatchObject({ requests: 3, retries: 1, rateLimited: 1, pausedUntilMs: null })
  })

  test('holds back requests that have a slot, and a second 429 of the same burst does not lengthen the pause', async () => {
    let refusedAtMs = 0
    const waiting: ServerResponse[] = []
    const refuse = (response: ServerResponse | undefined) => {
      refusedAtMs ||= performance.now()
      response?.writeHead(429, { 'retry-after': '1' }).end()
    }
    await using server = await startServer((_request, response, nth) => {
      if (nth > 8) return json(response, {})
      waiting.push(response)
      if (nth < 8) return
      setTimeout(() => refuse(waiting.shift()), 20)
      setTimeout(() => waiting.map(refuse), 300)
    })
    await using client = startClient(server.baseUrl, { rate: { requests: 60, perMs: 500 } })
    await Promise.all(Array.from({ length: 30 }, () => client.get()))
    const during = server.arrivals.filter(({ atMs }) => atMs > refusedAtMs && atMs < refusedAtMs + 990)
    expect(during).toEqual([])
    expect(pausesOf(client)).toHaveLength(1)
    expect(client.usage()).toMatchObject({ requests: 38, rateLimited: 8, retries: 8 })
  })

  test('gives no slots to requests that come during the pause', async () => {
    await using server = await startServer((_request, response) =>
      response.writeHead(429, { 'retry-after': '600' }).end(),
    )
    const client = startClient(server.baseUrl)
    const first = failureOf(client.get())
    await until(() => client.usage().pausedUntilMs !== null)
    await delay(50)
    const later = Array.from({ length: 5 }, () => failureOf(client.get()))
    await delay(100)
    // The refused request, and its retry if that took a slot before the pause began.
    expect(client.usage().slotsInUse).toBeLessThanOrEqual(2)
    await client.close()
    for (const failure of await Promise.all([first, ...later])) expect(failure).toBeInstanceOf(StoppedError)
    expect(server.arrivals).toHaveLength(1)
  })

  test('does not count as an attempt', async () => {
    await using server = await startServer((_request, response, nth) =>
      nth <= 2 ? response.writeHead(429).end() : json(response, {}),
    )
    await using client = startClient(server.baseUrl, {
      rate: { requests: 20, perMs: 50 },
      limits: { attempts: 1 },
    })
    await client.get()
    expect(pausesOf(client).map(({ fields }) => fields.pauseMs)).toEqual([50, 100])
  })

  test('after a success pauses for one window again', async () => {
    const refused = new Set([1, 2, 4, 5])
    await using server = await startServer((_request, response, nth) =>
      refused.has(nth) ? response.writeHead(429).end() : json(response, {}),
    )
    await using client = startClient(server.baseUrl, { rate: { requests: 20, perMs: 40 } })
    await client.get()
    await client.get()
    expect(pausesOf(client).map(({ fields }) => fields.pauseMs)).toEqual([40, 80, 40, 80])
  })

  test('five times in a row ends the run for all waiting requests', async () => {
    await using server = await startServer((_request, response) => response.writeHead(429).end())
    await using client = startClient(server.baseUrl, { rate: { requests: 1, perMs: 30 } })
    const failures = await Promise.all([client.get(), client.get(), client.get()].map(failureOf))
    expect(server.arrivals).toHaveLength(5)
    expect(pausesOf(client).map(({ fields }) => fields.pauseMs)).toEqual([30, 60, 120, 240])
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 'rate_refused', endsRun: true, exitCode: 4 })
    }
    expect(failures[0]?.message).toBe(
      "the API answered 429 (too many requests) for account 'default' 5 times in a row, last at GET /api/v1/surveys: " +
        'check whether others use this account or its cap is below 1 per 0.03 s (rate_limit)',
    )
    expect(await failureOf(client.get())).toBe(failures[0])
    expect(server.arrivals).toHaveLength(5)
  })

  test('with a Retry-After above an hour ends the run and says so', async () => {
    await using server = await startServer((_request, response) =>
      response.writeHead(429, { 'retry-after': '7200' }).end(),
    )
    await using client = startClient(server.baseUrl)
    const failure = await failureOf(client.get())
    expect(failure).toMatchObject({ code: 'retry_after_too_long', endsRun: true, exitCode: 4 })
    expect(failure.message).toContain('requested a wait of 7200 s, longer than the 3600 s')
  })

  test('ends the run at once if pausesMax is 1', async () => {
    await using server = await startServer((_request, response) =>
      response.writeHead(429, { 'retry-after': '600' }).end(),
    )
    await using client = startClient(server.baseUrl, { limits: { pausesMax: 1 } })
    await expect(client.get()).rejects.toMatchObject({
      code: 'rate_refused',
      message: expect.stringContaining(
        "answered 429 (too many requests) for account 'default' at GET /api/v1/surveys: check",
      ),
    })
    expect(server.arrivals).toHaveLength(1)
  })
})
