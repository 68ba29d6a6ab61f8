/** Informational answers before the final one (RFC 9110, section 15.2). A plain socket sends them, as no Node server would. */
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { openTrial } from '../support/command/trial.js'

const BODY = JSON.stringify({
  surveys: [],
  pagination: { current_page: 1, next_page: null, prev_page: null, total_pages: 0, total_count: 0 },
})
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

test.for([
  ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n', { code: 0, run: { requests: 1 } }],
  ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', { code: 0, run: { requests: 1 } }],
  // undici breaks the connection, a limit that docs/how-to/proxy.md documents.
  ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n', { code: 4, run: { requests: 2, retries: 1 } }],
] as const)('a sync handles an unsolicited %s', async ([, before, expected], context) => {
  const trial = await openTrial(context)
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(`${before}${ANSWER}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const args = await trial.settings({
    limits: { attempts: 2, patience: '0s', backoff_base: '1ms', backoff_max: '1ms' },
  })
  const ended = await trial.sync(args, { FIELDWORK_SYNC_BASE_URL: `http://127.0.0.1:${port}/api/v1` })
  server.close()
  expect(ended).toMatchObject(expected)
})
