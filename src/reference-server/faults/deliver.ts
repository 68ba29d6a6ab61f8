/** Sends an outcome on the connection. A request whose client has closed the connection is dropped. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Rendered, render, sendRendered } from '../answer.js'
import type { Outcome } from './outcome.js'

/** Sends the answer at once or after the delay. */
export const deliver = (request: FastifyRequest, reply: FastifyReply, outcome: Outcome): void => {
  if (outcome.delayMs === 0) {
    deliverNow(request, reply, outcome)
    return
  }
  const timer = setTimeout(() => deliverNow(request, reply, outcome), outcome.delayMs)
  // Only the listening server keeps the process alive, not a delayed answer.
  timer.unref()
  reply.raw.once('close', () => clearTimeout(timer))
}

const deliverNow = (request: FastifyRequest, reply: FastifyReply, { answer, delivery }: Outcome): void => {
  if (delivery === 'whole') {
    sendRendered(reply, render(request, answer))
    return
  }
  // From here on Fastify no longer handles the connection. It ends when the client or the server closes it.
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
