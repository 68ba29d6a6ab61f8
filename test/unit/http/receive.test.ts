/** A body is whole, whenever it is read; one that is not needed breaks its connection. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { expect, type OnTestFinishedHandler, test } from 'vitest'
import { type Received, receive } from '../../../src/http/receive.js'

/** `respond` writes the body of each answer; its headers have left. */
const open = async (
  onTestFinished: (handler: OnTestFinishedHandler) => void,
  respond: (response: ServerResponse) => void,
) => {
  const server = createServer((_, response) => {
    response.flushHeaders()
    respond(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent({ connections: 1, pipelining: 1 })
  onTestFinished(async () => {
    await agent.destroy()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const controller = new AbortController()
  const get = () => receive(agent, { origin, path: '/', method: 'GET' }, controller.signal)
  return { get, controller, server }
}

test('a body that arrives in parts is whole, read before or after its end, on one connection', async ({
  onTestFinished,
}) => {
  const { get, server } = await open(onTestFinished, (response) => {
    response.write('first ')
    setImmediate(() => response.write('second '))
    setTimeout(() => response.end('third'), 10)
  })
  let connections = 0
  server.on('connection', () => connections++)
  const early = await get()
  expect(String(await early.read(100))).toBe('first second third')
  const late = await get()
  // The only connection serves the next request when this answer has ended.
  const next = await get()
  expect(String(await late.read(100))).toBe('first second third')
  expect(String(await next.read(18))).toBe('first second third')
  expect(connections).toBe(1)
})

test.for([
  ['is longer than the limit', ({ read }: Received) => read(5), null],
  ['is not needed', (answer: Received) => answer[Symbol.dispose](), undefined],
] as const)('a body that %s breaks its connection', async ([, use, result], { onTestFinished }) => {
  let closed: Promise<unknown> | undefined
  const { get } = await open(onTestFinished, (response) => {
    response.write('too long')
    closed = once(response, 'close')
  })
  expect(await use(await get())).toBe(result)
  await closed
})

test('an abort ends the body with its reason', async ({ onTestFinished }) => {
  const { get, controller } = await open(onTestFinished, (response) => response.write('half'))
  const body = (await get()).read(100)
  controller.abort(new Error('enough'))
  await expect(body).rejects.toThrow('enough')
  await expect(get()).rejects.toThrow('enough')
})
