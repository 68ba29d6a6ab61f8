/** An abort ends every wait at once, and nothing is sent after it. */
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { type Handler, json, startClient, startServer, type TestClient, until } from './server-and-client.js'

/**
 * Aborts a GET shortly after `sent` arrivals. It must reject with the reason, and nothing more may be sent. If the wait did not
 * end, the request would be sent after it, or the test would never end.
 */
const abortAfter = async (client: TestClient, arrivals: readonly unknown[], sent: number) => {
  const controller = new AbortController()
  const answer = client
    .getJson('/surveys', [], { signal: controller.signal, allowance: unlimitedAllowance })
    .then(
      () => 'answered',
      (error: unknown) => error,
    )
  await until(() => arrivals.length >= sent)
  await delay(100)
  const reason = new StoppedError('stop')
  controller.abort(reason)
  expect(await answer).toBe(reason)
  await delay(400)
  expect(arrivals).toHaveLength(sent)
}

const silent: Handler = () => undefined

describe.concurrent('an abort', () => {
  test('ends the wait for a slot', async () => {
    await using server = await startServer()
    await using client = startClient(server.baseUrl, { rate: { requests: 1, perMs: 300 } })
    await client.get()
    await abortAfter(client, server.arrivals, 1)
    expect(client.usage()).toMatchObject({ requests: 1, slotsInUse: 0 })
  })

  test('ends the wait for other requests in flight', async () => {
    const held: (() => void)[] = []
    await using server = await startServer((_, response) => void held.push(() => json(response, {})))
    await using client = startClient(server.baseUrl)
    const others = Array.from({ length: 8 }, () => client.get())
    await abortAfter(client, server.arrivals, 8)
    for (const release of held) release()
    await Promise.all(others)
    await delay(50)
    expect(server.arrivals).toHaveLength(8)
    expect(client.usage()).toMatchObject({ requests: 8, slotsInUse: 8 })
  })

  test('ends the wait in a pause, with a slot and without', async () => {
    const held: ServerResponse[] = []
    // The server refuses both when both have arrived. An earlier refusal would keep the second from being sent.
    await using server = await startServer((_, response) => {
      if (held.push(response) === 2) for (const refused of held) refused.writeHead(429).end()
    })
    await using client = startClient(server.baseUrl, { rate: { requests: 2, perMs: 60_000 } })
    await Promise.all([1, 2, 3].map(() => abortAfter(client, server.arrivals, 2)))
  })

  test('ends the wait between two attempts', async () => {
    await using server = await startServer((_, response) => response.writeHead(503).end())
    await using client = startClient(server.baseUrl, {
      limits: { backoff_base: 1_000, backoff_max: 1_000 },
    })
    await abortAfter(client, server.arrivals, 1)
  })

  test('ends a request without an answer', async () => {
    await using server = await startServer(silent)
    await using client = startClient(server.baseUrl)
    await abortAfter(client, server.arrivals, 1)
    expect(client.usage().slotsInUse).toBe(1)
  })

  test.each([200, 404])('ends a request in the middle of the body of a %i', async (status) => {
    await using server = await startServer((_, response) => response.writeHead(status).write('{"a":'))
    await using client = startClient(server.baseUrl)
    await abortAfter(client, server.arrivals, 1)
  })

  test('ends a request that is still connecting', async () => {
    const connected: unknown[] = []
    const silentServer = createServer((socket) => void connected.push(socket))
    await new Promise<void>((resolve) => silentServer.listen(0, '127.0.0.1', resolve))
    const address = silentServer.address()
    const port = typeof address === 'object' ? address?.port : 0
    // The client waits for a TLS handshake that never happens.
    await using client = startClient(`https://127.0.0.1:${port}/api/v1`)
    await abortAfter(client, connected, 1)
    silentServer.close()
  })

  test('before the request keeps it from being sent', async () => {
    await using server = await startServer()
    await using client = startClient(server.baseUrl)
    const reason = new StoppedError('stop')
    const context = { signal: AbortSignal.abort(reason), allowance: unlimitedAllowance }
    await expect(client.getJson('/surveys', [], context)).rejects.toBe(reason)
    await delay(50)
    expect(server.arrivals).toEqual([])
  })
})

describe.concurrent('an allowance', () => {
  test('that is used up stops the request before it is sent and takes no slot', async () => {
    await using server = await startServer()
    await using client = startClient(server.baseUrl)
    const stop = new StoppedError('out of budget')
    const allowance = {
      take: () => {
        throw stop
      },
    }
    const context = { signal: new AbortController().signal, allowance }
    await expect(client.getJson('/surveys', [], context)).rejects.toBe(stop)
    await delay(20)
    expect(client.usage()).toMatchObject({ requests: 0, retries: 0, slotsInUse: 0 })
    expect(server.arrivals).toEqual([])
  })

  test('is needed for each send, including retries', async () => {
    await using server = await startServer((_, response) => response.writeHead(500).end())
    await using client = startClient(server.baseUrl)
    let left = 3
    const stop = new StoppedError('out of budget')
    const allowance = {
      take: () => {
        if (left === 0) throw stop
        left -= 1
      },
    }
    const context = { signal: new AbortController().signal, allowance }
    await expect(client.getJson('/surveys', [], context)).rejects.toBe(stop)
    expect(server.arrivals).toHaveLength(3)
  })
})

test.concurrent('a client that may send nothing any more rejects, sends nothing and counts nothing', async () => {
  await using server = await startServer()
  const lost = new StoppedError('another process took over')
  let isAdmitted = true
  await using client = startClient(server.baseUrl, {
    requireAdmission: () => {
      if (!isAdmitted) throw lost
    },
  })
  await client.get()
  isAdmitted = false
  await expect(client.get()).rejects.toBe(lost)
  expect(client.usage()).toMatchObject({ requests: 1, retries: 0 })
  expect(server.arrivals).toHaveLength(1)
})

describe.concurrent('closing', () => {
  test('ends waiting requests and those in flight, and refuses later ones', async ({ onTestFinished }) => {
    await using server = await startServer(silent)
    const directory = await temporaryDirectory(onTestFinished)
    const options = { rate: { requests: 9, perMs: 60_000 }, ledgerDirectory: directory }
    const client = startClient(server.baseUrl, options)
    const answers = Promise.allSettled(Array.from({ length: 12 }, () => client.get()))
    await until(() => server.arrivals.length === 8)
    await client.close()
    await client.close()
    for (const answer of await answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(StoppedError) })
    }
    await expect(client.get()).rejects.toBeInstanceOf(StoppedError)
    expect(server.arrivals).toHaveLength(8)
    await using next = startClient(server.baseUrl, options)
    await until(() => next.usage().slotsInUse === 8)
    await delay(50)
    expect(next.usage().slotsInUse).toBe(8)
  })
})
