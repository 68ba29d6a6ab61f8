/** At most N requests reach the server in any window of W seconds, including retries and restarts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { json, startClient, startServer, type TestServer, until, worstWindow } from '../server-and-client.js'

const burstScript = fileURLToPath(new URL('../fixtures/burst.mjs', import.meta.url))

const startBurst = (
  server: TestServer,
  job: { directory: string; requests: number; perMs: number; count: number },
): ChildProcess =>
  spawn(
    process.execPath,
    [burstScript, server.baseUrl, job.directory, ...[job.requests, job.perMs, job.count].map(String)],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )

const killAfter = async (child: ChildProcess, server: TestServer, arrivals: number): Promise<void> => {
  await until(() => server.arrivals.length >= arrivals)
  child.kill('SIGKILL')
  await once(child, 'exit')
}

const temporaryDirectory = () => mkdtemp(join(tmpdir(), 'ledger-'))

test.concurrent('requests that fit into the cap are sent in one burst, before any slot is used again', async () => {
  // Even pacing would take 40 minutes, and the test may take one.
  const perMs = 3_600_000
  await using server = await startServer((_, response) => {
    setTimeout(() => json(response, {}), 10)
  })
  await using client = startClient(server.baseUrl, { rate: { requests: 60, perMs } })
  await Promise.all(Array.from({ length: 40 }, () => client.get()))
  expect(server.arrivals).toHaveLength(40)
  expect(client.usage()).toMatchObject({ requests: 40, retries: 0, slotsInUse: 40 })
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

test.concurrent('the cap holds across restarts, also after a process was killed in the middle of its burst', async () => {
  const [cap, perMs] = [20, 2_500]
  const directory = await temporaryDirectory()
  await using server = await startServer((_, response) => {
    setTimeout(() => json(response, {}), 60)
  })
  const job = { directory, requests: cap, perMs, count: 15 }
  await killAfter(startBurst(server, job), server, 9)
  await killAfter(startBurst(server, job), server, 18)
  const before = server.arrivals.length
  const [code] = await once(startBurst(server, job), 'exit')
  expect(code).toBe(0)
  expect(server.arrivals.length - before).toBeGreaterThanOrEqual(15)
  expect(worstWindow(server.arrivals, perMs)).toBeLessThanOrEqual(cap)
})

test.concurrent('without the ledger the same restarts break the cap', async () => {
  const [cap, perMs] = [20, 20_000]
  await using server = await startServer()
  const job = { directory: '-', requests: cap, perMs, count: 15 }
  await once(startBurst(server, job), 'exit')
  await once(startBurst(server, job), 'exit')
  expect(worstWindow(server.arrivals, perMs)).toBe(30)
})

test.concurrent('requests of a client that was closed still count for the next client', async () => {
  const [cap, perMs] = [5, 1_500]
  const directory = await temporaryDirectory()
  await using server = await startServer()
  for (let run = 0; run < 3; run += 1) {
    await using client = startClient(server.baseUrl, {
      rate: { requests: cap, perMs },
      ledgerDirectory: directory,
    })
    await Promise.all([client.get(), client.get(), client.get()])
  }
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
