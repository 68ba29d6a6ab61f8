/**
 * One attempt to send a request. It ends with an answer, a 429, or a failure that is worth another attempt. Any other failure is thrown.
 */
import type { Clock } from '../base/clock.js'
import { ExpectedError } from '../base/errors.js'
import type { HttpProxy } from '../base/network.js'
import { onAbort, throwIfAnyAborted } from '../base/signals.js'
import { type Address, locationHost } from './address.js'
import { connectionFailure, ProxyRefusedError, ProxyTroubleError, peerOf } from './connection-failure.js'
import {
  bodyTooLarge,
  connectionFailed,
  invalidBody,
  redirectRefused,
  refused,
  requestTimeout,
  serverTrouble,
  TransientError,
  type Where,
} from './errors.js'
import { excerptOf, headerOf, isUtf8, type Received, readExcerpt, readText } from './receive.js'
import { redactJson } from './redact-json.js'
import type { Transport } from './transport.js'

export interface JsonAnswer {
  /** `text`, parsed. Numbers past 2^53 have lost their last digits, which `text` still has. */
  readonly body: unknown
  /**
   * The text of the body, without a byte order mark and without secrets. A lone surrogate in a string stands for bytes that were not UTF-8,
   * or was sent as an escape. Stored text cannot hold one.
   */
  readonly text: string
  /** The `Date` header, milliseconds since 1970; null if it is missing or unreadable. */
  readonly dateMs: number | null
}

export type Outcome =
  | { readonly kind: 'answer'; readonly answer: JsonAnswer }
  /** 429; `onRateLimited` has been called. */
  | { readonly kind: 'rate_limited' }
  | Retry

/** A failure that is worth another attempt. */
export interface Retry {
  readonly kind: 'retry'
  readonly error: TransientError
  readonly retryAfterMs: number | null
}

interface AttemptOptions extends ExchangeOptions {
  readonly where: Where
  readonly responseBytesMax: number
  readonly redact: (text: string) => string
  /** `redact` for the strings of an answer, which become rows. */
  readonly redactAnswer: (text: string) => string
  readonly onHeaders: (status: number) => void
  /** Called for a 429; `retryAfterMs` is its `Retry-After`, null without one. */
  readonly onRateLimited: (retryAfterMs: number | null) => void
  readonly onNeverSent: () => void
}

export const attempt = async (options: AttemptOptions): Promise<Outcome> => {
  const exchanged = await exchange(options, (answer) => {
    options.onHeaders(answer.status)
    return outcomeOf(answer, options)
  })
  if (exchanged.kind === 'answered') return exchanged.value
  if (exchanged.certainlyUnsent) options.onNeverSent()
  if (!(exchanged.error instanceof TransientError)) throw exchanged.error
  return retry(exchanged.error)
}

const outcomeOf = async (answer: Received, options: AttemptOptions): Promise<Outcome> => {
  const { status } = answer
  const { where, redact } = options
  const action = statusAction(status)
  if (action === 'parse') return parse(answer, options)
  const answeredAtMs = parseHttpDate(headerOf(answer, 'date')) ?? options.clock.nowMs()
  const retryAfterMs = parseRetryAfter(headerOf(answer, 'retry-after'), answeredAtMs)
  // The pause begins before the body is read, so that no waiting request is sent meanwhile.
  if (action === 'pause') options.onRateLimited(retryAfterMs)
  const excerpt = await readExcerpt(answer, redact)
  if (action === 'pause') return { kind: 'rate_limited' }
  if (action === 'retry') return retry(serverTrouble(status, excerpt), retryAfterMs)
  if (action !== 'redirect_refused') throw refused(action, status, where, excerpt)
  const host = locationHost(headerOf(answer, 'location'), options.address)
  throw redirectRefused(status, where, host === null ? null : excerptOf(host, redact))
}

const parse = async (answer: Received, options: AttemptOptions): Promise<Outcome> => {
  const { where, redact, responseBytesMax } = options
  const read = await readText(answer, responseBytesMax)
  if (read.kind === 'too_large') throw bodyTooLarge(where, responseBytesMax)
  if (read.kind === 'invalid') return invalid(excerptOf(read.problem, redact))
  try {
    const parsed: unknown = JSON.parse(read.text)
    const text = redactJson(read.text, options.redactAnswer)
    const body = text === read.text ? parsed : JSON.parse(text)
    return { kind: 'answer', answer: { body, text, dateMs: parseHttpDate(headerOf(answer, 'date')) } }
  } catch {
    if (!isUtf8(read.text)) return invalid('it is not UTF-8')
    // V8's message quotes the first characters, which may hold half an echoed token. The redactor does not find half a token.
    return invalid(read.text === '' ? 'it is empty' : `it begins with ${excerptOf(read.text, redact, 60)}`)
  }
}

const invalid = (problem: string): Outcome => retry(invalidBody(problem))

const retry = (error: TransientError, retryAfterMs: number | null = null): Outcome => ({
  kind: 'retry',
  error,
  retryAfterMs,
})

interface ExchangeOptions {
  readonly transport: Transport
  readonly address: Address
  readonly requestTimeoutMs: number
  readonly proxy: HttpProxy | null
  readonly clock: Clock
  /** Each signal ends the exchange, which rejects with the signal's reason. */
  readonly signals: readonly AbortSignal[]
}

type Exchanged<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | {
      readonly kind: 'broken'
      readonly error: TransientError | ProxyRefusedError
      readonly certainlyUnsent: boolean
    }

/**
 * Sends a request once, within the request timeout. `read` is called when the response headers have arrived, and reads as much of the
 * body as it needs. Returns a failure that may pass, such as a timeout or a broken connection, and throws any other.
 */
export const exchange = async <Value>(
  { transport, address, requestTimeoutMs, proxy, clock, signals }: ExchangeOptions,
  read: (answer: Received) => Promise<Value>,
): Promise<Exchanged<Value>> => {
  const stop = new AbortController()
  using _listening = onAbort(signals, (reason) => stop.abort(reason))
  let timeout: TransientError | null = null
  const cancelTimeout = clock.after(requestTimeoutMs, () => {
    timeout = requestTimeout(peerOf(address, proxy), requestTimeoutMs)
    stop.abort(timeout)
  })
  try {
    using answer = await transport.get(address, stop.signal)
    const value = await read(answer)
    throwIfAnyAborted(signals)
    return { kind: 'answered', value }
  } catch (error) {
    throwIfAnyAborted(signals)
    if (error instanceof ProxyTroubleError || error instanceof ProxyRefusedError) {
      return { kind: 'broken', error, certainlyUnsent: error.certainlyUnsent }
    }
    if (error instanceof ExpectedError && error !== timeout) throw error
    if (timeout !== null) return { kind: 'broken', error: timeout, certainlyUnsent: false }
    const failure = connectionFailure(error)
    if (failure === null) throw error
    const { problem, certainlyUnsent, passes } = failure
    const failed = connectionFailed(peerOf(address, proxy), problem, { cause: error, passes })
    return { kind: 'broken', error: failed, certainlyUnsent }
  } finally {
    cancelTimeout()
  }
}

/**
 * `pause`: the rate cap is exceeded, so the same request is sent again after a pause. `retry`: another attempt may succeed. Any other value
 * is the code of the error.
 */
type StatusAction = 'parse' | 'pause' | 'retry' | 'redirect_refused' | Parameters<typeof refused>[0]

/** The API document names only 429 ("Errors"); the rest follows HTTP. */
const BY_STATUS: ReadonlyMap<number, StatusAction> = new Map<number, StatusAction>([
  [200, 'parse'],
  [401, 'credentials_refused'],
  [403, 'credentials_refused'],
  [404, 'not_there'],
  [408, 'retry'],
  [429, 'pause'],
])

const BY_CLASS: ReadonlyMap<number, StatusAction> = new Map<number, StatusAction>([
  [3, 'redirect_refused'],
  [4, 'request_rejected'],
  [5, 'retry'],
])

export const statusAction = (status: number): StatusAction =>
  BY_STATUS.get(status) ?? BY_CLASS.get(Math.floor(status / 100)) ?? 'unexpected_status'

// Both headers with a time are parsed strictly: a wrong date would pause a run for hours, or move a cursor past unread changes.

/** The only date format that HTTP allows a sender to use (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

const WEEKDAY_LENGTH = 'Mon, '.length

/** Milliseconds since 1970 of an HTTP date; null if it is missing or invalid. */
export const parseHttpDate = (text: string | null): number | null => {
  if (text === null || !HTTP_DATE.test(text)) return null
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return null
  // `Date.parse` reads 31 Feb as 3 Mar. A date is valid if formatting it gives the same text.
  return new Date(ms).toUTCString().slice(WEEKDAY_LENGTH) === text.slice(WEEKDAY_LENGTH) ? ms : null
}

/**
 * The wait that a `Retry-After` header requests, milliseconds; null if it is missing or unreadable. A date is relative to
 * `answeredAtMs`, the `Date` of the same answer, so that a wrong clock on either side cancels out.
 */
export const parseRetryAfter = (text: string | null, answeredAtMs: number): number | null => {
  if (text === null) return null
  if (/^\d{1,15}$/.test(text.trim())) return Number(text) * 1000
  const untilMs = parseHttpDate(text.trim())
  return untilMs === null ? null : Math.max(0, untilMs - answeredAtMs)
}
