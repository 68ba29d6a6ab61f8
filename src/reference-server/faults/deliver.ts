/** How an outcome leaves on the connection. Nothing is kept of a request whose client has gone away. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Rendered, render, sendRendered } from '../answer.js'
import type { Outcome } from './outcome.js'

/** Sends what is to be sent, now or later. */
export const deliver = (request: FastifyRequest, reply: FastifyReply, outcome: Outcome): void => {
  if (outcome.delayMs === 0) {
    deliverNow(request, reply, outcome)
    return
  }
  const timer = setTimeout(() => deliverNow(request, reply, outcome), outcome.delayMs)
  // The server's own listening keeps the process alive: an answer that nobody waits for must not.
  timer.unref()
  reply.raw.once('close', () => clearTimeout(timer))
}

const deliverNow = (request: FastifyRequest, reply: FastifyReply, { answer, delivery }: Outcome): void => {
  if (delivery === 'whole') {
    sendRendered(reply, render(request, answer))
    return
  }
  // From here on the connection is ours; it ends with the client's going or the server's closing.
  reply.hijack()
  if (delivery === 'hang') return
  if (delivery === 'reset') request.raw.socket.resetAndDestroy()
  else sendPart(request, reply, render(request, answer), delivery)
}

/** Announces the whole body, sends its first `bytes` bytes and ends the connection. */
const sendPart = (request: FastifyRequest, reply: FastifyReply, rendered: Rendered, bytes: number): void => {
  const { status, headers, body } = rendered
  const { socket } = request.raw
  reply.raw.writeHead(status, { ...headers, 'content-length': String(body.length) })
  reply.raw.flushHeaders()
  if (bytes === 0 || body.length === 0) socket.destroySoon()
  else reply.raw.write(body.subarray(0, bytes), () => socket.destroySoon())
}
