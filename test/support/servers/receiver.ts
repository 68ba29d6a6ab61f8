/** A server that gets what a run reports: pings, webhooks and pushes. The test decides its answers. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { Finished } from '../files/temporary.js'
import { listen } from './server.js'

interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** Answers 200 by default. */
  answer: (request: Received, response: ServerResponse) => void
  /** The received requests as `POST /path`. */
  lines(): readonly string[]
}

export const startReceiver = async (finished: Finished): Promise<Receiver> => {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method = '', url: path = '', headers } = request
    const one = { method, path, headers, body }
    receiver.received.push(one)
    receiver.answer(one, response)
  })
  const receiver: Receiver = {
    url: `http://127.0.0.1:${await listen(server, finished)}`,
    received: [],
    answer: (_, response) => {
      response.end('OK')
    },
    lines: () => receiver.received.map(({ method, path }) => `${method} ${path}`),
  }
  return receiver
}
