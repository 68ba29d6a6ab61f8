/**
 * Applies faults to an answer: they change it, delay it, break it, or keep it back. Then sends it on the connection. A
 * request whose client has closed the connection is dropped.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, RawBody, type Rendered, render, sendRendered } from '../answer.js'
import { isJson, JSON_LEVELS_MAX, type Json, type JsonObject } from './declaration.js'
import type { ActingFault } from './fault-register.js'

/** An answer, and how and when it is sent. */
interface Outcome {
  readonly answer: Answer
  readonly delayMs: number
  /** `reset`: the connection is reset. `hang`: nothing is sent. A number: so many bytes of the body, then the end. */
  readonly delivery: 'whole' | 'reset' | 'hang' | number
}

/** The status that is sent; null where none is. */
export const sentStatus = ({ answer, delivery }: Outcome): number | null =>
  delivery === 'reset' || delivery === 'hang' ? null : answer.status

/**
 * Statuses and patches change the answer in their order, and delays add up. The first of hang, reset and truncate decides
 * how it is sent.
 */
export const outcomeOf = (answer: Answer, faults: readonly ActingFault[]): Outcome => {
  const actions = faults.map(({ action }) => action)
  const breaking = actions.find(({ hang, reset, truncate }) => (hang ?? reset ?? truncate) !== undefined)
  return {
    answer: actions.reduce(shape, answer),
    delayMs: actions.reduce((sum, { delay_ms }) => sum + (delay_ms ?? 0), 0),
    delivery: breaking === undefined ? 'whole' : (breaking.truncate ?? (breaking.reset ? 'reset' : 'hang')),
  }
}

const shape = (
  answer: Answer,
  { status, headers = {}, body, patch, at = '' }: ActingFault['action'],
): Answer => {
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

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !isList(value)

/**
 * JSON merge patch (RFC 7396): `target` with the members of `patch` merged in; null removes one. A `patch` that is no
 * object replaces `target`.
 */
const mergePatch = (target: Json, patch: Json): Json => {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name) ?? null, part))
  }
  return Object.fromEntries(merged)
}

/**
 * `document` with `change` made at every place that a JSON pointer (RFC 6901) names: `*` stands for every element of a list
 * or member of an object. A pointer to nothing changes nothing.
 */
const changeAt = (document: Json, pointer: string, change: (target: Json) => Json): Json => {
  const [, ...steps] = pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return changeBelow(document, steps, change)
}

const changeBelow = (document: Json, steps: readonly string[], change: (target: Json) => Json): Json => {
  const [step, ...rest] = steps
  if (step === undefined) return change(document)
  const changed = (name: string, part: Json): Json =>
    step === '*' || step === name ? changeBelow(part, rest, change) : part
  if (isList(document)) return document.map((part, place) => changed(String(place), part))
  if (!isObject(document)) return document
  return Object.fromEntries(Object.entries(document).map(([name, part]) => [name, changed(name, part)]))
}
