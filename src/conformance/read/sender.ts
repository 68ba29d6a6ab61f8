/**
 * Sends requests and returns raw answers, also those that the client of the sync would retry, refuse or hide. Every request goes through
 * the held-slot limiter, so a check never exceeds the cap (API document, "Limits").
 */
import { sleep } from '../../base/clock.js'
import type { HttpProxy } from '../../base/network.js'
import { createRedactor, Secret } from '../../base/secret.js'
import { type Address, addressOf } from '../../http/address.js'
import { exchange, parseHttpDate, parseRetryAfter } from '../../http/attempt.js'
import type { HttpClientOptions } from '../../http/client.js'
import { ProxyRefusedError } from '../../http/connection-failure.js'
import {
  attemptsExhausted,
  rateRefused,
  retryAfterTooLong,
  TransientError,
  type Where,
} from '../../http/errors.js'
import { HeldSlotLimiter, type Slot } from '../../http/rate-limit/held-slot-limiter.js'
import { type BodyText, excerptOf, headerOf, isUtf8, type Received, readText } from '../../http/receive.js'
import { createTransport, type HeaderValues, type Transport } from '../../http/transport.js'
import { Unseen } from '../verdict.js'

export interface SenderOptions
  extends Pick<HttpClientOptions, 'account' | 'baseUrl' | 'id' | 'rate' | 'clock' | 'log'> {
  readonly token: Secret
  readonly proxy: HttpProxy | null
  readonly requestTimeoutMs: number
  readonly responseBytesMax: number
  readonly requestsMax: number
  /** An abort ends the request under way, which rejects with the signal's reason. */
  readonly signal: AbortSignal
}

export type Query = readonly (readonly [name: string, value: string])[]

/** The credentials that a request carries (API document, "Authentication"). */
export type Credentials = 'both' | 'none' | 'id-only' | 'token-only' | 'wrong-token'

/** For a request that fails or is answered with 5xx. */
const ATTEMPTS_MAX = 3
/** For a request that the document does not describe: a 5xx that comes twice is its answer. */
const ANSWERS_5XX_MAX = 2
const RETRY_WAIT_MS = 1_000
/** 429 answers in a row to one request. */
const REFUSALS_IN_A_ROW_MAX = 3
/** The longest `Retry-After` that we wait for. */
const RETRY_AFTER_MS_MAX = 300_000
const BURST_IN_FLIGHT_MAX = 8

const WRONG_TOKEN = new Secret('conformance-check-with-a-wrong-token')

export class Sender implements AsyncDisposable {
  readonly #options: SenderOptions
  readonly #baseUrl: URL
  readonly #limiter: HeldSlotLimiter
  readonly #transports: Readonly<Record<Credentials, Transport>>
  /** Takes the token and the credentials of a proxy out of a text. */
  readonly redact: (text: string) => string
  /**
   * `rateLimited`: 429 answers to requests within the cap. `connections`: opened with the caller's credentials. `requestsWithCredentials`:
   * requests over these connections.
   */
  readonly usage = { requests: 0, rateLimited: 0, connections: 0, requestsWithCredentials: 0 }

  constructor(options: SenderOptions) {
    const { account, rate, requestTimeoutMs, clock, token, proxy } = options
    this.#options = options
    this.#baseUrl = new URL(options.baseUrl)
    this.redact = createRedactor([token, ...(proxy?.secrets ?? [])])
    this.#limiter = new HeldSlotLimiter({
      cap: rate.requests,
      timing: { perMs: rate.perMs, requestTimeoutMs },
      clock,
    })
    const connections = BURST_IN_FLIGHT_MAX
    const transport = (headers: HeaderValues, onConnect = () => undefined) =>
      createTransport({ account, headers, requestTimeoutMs, connections, proxy, onConnect })
    const id = { 'Authorization-ID': String(options.id) }
    this.#transports = {
      both: transport({ ...id, 'Authorization-Token': token }, () => {
        this.usage.connections += 1
      }),
      none: transport({}),
      'id-only': transport(id),
      'token-only': transport({ 'Authorization-Token': token }),
      'wrong-token': transport({ ...id, 'Authorization-Token': WRONG_TOKEN }),
    }
  }

  /**
   * GETs `path`, below the base URL. Waits after a 429 and repeats the request. Rejects with `Unseen` when the request
   * limit is reached, with an `UpstreamError` when the service cannot be reached or refuses again and again, or with
   * the signal's reason. `isDescribed`: whether the API document says how the request is answered.
   */
  async get(
    path: string,
    query: Query,
    { credentials = 'both', isDescribed = true }: { credentials?: Credentials; isDescribed?: boolean } = {},
  ): Promise<Answer> {
    const { account, clock, requestsMax, signal } = this.#options
    const address = addressOf(this.#baseUrl, path, query)
    const where = { request: this.redact(address.label), account }
    const send = async (slot: Slot) => {
      if (this.usage.requests >= requestsMax)
        throw new Unseen(`the limit of ${requestsMax} requests is reached`)
      slot.sending()
      return await this.#receive(address, credentials, () => slot.answered())
    }
    let refusals = 0
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#limiter.run(send, [signal])
      if (outcome instanceof TransientError) {
        if (attempt >= ATTEMPTS_MAX) throw attemptsExhausted(where, attempt, outcome)
      } else if (outcome.status === 429) {
        refusals += 1
        attempt -= 1
        await this.#waitAfterRefusal(outcome, refusals, where)
        continue
      } else if (outcome.status < 500 || attempt >= (isDescribed ? ATTEMPTS_MAX : ANSWERS_5XX_MAX)) {
        return outcome
      }
      await sleep(clock, RETRY_WAIT_MS * attempt, signal)
    }
  }

  /** Sends regardless of the cap until a 429 comes, at most `requestsMax` times. `last` is the 429, or without one the last answer. */
  async burst(path: string, requestsMax: number): Promise<{ sent: number; last: Answer }> {
    let sent = 0
    let last: Answer | null = null
    const one = async (): Promise<void> => {
      while (sent < requestsMax && last?.status !== 429) {
        sent += 1
        const address = addressOf(this.#baseUrl, path, [])
        const answer = await this.#receive(address, 'both', () => undefined)
        if (answer instanceof TransientError) continue
        if (last?.status !== 429) last = answer
      }
    }
    await Promise.all(Array.from({ length: BURST_IN_FLIGHT_MAX }, one))
    if (last === null) throw new Unseen('no request of the burst was answered')
    return { sent, last }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#transports).map((transport) => transport.destroy()))
    await this.#limiter.close()
  }

  /** Any answer is returned. Rejects with a `ProxyRefusedError`, the signal's reason, or for a bug. */
  async #receive(
    address: Address,
    credentials: Credentials,
    onHeaders: () => void,
  ): Promise<Answer | TransientError> {
    const { log, clock, signal, responseBytesMax } = this.#options
    this.usage.requests += 1
    if (credentials === 'both') this.usage.requestsWithCredentials += 1
    const request = this.redact(address.label)
    const sentAtMs = clock.nowMs()
    const transport = this.#transports[credentials]
    const options = { ...this.#options, signals: [signal], transport, address }
    const exchanged = await exchange(options, (answer) => {
      onHeaders()
      const times = { request, sentAtMs, headersAtMs: clock.nowMs() }
      return readAnswer(answer, times, responseBytesMax, this.redact)
    })
    const came = exchanged.kind === 'answered' ? exchanged.value : exchanged.error
    if (came instanceof ProxyRefusedError) throw came
    log.debug({ request, came: 'status' in came ? came.status : came.message }, 'request')
    return came
  }

  async #waitAfterRefusal(answer: Answer, refusals: number, where: Where): Promise<void> {
    const { rate, clock, signal, log } = this.#options
    this.usage.rateLimited += 1
    if (refusals >= REFUSALS_IN_A_ROW_MAX) throw rateRefused(where, refusals, rate)
    const retryAfterMs = parseRetryAfter(answer.header('retry-after'), answer.dateMs ?? clock.nowMs())
    if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX) {
      throw retryAfterTooLong(where, retryAfterMs, RETRY_AFTER_MS_MAX)
    }
    const waitMs = Math.max(RETRY_WAIT_MS, retryAfterMs ?? rate.perMs)
    log.warn({ wait_ms: waitMs }, 'refused with 429 below the cap: waiting')
    await sleep(clock, waitMs, signal)
  }
}

export interface Answer {
  /** As in `GET /api/v1/surveys?page=2`. */
  readonly request: string
  readonly status: number
  /** By its name in lower case; null if it is missing. */
  header(name: string): string | null
  /** Rate-limit headers, as `name: value`. */
  readonly rateHeaders: readonly string[]
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown
  /** Why the body is not JSON; null if it is. */
  readonly problem: string | null
  /** The beginning of the body on one line. */
  readonly excerpt: string
  /** The `Date` header, milliseconds since 1970; null if it is missing or unreadable. */
  readonly dateMs: number | null
  /** Our clock when we sent the request and when we had the headers of the answer. */
  readonly sentAtMs: number
  readonly headersAtMs: number
}

/** Characters of a body, or of a header, that a report shows. */
const EXCERPT_LENGTH_MAX = 120
const RATE_HEADER = /rate-?limit|^retry-after$/

/** Reads the answer to the end, within the size limit. */
const readAnswer = async (
  answer: Received,
  times: Pick<Answer, 'request' | 'sentAtMs' | 'headersAtMs'>,
  responseBytesMax: number,
  redact: (text: string) => string,
): Promise<Answer> => {
  const read = await readText(answer, responseBytesMax)
  const text = read.kind === 'text' ? read.text : ''
  const excerpt = excerptOf(text, redact, EXCERPT_LENGTH_MAX)
  const parsed = isUtf8(text) ? parse(text) : undefined
  return {
    ...times,
    status: answer.status,
    header: (name) => headerOf(answer, name),
    rateHeaders: Object.keys(answer.headers)
      .filter((name) => RATE_HEADER.test(name))
      .map((name) => excerptOf(`${name}: ${headerOf(answer, name)}`, redact, EXCERPT_LENGTH_MAX)),
    json: parsed,
    problem: parsed === undefined ? excerptOf(whyNotJson(read, excerpt, responseBytesMax), redact) : null,
    excerpt,
    dateMs: parseHttpDate(headerOf(answer, 'date')),
  }
}

const whyNotJson = (read: BodyText, excerpt: string, bytesMax: number): string => {
  if (read.kind === 'too_large') return `it is larger than ${bytesMax} bytes`
  if (read.kind === 'invalid') return read.problem
  if (!isUtf8(read.text)) return 'it is not UTF-8'
  return read.text === '' ? 'it is empty' : `it begins with ${excerpt.slice(0, 60)}`
}

/** Undefined if the text is not JSON; no JSON text has this value. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
