/**
 * One attempt: a request is sent once and its answer read to the end, within the request timeout, and what came
 * of it is put into one of three kinds. Whatever is neither an answer nor worth another attempt is thrown.
 */
import { abortReason, type Clock } from '../base/clock.js'
import { ExpectedError } from '../base/errors.js'
import { type Address, locationHost } from './address.js'
import { excerptOf, readExcerpt, readText } from './body.js'
import { connectionFailure } from './connection-failure.js'
import {
  BodyTooLargeError,
  CredentialsRefusedError,
  NotThereError,
  RedirectRefusedError,
  RequestRejectedError,
  UnexpectedStatusError,
  type Where,
} from './errors.js'
import { redactJson } from './redact-json.js'
import { parseHttpDate, parseRetryAfter } from './retry-after.js'
import { joinSignals, orAbort } from './signals.js'
import { statusAction } from './status-action.js'
import {
  ConnectionError,
  InvalidBodyError,
  RequestTimeoutError,
  ServerTroubleError,
  type TransientError,
} from './transient-errors.js'
import type { Wire, WireAnswer } from './wire.js'

export interface JsonAnswer {
  /** `text`, parsed. Numbers past 2^53 have lost their last digits; `text` still has them. */
  readonly body: unknown
  /** The JSON text as it came, without a byte order mark and without secrets. */
  readonly text: string
  /** The `Date` header, milliseconds since 1970; null where it is missing or unreadable. */
  readonly dateMs: number | null
}

export type Outcome =
  | { readonly kind: 'answer'; readonly answer: JsonAnswer }
  /** 429; `onRefused` has been told. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'retry'; readonly error: TransientError; readonly askedMs: number | null }

export interface AttemptOptions {
  readonly wire: Wire
  readonly address: Address
  readonly where: Where
  readonly requestTimeoutMs: number
  readonly responseBytesMax: number
  readonly clock: Clock
  readonly redact: (text: string) => string
  /** The same for the strings of an answer, which become rows. */
  readonly redactAnswer: (text: string) => string
  /** Ends the attempt; it rejects with the signal's reason. */
  readonly signal: AbortSignal
  /** The response headers are here, whatever they say. */
  readonly onHeaders: (status: number) => void
  /** A 429 is here; `askedMs` is its `Retry-After`. */
  readonly onRefused: (askedMs: number | null) => void
  /** Not a byte of the request can have left. */
  readonly onNeverSent: () => void
}

export const attempt = async (options: AttemptOptions): Promise<Outcome> => {
  const { clock, signal, address, requestTimeoutMs } = options
  using stop = joinSignals(signal)
  const over = new AbortController()
  const timeout = new RequestTimeoutError(address.host, requestTimeoutMs)
  clock.sleep(requestTimeoutMs, over.signal).then(
    () => stop.abort(timeout),
    () => undefined,
  )
  try {
    // An abort while undici still connects would be noticed only when the connection stands.
    const answer = await orAbort(options.wire.get(address, stop.signal), stop.signal)
    options.onHeaders(answer.status)
    const outcome = await outcomeOf(answer, options)
    if (signal.aborted) throw abortReason(signal)
    return outcome
  } catch (error) {
    if (signal.aborted) throw abortReason(signal)
    if (error instanceof ExpectedError && error !== timeout) throw error
    if (stop.signal.aborted) return { kind: 'retry', error: timeout, askedMs: null }
    const failure = connectionFailure(error)
    if (failure === null) throw error
    if (failure.certainlyUnsent) options.onNeverSent()
    return {
      kind: 'retry',
      error: new ConnectionError(address.host, failure.problem, error),
      askedMs: null,
    }
  } finally {
    over.abort()
  }
}

const outcomeOf = async (answer: WireAnswer, options: AttemptOptions): Promise<Outcome> => {
  const { status, body } = answer
  const { where, redact } = options
  const action = statusAction(status)
  if (action === 'parse') return parse(answer, options)
  const answeredAtMs = parseHttpDate(answer.header('date')) ?? options.clock.nowMs()
  const askedMs = parseRetryAfter(answer.header('retry-after'), answeredAtMs)
  // Before the body is read: what waits for this slot must not be sent meanwhile.
  if (action === 'freeze') options.onRefused(askedMs)
  const excerpt = await readExcerpt(body, answer.header('content-encoding'), redact)
  switch (action) {
    case 'freeze':
      return { kind: 'refused' }
    case 'retry':
      return { kind: 'retry', error: new ServerTroubleError(status, excerpt), askedMs }
    case 'refuse_credentials':
      throw new CredentialsRefusedError(status, where, excerpt)
    case 'refuse_redirect': {
      const host = locationHost(answer.header('location'), options.address)
      throw new RedirectRefusedError(status, where, host === null ? null : excerptOf(host, redact))
    }
    case 'not_found':
      throw new NotThereError(where, excerpt)
    case 'reject':
      throw new RequestRejectedError(status, where, excerpt)
    case 'unknown':
      throw new UnexpectedStatusError(status, where, excerpt)
  }
}

const parse = async (answer: WireAnswer, options: AttemptOptions): Promise<Outcome> => {
  const { where, redact, responseBytesMax } = options
  const read = await readText(answer.body, answer.header('content-encoding'), responseBytesMax)
  if (read.kind === 'too_large') throw new BodyTooLargeError(where, responseBytesMax)
  if (read.kind === 'invalid') return invalid(read.problem)
  try {
    const body: unknown = JSON.parse(read.text)
    const text = redactJson(read.text, options.redactAnswer)
    return {
      kind: 'answer',
      answer: {
        body: text === read.text ? body : JSON.parse(text),
        text,
        dateMs: parseHttpDate(answer.header('date')),
      },
    }
  } catch {
    // V8's own message quotes the first characters: half a token that a server echoed would pass the redactor.
    return invalid(read.text === '' ? 'it is empty' : `it begins with ${excerptOf(read.text, redact, 60)}`)
  }
}

const invalid = (problem: string): Outcome => ({
  kind: 'retry',
  error: new InvalidBodyError(problem),
  askedMs: null,
})
