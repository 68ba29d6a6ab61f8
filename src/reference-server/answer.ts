/**
 * Sends answers: JSON, dated with the world's time, compressed when that pays. `render` makes the bytes and
 * `sendRendered` sends them. A fault changes the answer before it is rendered, or replaces the sending.
 */
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from './api/refusal.js'
import { formatHttpDate, type Micros } from './time/iso-time.js'

export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Any value that JSON can hold, or a `RawBody`. */
  readonly body: unknown
  /** The moment of the world that the answer describes; its `Date`. */
  readonly at: Micros
}

/** A body that is sent as it is. */
export class RawBody {
  readonly bytes: Buffer
  /** Null for none. */
  readonly contentType: string | null

  constructor(bytes: Buffer, contentType: string | null) {
    this.bytes = bytes
    this.contentType = contentType
  }
}

/** An answer as it is sent, without what HTTP itself adds. */
export interface Rendered {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Shorter bodies are sent as they are. */
const GZIP_BYTES_MIN = 1_024
/** The cheapest level: a page of surveys shrinks to a quarter in 0.1 ms. */
const GZIP_LEVEL = 1

/** The answer that refuses a request. */
export const refused = ({ status, headers, message }: Refusal, at: Micros): Answer => ({
  status,
  headers,
  body: { error: message },
  at,
})

export const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply =>
  sendRendered(reply, render(request, answer))

export const sendRendered = (reply: FastifyReply, { status, headers, body }: Rendered): FastifyReply => {
  reply.code(status).headers(headers)
  // Fastify would add a content type to an empty buffer.
  return body.length === 0 ? reply.send() : reply.send(body)
}

/**
 * The answer's own headers replace those that every answer gets. The body is encoded once, because this function, the
 * framework and the socket each need its length, and each would encode a text again.
 */
export const render = (request: FastifyRequest, answer: Answer): Rendered => {
  const { bytes, contentType } =
    answer.body instanceof RawBody
      ? answer.body
      : new RawBody(Buffer.from(JSON.stringify(answer.body)), JSON_TYPE)
  const headers: Readonly<Record<string, string>> = {
    date: formatHttpDate(answer.at),
    ...(contentType === null ? {} : { 'content-type': contentType }),
    vary: 'accept-encoding',
    ...answer.headers,
  }
  const plain = bytes.length < GZIP_BYTES_MIN || 'content-encoding' in headers || !acceptsGzip(request)
  if (plain) return { status: answer.status, headers, body: bytes }
  return {
    status: answer.status,
    headers: { ...headers, 'content-encoding': 'gzip' },
    body: gzipSync(bytes, { level: GZIP_LEVEL }),
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

const acceptsGzip = (request: FastifyRequest): boolean => {
  const accepted = request.headers['accept-encoding']
  return (
    typeof accepted === 'string' && /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|,|$)/i.test(accepted)
  )
}
