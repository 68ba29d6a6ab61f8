/** One request sent and its answer read to the end, within the timeout and the size limit; whatever came is the answer. */
import { excerptOf, isUtf8, readText } from '../../http/body.js'
import { type ExchangeOptions, exchange } from '../../http/exchange.js'
import { parseHttpDate } from '../../http/retry-after.js'
import { TransientError } from '../../http/transient-errors.js'
import type { TransportAnswer } from '../../http/transport.js'

export interface Answer {
  /** As in `GET /api/v1/surveys?page=2`. */
  readonly asked: string
  readonly status: number
  /** By its name in lower case; null where it is missing. */
  header(name: string): string | null
  /** Headers that tell of a rate limit, as `name: value`. */
  readonly rateHeaders: readonly string[]
  /** The body, parsed; undefined where it is no JSON. */
  readonly json: unknown
  /** Why the body is no JSON; null where it is. */
  readonly problem: string | null
  /** The beginning of the body on one line. */
  readonly excerpt: string
  /** The `Date` header, milliseconds since 1970; null where it is missing or unreadable. */
  readonly dateMs: number | null
  /** Our clock when the request was sent and when its headers were here. */
  readonly sentAtMs: number
  readonly headersAtMs: number
}

export interface ReceiveOptions extends ExchangeOptions {
  readonly responseBytesMax: number
  readonly redact: (text: string) => string
  readonly onHeaders: () => void
}

/** Resolves with what may go away by itself as well; rejects with a `ProxyRefusedError`, the signal's reason, or for a bug. */
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
  const problem =
    read.kind === 'too_large'
      ? `it is larger than ${responseBytesMax} bytes`
      : read.kind === 'invalid'
        ? read.problem
        : parsed === undefined
          ? whyNoJson(text, excerpt)
          : null
  return {
    asked: redact(address.label),
    status: answer.status,
    header: answer.header,
    rateHeaders: answer.headerNames
      .filter((name) => RATE_HEADER.test(name))
      .map((name) => excerptOf(`${name}: ${answer.header(name)}`, redact, EXCERPT_LENGTH_MAX)),
    json: parsed,
    problem,
    excerpt,
    dateMs: parseHttpDate(answer.header('date')),
    sentAtMs,
    headersAtMs,
  }
}

const whyNoJson = (text: string, excerpt: string): string => {
  if (!isUtf8(text)) return 'it is not UTF-8'
  return text === '' ? 'it is empty' : `it begins with ${excerpt.slice(0, 60)}`
}

/** Undefined where it is no JSON: JSON has no such value. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
