/** A proxy before an object store, for a client that is killed in the middle of a request. */
import { createServer, type IncomingMessage, request } from 'node:http'
import { gate } from '../command/trial.js'
import type { Finished } from '../files/temporary.js'
import { listen } from '../servers/server.js'

/**
 * Stands before an object store and passes each request on, until one matches: that request stays unanswered, so its client is in the
 * middle of it. `isHeld` sees method and path with query. `held` opens when a request is held.
 */
export const startHoldingFront = async (
  finished: Finished,
  endpoint: string,
  isHeld: (request: string) => boolean,
) => {
  const held = gate<void>()
  const server = createServer((message, response) => {
    if (isHeld(`${message.method} ${message.url}`)) return held.open()
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
  return { endpoint: `http://127.0.0.1:${await listen(server, finished)}`, held }
}
