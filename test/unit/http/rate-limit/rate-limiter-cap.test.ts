/** At most N requests reach the server in any window of W seconds, including retries and restarts. test/e2e/cap kills the process. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../support/files/temporary.js'
import { json, startClient, startServer, until, worstWindow } from '../server-and-client.js'

test.concurrent('requests that fit into the cap are sent in one burst, before any slot is used again', async () => {
  // Even pacing would take 40 minutes, which is longer than a test may take.
  const perMs = 3_600_000
  await using server = await startServer((_, response) => {
    setTimeout(() => json(response, {}), 10)
  })
  await using client = startClient(server.baseUrl, { rate: { requests: 60, perMs } })
  await Promise.all(Array.from({ length: 40 }, () => client.get()))
  expect(server.arrivals).toHaveLength(40)
  expect(client.usage()).toMatchObject({ requests: 40, retries: 0, slotsInUse: 40 })
})

test.concurrent('a client says when the next slot is free, and only while a request waits for it', async () => {
  await using server = await startServer((_, response) => json(response, {}))
  const client = startClient(server.baseUrl, { rate: { requests: 2, perMs: 3_600_000 } })
  await Promise.all([client.get(), client.get()])
  expect(client.usage()).toMatchObject({ slotsInUse: 2, slotFreeAtMs: null })
  const late = client.get().catch(() => undefined)
  await until(() => client.usage().slotFreeAtMs !== null)
  const inMs = (client.usage().slotFreeAtMs ?? 0) - Date.now()
  expect(inMs).toBeGreaterThan(3_000_000)
  expect(inMs).toBeLessThan(3_700_000)
  await client.close()
  await late
})

test.concurrent('a client says when it sends a failed request again, if nothing else is under way', async () => {
  await using server = await startServer((_, response) =>
    response.writeHead(503, { 'retry-after': '60' }).end(),
  )
  const client = startClient(server.baseUrl, { limits: { backoff_max: 60_000 } })
  const failing = client.get().catch(() => undefined)
  await until(() => client.usage().retryAtMs !== null)
  const inMs = (client.usage().retryAtMs ?? 0) - Date.now()
  expect(inMs).toBeGreaterThan(30_000)
  expect(inMs).toBeLessThan(61_000)
  await client.close()
  await failing
  expect(client.usage().retryAtMs).toBe(null)
})

test.concurrent('retries count, so a server that fails every other request sees no more than the cap', async () => {
  const [cap, perMs] = [10, 400]
  await using server = await startServer((_, response, nth) => {
    if (nth % 2 === 0) response.writeHead(503).end('busy')
    else json(response, {})
  })
  await using client = startClient(server.baseUrl, { rate: { requests: cap, perMs } })
  await Promise.all(Array.from({ length: 20 }, () => client.get()))
  const { requests, retries } = client.usage()
  expect(requests).toBe(server.arrivals.length)
  expect(retries).toBe(requests - 20)
  expect(worstWindow(server.arrivals, perMs)).toBeLessThanOrEqual(cap)
})

test.concurrent('requests of a client that was closed, or was never closed as after a kill, still count for the next client', async ({
  onTestFinished,
}) => {
  const [cap, perMs] = [5, 1_500]
  const directory = await temporaryDirectory(onTestFinished)
  await using server = await startServer()
  const threeRequests = async () => {
    const client = startClient(server.baseUrl, { rate: { requests: cap, perMs }, ledgerDirectory: directory })
    onTestFinished(() => client.close())
    await Promise.all([client.get(), client.get(), client.get()])
    return client
  }
  await (await threeRequests()).close()
  await threeRequests()
  await threeRequests()
  expect(server.arrivals).toHaveLength(9)
  expect(worstWindow(server.arrivals, perMs)).toBeLessThanOrEqual(cap)
})

test.concurrent('a request whose outcome is unknown keeps its slot for the request timeout longer', async () => {
  const [perMs, requestTimeoutMs] = [200, 300]
  await using server = await startServer((_, response, nth) => {
    if (nth > 1) json(response, {})
  })
  await using client = startClient(server.baseUrl, {
    rate: { requests: 1, perMs },
    limits: { request_timeout: requestTimeoutMs },
  })
  await client.get()
  const [first, second] = server.arrivals
  // The tolerance is for the time that the first request needed to arrive.
  const apartMs = (second?.atMs ?? 0) - (first?.atMs ?? 0)
  expect(apartMs).toBeGreaterThan(requestTimeoutMs + requestTimeoutMs + perMs - 50)
})

test.concurrent('a request that could not be sent frees its slot at once', async () => {
  const { baseUrl } = await startServer().then(async (server) => {
    await server[Symbol.asyncDispose]()
    return server
  })
  await using client = startClient(baseUrl, { rate: { requests: 1, perMs: 60_000 } })
  await expect(client.get()).rejects.toThrow(
    /gave up on GET \/api\/v1\/surveys after 6 attempts: 127\.0\.0\.1:\d+: connection refused \(ECONNREFUSED\)$/,
  )
  await delay(20)
  expect(client.usage().slotsInUse).toBe(0)
})
