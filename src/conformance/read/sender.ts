/**
 * Sends requests and hands out raw answers: whatever the service says is an answer here, also what the client of the
 * sync would retry, refuse or hide. Every request goes through the held-slot limiter, so that looking at the
 * service never exceeds the cap (API document, "Limits"), and none goes out beyond the request limit.
 */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { HttpProxy } from '../../base/network.js'
import { createRedactor, Secret } from '../../base/secret.js'
import { addressOf } from '../../http/address.js'
import {
  AttemptsExhaustedError,
  RateRefusedError,
  RetryAfterTooLongError,
  type Where,
} from '../../http/errors.js'
import { createHeldSlotLimiter, type HeldSlotLimiter } from '../../http/rate-limit/held-slot-limiter.js'
import { createForgetfulLedger } from '../../http/rate-limit/ledger.js'
import { UNPACED } from '../../http/rate-limit/pacer.js'
import { parseRetryAfter } from '../../http/retry-after.js'
import { TransientError } from '../../http/transient-errors.js'
import { createWire, type HeaderValues, type Wire } from '../../http/wire.js'
import { Unseen } from '../unseen.js'
import { type Answer, receive } from './answer.js'

export interface Target {
  /** As messages call it. */
  readonly account: string
  /** Ends with `/api/v1`. */
  readonly baseUrl: string
  /** For the header Authorization-ID. */
  readonly id: number
  readonly token: Secret
  /** Through which the service is requested; null: directly. */
  readonly proxy: HttpProxy | null
  /** The cap: at most `requests` in any `perMs`. */
  readonly rate: { readonly requests: number; readonly perMs: number }
}

export interface SenderOptions extends Target {
  readonly requestTimeoutMs: number
  readonly responseBytesMax: number
  /** Requests in all, those sent again included. */
  readonly requestsMax: number
  readonly clock: Clock
  readonly log: Log
  /** Ends whatever is under way; it rejects with the signal's reason. */
  readonly signal: AbortSignal
}

export type Query = readonly (readonly [name: string, value: string])[]

/** Whose credentials a request carries (API document, "Authentication"). */
export type Credentials = 'both' | 'none' | 'id_only' | 'token_only' | 'wrong_token'

export interface Sender extends AsyncDisposable {
  /**
   * GETs `path`, below the base URL. A 429 is waited out. Rejects with `Unseen` when the request limit is reached,
   * with an `UpstreamError` when the service cannot be reached or goes on refusing, or with the signal's reason.
   */
  get(path: string, query: Query, options?: { credentials?: Credentials; patient?: boolean }): Promise<Answer>
  /** Sends without regard to the cap until a 429 comes, at most `requestsMax` times. Answers what came last. */
  burst(path: string, requestsMax: number): Promise<Burst>
  usage(): Usage
  /** Takes the token out of a text. */
  redact(text: string): string
}

export interface Burst {
  readonly sent: number
  /** The first 429, else the answer that came last. */
  readonly last: Answer
}

export interface Usage {
  readonly requests: number
  /** 429 answers to requests within the cap. */
  readonly refusals: number
  /** Connections made with the caller's credentials, and the requests sent over them. */
  readonly connections: number
  readonly requestsWithCredentials: number
}

/** Sends of one request that fails or is answered 5xx. */
const ATTEMPTS_MAX = 3
/** The same where a 5xx may be what the service answers to such a question: it is one that comes twice. */
const ANSWERS_5XX_MAX = 2
const RETRY_WAIT_MS = 1_000
/** 429 answers in a row to one request. */
const REFUSALS_IN_A_ROW_MAX = 3
/** The longest `Retry-After` that is waited for, milliseconds. */
const RETRY_AFTER_MS_MAX = 300_000
const BURST_IN_FLIGHT_MAX = 8

const WRONG_TOKEN = new Secret('conformance-check-with-a-wrong-token')

export const createSender = (options: SenderOptions): Sender => new HeldSlotSender(options)

class HeldSlotSender implements Sender {
  readonly #options: SenderOptions
  readonly #limiter: HeldSlotLimiter
  readonly #wires: Readonly<Record<Credentials, Wire>>
  readonly redact: (text: string) => string
  readonly #usage = { requests: 0, refusals: 0, connections: 0, requestsWithCredentials: 0 }

  constructor(options: SenderOptions) {
    const { rate, requestTimeoutMs, clock, token, proxy } = options
    this.#options = options
    this.redact = createRedactor([token, ...(proxy?.secrets ?? [])])
    this.#limiter = createHeldSlotLimiter({
      cap: rate.requests,
      timing: { perMs: rate.perMs, requestTimeoutMs },
      ledger: createForgetfulLedger(),
      clock,
      pacer: UNPACED,
    })
    const id = { 'Authorization-ID': String(options.id) }
    const wire = (headers: HeaderValues, onConnect = () => undefined) =>
      createWire({
        account: options.account,
        headers,
        requestTimeoutMs,
        connections: BURST_IN_FLIGHT_MAX,
        proxy,
        onConnect,
      })
    this.#wires = {
      both: wire({ ...id, 'Authorization-Token': token }, () => {
        this.#usage.connections += 1
      }),
      none: wire({}),
      id_only: wire(id),
      token_only: wire({ 'Authorization-Token': token }),
      wrong_token: wire({ ...id, 'Authorization-Token': WRONG_TOKEN }),
    }
  }

  async get(
    path: string,
    query: Query,
    { credentials = 'both', patient = true }: { credentials?: Credentials; patient?: boolean } = {},
  ): Promise<Answer> {
    const { clock, signal } = this.#options
    let refusals = 0
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#sendOnce(path, query, credentials)
      if (outcome instanceof TransientError) {
        if (attempt >= ATTEMPTS_MAX)
          throw new AttemptsExhaustedError(this.#where(path, query), attempt, outcome)
      } else if (outcome.status === 429) {
        refusals += 1
        attempt -= 1
        await this.#waitOut(outcome, refusals, this.#where(path, query))
        continue
      } else if (outcome.status < 500 || attempt >= (patient ? ATTEMPTS_MAX : ANSWERS_5XX_MAX)) {
        return outcome
      }
      await clock.sleep(RETRY_WAIT_MS * attempt, signal)
    }
  }

  async burst(path: string, requestsMax: number): Promise<Burst> {
    let sent = 0
    let last: Answer | null = null
    const one = async (): Promise<void> => {
      while (sent < requestsMax && last?.status !== 429) {
        sent += 1
        const answer = await this.#receive(path, [], 'both', () => undefined)
        if (answer instanceof TransientError) continue
        if (last?.status !== 429) last = answer
      }
    }
    await Promise.all(Array.from({ length: BURST_IN_FLIGHT_MAX }, one))
    if (last === null) throw new Unseen('no request of the burst was answered')
    return { sent, last }
  }

  usage(): Usage {
    return { ...this.#usage }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#wires).map((wire) => wire.destroy()))
    await this.#limiter.close()
  }

  #sendOnce(path: string, query: Query, credentials: Credentials): Promise<Answer | TransientError> {
    const { signal, requestsMax } = this.#options
    return this.#limiter.run(async (slot) => {
      if (this.#usage.requests >= requestsMax)
        throw new Unseen(`the limit of ${requestsMax} requests is reached`)
      slot.sending()
      return await this.#receive(path, query, credentials, () => slot.answered())
    }, signal)
  }

  async #receive(
    path: string,
    query: Query,
    credentials: Credentials,
    onHeaders: () => void,
  ): Promise<Answer | TransientError> {
    this.#usage.requests += 1
    if (credentials === 'both') this.#usage.requestsWithCredentials += 1
    const address = addressOf(this.#options.baseUrl, path, query)
    const { log } = this.#options
    const answer = await receive({
      ...this.#options,
      wire: this.#wires[credentials],
      address,
      redact: this.redact,
      onHeaders,
    })
    const came = answer instanceof TransientError ? answer.message : answer.status
    log.debug({ request: this.redact(address.label), came }, 'request')
    return answer
  }

  async #waitOut(answer: Answer, refusals: number, where: Where): Promise<void> {
    const { rate, clock, signal, log } = this.#options
    this.#usage.refusals += 1
    if (refusals >= REFUSALS_IN_A_ROW_MAX) throw new RateRefusedError(where, refusals, rate)
    const askedMs = parseRetryAfter(answer.header('retry-after'), answer.dateMs ?? clock.nowMs())
    if (askedMs !== null && askedMs > RETRY_AFTER_MS_MAX) {
      throw new RetryAfterTooLongError(where, askedMs, RETRY_AFTER_MS_MAX)
    }
    const waitMs = Math.max(RETRY_WAIT_MS, askedMs ?? rate.perMs)
    log.warn({ wait_ms: waitMs }, 'refused with 429 below the cap: waiting')
    await clock.sleep(waitMs, signal)
  }

  #where(path: string, query: Query): Where {
    return {
      request: this.redact(addressOf(this.#options.baseUrl, path, query).label),
      account: this.#options.account,
    }
  }
}
