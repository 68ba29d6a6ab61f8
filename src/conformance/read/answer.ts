/** Sends one request and reads its answer to the end, within the timeout and the size limit. Any answer is returned. */

import { parseHttpDate } from '../../http/answer-head.js'
import { type ExchangeOptions, exchange } from '../../http/attempt.js'
import { type BodyText, excerptOf, isUtf8, readText } from '../../http/body.js'
import { TransientError } from '../../http/errors.js'
import type { TransportAnswer } from '../../http/transport.js'

export interface Answer {
  /** As in `GET /api/v1/surveys?page=2`. */
  readonly asked: string
  readonly status: number
  /** By its name in lower case; null where it is missing. */
  header(name: string): string | null
  /** Rate-limit headers, as `name: value`. */
  readonly rateHeaders: readonly string[]
  /** The body, parsed; undefined where it is not JSON. */
  readonly json: unknown
  /** Why the body is not JSON; null where it is. */
  readonly problem: string | null
  /** The beginning of the body on one line. */
  readonly excerpt: string
  /** The `Date` header, milliseconds since 1970; null where it is missing or unreadable. */
  readonly dateMs: number | null
  /** Our clock when we sent the request and when we had the headers of the answer. */
  readonly sentAtMs: number
  readonly headersAtMs: number
}

interface ReceiveOptions extends ExchangeOptions {
  readonly responseBytesMax: number
  readonly redact: (text: string) => string
  readonly onHeaders: () => void
}

/** Resolves with a `TransientError` where no answer came. Rejects with a `ProxyRefusedError`, the signal's reason, or for a bug. */
export const receive = async (options: ReceiveOptions): Promise<Answer | TransientError> => {
  const sentAtMs = options.clock.nowMs()
  const exchanged = await exchange(options, (answer) => {
    options.onHeaders()
    return readAnswer(answer, sentAtMs, options)
  })
  if (exchanged.kind === 'answered') return exchanged.value
  if (!(exchanged.error instanceof TransientError)) throw exchanged.error
  return exchanged.error
}

/** Characters of a body, or of a header, that a report shows. */
const EXCERPT_LENGTH_MAX = 120
const RATE_HEADER = /rate-?limit|^retry-after$/

const readAnswer = async (
  answer: TransportAnswer,
  sentAtMs: number,
  { address, clock, redact, responseBytesMax }: ReceiveOptions,
): Promise<Answer> => {
  const headersAtMs = clock.nowMs()
  const read = await readText(answer.body, answer.header('content-encoding'), responseBytesMax)
  const text = read.kind === 'text' ? read.text : ''
  const excerpt = excerptOf(text, redact, EXCERPT_LENGTH_MAX)
  const parsed = isUtf8(text) ? parse(text) : undefined
  return {
    asked: redact(address.label),
    status: answer.status,
    header: answer.header,
    rateHeaders: answer.headerNames
      .filter((name) => RATE_HEADER.test(name))
      .map((name) => excerptOf(`${name}: ${answer.header(name)}`, redact, EXCERPT_LENGTH_MAX)),
    json: parsed,
    problem: parsed === undefined ? excerptOf(whyNotJson(read, excerpt, responseBytesMax), redact) : null,
    excerpt,
    dateMs: parseHttpDate(answer.header('date')),
    sentAtMs,
    headersAtMs,
  }
}

const whyNotJson = (read: BodyText, excerpt: string, bytesMax: number): string => {
  if (read.kind === 'too_large') return `it is larger than ${bytesMax} bytes`
  if (read.kind === 'invalid') return read.problem
  if (!isUtf8(read.text)) return 'it is not UTF-8'
  return read.text === '' ? 'it is empty' : `it begins with ${excerpt.slice(0, 60)}`
}

/** Undefined, which JSON does not have, where the text is not JSON. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
