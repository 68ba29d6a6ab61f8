/**
 * Sends answers: JSON, dated with the world's time, compressed if that makes them much smaller. A fault changes an answer before it is
 * sent, or replaces the sending.
 */
import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { object } from './resources.js'
import { formatHttpDate, type Micros } from './time.js'

export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Any value that JSON can hold; a `Buffer` is sent as it is, with the content type that the headers name. */
  readonly body: unknown
  /** The moment of the world that the answer describes; its `Date`. */
  readonly at: Micros
}

export const JSON_TYPE = 'application/json; charset=utf-8'
const GZIP_BYTES_MIN = 1_024
/** The cheapest level: a page of surveys shrinks to a quarter in 0.1 ms. */
const GZIP_LEVEL = 1
const LINGER_MS_MAX = 1_000

/** A request that is answered with an error. The API document leaves the body of an error open ("Errors"): here it is `errorBody`. */
export class Refusal extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
  }
}

export const errorBody = object('Error', 'Every answer that is not 200', {
  error: z.string().min(1).meta({ description: 'One sentence: what is wrong and what to do' }),
})

/** The answer that refuses a request. */
export const refused = ({ status, headers, message }: Refusal, at: Micros): Answer => ({
  status,
  headers,
  body: { error: message },
  at,
})

export const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply => {
  const { status, headers, body } = render(request, answer)
  reply.code(status).headers(headers)
  // Fastify would add a content type to an empty buffer.
  return body.length === 0 ? reply.send() : reply.send(body)
}

/**
 * An answer as it is sent, without the headers that HTTP itself adds. The answer's own headers replace the headers of every answer. The
 * body is encoded once: this function, the framework and the socket each need its length, and each would encode a text again.
 */
export const render = (request: FastifyRequest, answer: Answer): Answer & { readonly body: Buffer } => {
  const { body } = answer
  const isBytes = Buffer.isBuffer(body)
  const bytes = isBytes ? body : Buffer.from(JSON.stringify(body))
  const headers: Answer['headers'] = {
    date: formatHttpDate(answer.at),
    ...(isBytes ? {} : { 'content-type': JSON_TYPE }),
    vary: 'accept-encoding',
    ...answer.headers,
  }
  const isPlain =
    bytes.length < GZIP_BYTES_MIN ||
    'content-encoding' in headers ||
    !ACCEPTS_GZIP.test(String(request.headers['accept-encoding'] ?? ''))
  if (isPlain) return { ...answer, headers, body: bytes }
  const zipped = gzipSync(bytes, { level: GZIP_LEVEL })
  return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body: zipped }
}

const ACCEPTS_GZIP = /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|,|$)/i

/** Answers a request that is not HTTP, or whose head is too long, and ends the connection. Such a request never reaches a route. */
export const answerUnreadable = (error: unknown, socket: Socket, at: Micros): void => {
  if (!socket.writable) return
  const [status, message] = refusalOf(error)
  const body = JSON.stringify({ error: message })
  socket.setTimeout(LINGER_MS_MAX, () => socket.destroy())
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `date: ${formatHttpDate(at)}`,
      `content-type: ${JSON_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

const refusalOf = (error: unknown): readonly [status: number, message: string] => {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [431, `the request line and headers are too long: the most is ${maxHeaderSize} bytes`]
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'the request took too long to arrive']
  return [400, 'this is no HTTP request']
}
