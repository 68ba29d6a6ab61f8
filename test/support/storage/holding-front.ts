/** Stands before an object store and passes each request on, until one matches: that request stays unanswered, so its client is in the middle of it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { Finished } from '../files/temporary.js'

export interface HoldingFront {
  readonly endpoint: string
  /** Resolves when a request is held. */
  readonly held: Promise<void>
}

/** `isHeld` sees method and path with query. */
export const startHoldingFront = async (
  finished: Finished,
  endpoint: string,
  isHeld: (request: string) => boolean,
): Promise<HoldingFront> => {
  let hold = () => {}
  const held = new Promise<void>((resolve) => {
    hold = resolve
  })
  const server = createServer((message, response) => {
    if (isHeld(`${message.method} ${message.url}`)) return hold()
    const answered = (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    }
    // The signature is for the host of this server, so the headers stay as they are.
    const { method = '', headers, url = '' } = message
    const passed = request(new URL(url, endpoint), { method, headers }, answered)
    passed.on('error', () => response.destroy())
    message.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  finished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { endpoint: `http://127.0.0.1:${address.port}`, held }
}
