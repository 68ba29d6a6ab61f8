/** An answer that is received is whole, however slowly it is read. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { expect, test } from 'vitest'
import { receive } from '../../../src/http/receive.js'

test('a slow reader gets what arrived before the end, and what arrived with it', async ({
  onTestFinished,
}) => {
  const server = createServer((request, response) => {
    if (request.url === '/next') return void response.end('next')
    response.write('first ')
    // The rest leaves when the reader has the first part.
    server.once('rest', () => {
      response.write('second ')
      response.end('third')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const agent = new Agent({ connections: 1, pipelining: 1 })
  onTestFinished(() => agent.destroy())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { signal } = new AbortController()
  const get = (path: string) => receive(agent, { origin, path, method: 'GET' }, signal)
  let text = ''
  for await (const chunk of (await get('/')).body) {
    text += Buffer.from(chunk).toString()
    if (text !== 'first ') continue
    server.emit('rest')
    // The only connection serves the next request when the answer before it has ended.
    for await (const part of (await get('/next')).body) expect(Buffer.from(part).toString()).toBe('next')
  }
  expect(text).toBe('first second third')
})
