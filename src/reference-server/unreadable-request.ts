/**
 * Answers bytes that are no HTTP request, or whose head is too long. They never reach a route, so the answer is written
 * to the bare connection, with the same error body as every other refusal.
 */
import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { formatHttpDate, type Micros } from './time/iso-time.js'

/** How long a connection stays open after its answer, so that the client can read it. */
const LINGER_MS_MAX = 1_000

/** Answers on `socket` as of the moment `at`, and ends the connection. */
export const answerUnreadable = (error: unknown, socket: Socket, at: Micros): void => {
  if (!socket.writable) return
  const [status, message] = refusalOf(error)
  const body = JSON.stringify({ error: message })
  socket.setTimeout(LINGER_MS_MAX, () => socket.destroy())
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `date: ${formatHttpDate(at)}`,
      'content-type: application/json; charset=utf-8',
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
