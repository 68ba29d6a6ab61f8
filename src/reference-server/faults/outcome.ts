/**
 * Applies faults to an answer: they change it, delay it, break it, or keep it back. Then sends it on the connection. A
 * request whose client has closed the connection is dropped.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, JSON_TYPE, RawBody, type Rendered, render, sendRendered } from '../answer.js'
import type { Random } from '../world/random.js'
import type { ActingFault } from './fault-register.js'
import { changeAt, isJson, JSON_LEVELS_MAX, type Json, mergePatch } from './json.js'

/** An answer, and how and when it is sent. */
interface Outcome {
  readonly answer: Answer
  readonly delayMs: number
  /** `reset`: the connection is reset. `hang`: nothing is sent. A number: so many bytes of the body, then the end. */
  readonly delivery: 'whole' | 'reset' | 'hang' | number
}

type FaultAction = ActingFault['action']

const GARBAGE_BYTES_MIN = 16
const GARBAGE_BYTES_MAX = 512

/** The status that is sent; null where none is. */
export const sentStatus = ({ answer, delivery }: Outcome): number | null =>
  delivery === 'reset' || delivery === 'hang' ? null : answer.status

/**
 * Statuses and patches change the answer in their order, and delays add up. The first of hang, reset, truncate and
 * garbage decides how it is sent.
 */
export const outcomeOf = (answer: Answer, faults: readonly ActingFault[]): Outcome => {
  if (faults.length === 0) return { answer, delayMs: 0, delivery: 'whole' }
  const shaped = faults.reduce((before, { action }) => shape(before, action), answer)
  const delayMs = faults.reduce((sum, { action }) => sum + (action.delay_ms ?? 0), 0)
  const breaking = faults.find(({ action }) => breaks(action))
  if (breaking === undefined) return { answer: shaped, delayMs, delivery: 'whole' }
  const { action, random } = breaking
  if (action.garbage) return { answer: garbage(shaped, random), delayMs, delivery: 'whole' }
  return { answer: shaped, delayMs, delivery: action.truncate ?? (action.reset ? 'reset' : 'hang') }
}

const breaks = ({ hang, reset, truncate, garbage }: FaultAction): boolean =>
  hang !== undefined || reset !== undefined || truncate !== undefined || garbage !== undefined

const shape = (answer: Answer, { status, headers = {}, body, patch, at = '' }: FaultAction): Answer => {
  if (status !== undefined) return { ...answer, status, headers, body: given(body) }
  if (patch === undefined || answer.body instanceof RawBody) return answer
  return { ...answer, body: changeAt(toJson(answer.body), at, (target) => mergePatch(target, patch)) }
}

/** A text is sent as it is, as HTML where it begins with `<`. */
const given = (body: Json | undefined): Json | RawBody => {
  if (body === undefined) return new RawBody(Buffer.alloc(0), null)
  if (typeof body !== 'string') return body
  return new RawBody(Buffer.from(body), `${body.startsWith('<') ? 'text/html' : 'text/plain'}; charset=utf-8`)
}

/** Bytes that claim to be JSON. The first one cannot begin a character in UTF-8, so they never are. */
const garbage = (answer: Answer, random: Random): Answer => {
  const length = GARBAGE_BYTES_MIN + random.below(GARBAGE_BYTES_MAX - GARBAGE_BYTES_MIN)
  const bytes = Buffer.from(Array.from({ length }, () => random.below(256)))
  bytes[0] = 0x80 + random.below(0x40)
  return { ...answer, status: 200, headers: {}, body: new RawBody(bytes, JSON_TYPE) }
}

/** The body as a client would read it, without undefined fields. */
const toJson = (body: unknown): Json => {
  const json: unknown = JSON.parse(JSON.stringify(body))
  if (isJson(json)) return json
  throw new Error(`an answer has more than ${JSON_LEVELS_MAX} levels`)
}

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
