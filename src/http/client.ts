/**
 * Sends a request until it is answered. Every attempt is a new job of the limiter. A 429 pauses the account, a transient failure is tried
 * again, and an error that ends the run ends all waiting requests.
 */
import type { RequestContext } from '../base/allowance.js'
import { sleep } from '../base/clock.js'
import { StoppedError, UpstreamError } from '../base/errors.js'
import type { HttpProxy, RateUsage } from '../base/network.js'
import { createRedactor, Secret, withoutWords } from '../base/secret.js'
import { joinSignals } from '../base/signals.js'
import { type Address, addressOf } from './address.js'
import { attempt, type JsonAnswer, type Outcome, type Retry } from './attempt.js'
import { attemptsExhausted, type Where } from './errors.js'
import { type OutageOptions, OutageWatch } from './outage.js'
import { IN_FLIGHT_MAX, type Slot } from './rate-limit/held-slot-limiter.js'
import { createRateLimiter, type RateLimiterOptions } from './rate-limit/rate-limiter.js'
import { type RetryLimits, retryWaitMs } from './retry-wait.js'
import { type CreateTransport, createTransport, type HeaderValues, type Transport } from './transport.js'

export type { JsonAnswer } from './attempt.js'

export interface HttpClientOptions
  extends Omit<RateLimiterOptions, 'owner' | 'limits'>,
    Pick<OutageOptions, 'durationMsMax' | 'wasAnswered'> {
  /** Ends with `/api/v1`, with or without a slash. */
  readonly baseUrl: string
  /** Together with the address it identifies the cap. */
  readonly id: number
  /** The credentials; the token is a `Secret`. */
  readonly headers: HeaderValues
  readonly limits: HttpLimits
  readonly proxy?: HttpProxy | null
  /** A path below the base URL, requested to learn whether the API answers at all. */
  readonly probe: string
  /** From 0 to 1, for the jitter. */
  readonly random: () => number
  /** Called right before each send. It throws if this process may no longer send anything. */
  readonly requireAdmission?: (() => void) | undefined
  readonly createTransport?: CreateTransport | undefined
}

export interface HttpLimits extends RetryLimits {
  /** From the send to the last byte of the answer, ms. */
  readonly request_timeout: number
  /** Sends of one request. A send that is answered with 429 does not count. */
  readonly attempts: number
  /** How long a run waits for an API that answers nothing, ms; 0: not at all. */
  readonly patience: number
  /** Bytes after decompression. */
  readonly response_bytes_max: number
  /** Pauses in a row, without a success between them, that end the run; 5 by default. With 1 the first 429 ends it. */
  readonly pausesMax?: number
}

/** Disposal ends all requests and waits. Nothing keeps the process running afterwards. */
export type HttpClient = Pick<AccountClient, 'getJson' | 'usage' | typeof Symbol.asyncDispose>

/** Throws `ledger_unwritable` when the ledger cannot be written, `invalid_header` for credentials that HTTP cannot carry. */
export const createHttpClient = (options: HttpClientOptions): HttpClient => new AccountClient(options)

interface PendingRequest {
  readonly address: Address
  readonly where: Where
  readonly context: RequestContext
  /** Whether the request only finds out if the API answers. */
  readonly isProbe: boolean
  sends: number
}

/** `held`: nothing was sent, because the API answers nothing. */
type Sent = Outcome | { readonly kind: 'held' }

class AccountClient implements AsyncDisposable {
  readonly #options: HttpClientOptions
  readonly #baseUrl: URL
  readonly #redact: (text: string) => string
  readonly #redactAnswer: (text: string) => string
  readonly #proxy: HttpProxy | null
  readonly #transport: Transport
  readonly #limiter: ReturnType<typeof createRateLimiter>
  readonly #outage: OutageWatch
  /** Aborts requests that have not been sent yet. */
  readonly #ended = new AbortController()
  /** Aborts requests in flight. */
  readonly #closing = new AbortController()
  /** When each failed request will be sent again, wall clock. */
  readonly #retriesAtMs = new Set<{ readonly atMs: number }>()
  #underWay = 0
  readonly #counts = { requests: 0, retries: 0, rateLimited: 0 }

  constructor(options: HttpClientOptions) {
    const { account, headers, limits, baseUrl, id } = options
    this.#options = options
    this.#baseUrl = new URL(baseUrl)
    this.#proxy = options.proxy ?? null
    const secrets = Object.values(headers).filter((value) => value instanceof Secret)
    this.#redact = createRedactor([...secrets, ...(this.#proxy?.secrets ?? [])])
    this.#redactAnswer = createRedactor(withoutWords(secrets))
    this.#transport = (options.createTransport ?? createTransport)({
      account,
      headers,
      requestTimeoutMs: limits.request_timeout,
      connections: IN_FLIGHT_MAX,
      proxy: this.#proxy,
    })
    this.#limiter = createRateLimiter({ ...options, owner: { baseUrl, id } })
    this.#outage = new OutageWatch(options)
  }

  /**
   * GETs a JSON document; `path` is below the base URL. Waits as long as the cap requires. Rejects with a `StatusError` or another
   * `UpstreamError`, an error `no_answer` or `ledger_unwritable`, an error of `allowance` or `requireAdmission`, or the signal's reason.
   * After an error that ends the run, every request that has not been sent yet rejects with the same error.
   */
  async getJson(
    path: string,
    query: readonly (readonly [name: string, value: string])[],
    context: RequestContext,
  ): Promise<JsonAnswer> {
    const address = addressOf(this.#baseUrl, path, query)
    const where = { request: address.label, account: this.#options.account }
    try {
      return await this.#persist({ address, where, context, isProbe: false, sends: 0 })
    } catch (error) {
      if (error instanceof UpstreamError && error.endsRun) this.#ended.abort(error)
      throw error
    }
  }

  usage(): RateUsage {
    const retries = this.#underWay > 0 ? [] : [...this.#retriesAtMs].map(({ atMs }) => atMs)
    const retryAtMs = retries.length === 0 ? null : Math.min(...retries)
    return { ...this.#counts, ...this.#limiter.usage(), retryAtMs, unanswered: this.#outage.usage() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new StoppedError('the HTTP client is closed')
    this.#ended.abort(reason)
    this.#closing.abort(reason)
    await this.#limiter.close()
    await this.#transport.destroy()
  }

  /** Sends until the request is answered or has failed too often. An outage is waited for. */
  async #persist(pending: PendingRequest): Promise<JsonAnswer> {
    const { attemptsMax = this.#options.limits.attempts, signal } = pending.context
    const waitSignals = [signal, this.#ended.signal]
    const outage = this.#outage
    let outages = outage.outages
    for (let attempts = 0, isLast = false; ; ) {
      if (outage.isSuspected()) {
        await outage.untilAnswered((probing) => this.#probe(pending, probing), waitSignals)
        // Attempts during an outage do not count against the request. If the API answers other requests, this one gets one more attempt.
        if (outage.outages > outages) attempts = 0
        outages = outage.outages
        isLast = attempts >= attemptsMax
      }
      const outcome = await this.#sendInSlot(pending, waitSignals)
      if (outcome.kind === 'answer') return outcome.answer
      if (outcome.kind !== 'retry') continue
      attempts += 1
      if (attempts >= attemptsMax && (isLast || !outage.isSuspected())) {
        throw attemptsExhausted(pending.where, attempts, outcome.error)
      }
      if (outage.isSuspected()) continue
      await this.#waitToRetry(pending, attempts, outcome, waitSignals)
    }
  }

  /** Waits for a slot, and sends, unless an outage is suspected by then. */
  #sendInSlot(pending: PendingRequest, waitSignals: readonly AbortSignal[]): Promise<Sent> {
    return this.#limiter.run<Sent>(
      async (slot) => (this.#outage.isSuspected() ? { kind: 'held' } : this.#send(slot, pending)),
      waitSignals,
    )
  }

  async #waitToRetry(
    { where: { request } }: PendingRequest,
    attempts: number,
    { error, retryAfterMs }: Retry,
    waitSignals: readonly AbortSignal[],
  ): Promise<void> {
    const { limits, random, log, account, clock } = this.#options
    const waitMs = retryWaitMs(attempts, limits, random(), retryAfterMs)
    const problem = error.message
    log.warn({ account, request, attempts, waitMs, problem }, 'request failed and will be sent again')
    using joined = joinSignals(waitSignals)
    const retry = { atMs: clock.nowMs() + waitMs }
    this.#retriesAtMs.add(retry)
    await sleep(clock, waitMs, joined.signal).finally(() => this.#retriesAtMs.delete(retry))
  }

  /** Sends one probe, which the allowance of `pending` pays for. A refusal is an answer. */
  async #probe(pending: PendingRequest, signal: AbortSignal): Promise<void> {
    const { baseUrl, account, probe } = this.#options
    const address = addressOf(new URL(baseUrl), probe, [])
    const where = { request: address.label, account }
    const probing = { address, where, context: { ...pending.context, signal }, isProbe: true, sends: 0 }
    try {
      await this.#limiter.run((slot) => this.#send(slot, probing), [signal])
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.endsRun) throw error
    }
  }

  /** Sends once. No `await` may come before the send, because the limiter's conditions hold only at this moment. */
  async #send(slot: Slot, pending: PendingRequest): Promise<Outcome> {
    const { clock, limits, account, log } = this.#options
    this.#options.requireAdmission?.()
    pending.context.allowance.take()
    slot.sending()
    if (pending.sends > 0) this.#counts.retries += 1
    pending.sends += 1
    this.#counts.requests += 1
    this.#underWay += 1
    const epoch = this.#limiter.pauses.epoch
    const startedMs = clock.monotonicMs()
    let status: number | null = null
    try {
      const outcome = await attempt({
        transport: this.#transport,
        address: pending.address,
        where: pending.where,
        requestTimeoutMs: limits.request_timeout,
        proxy: this.#proxy,
        responseBytesMax: limits.response_bytes_max,
        clock,
        redact: this.#redact,
        redactAnswer: this.#redactAnswer,
        signals: [pending.context.signal, this.#closing.signal],
        onHeaders: (arrived) => {
          status = arrived
          slot.answered()
        },
        onRateLimited: (retryAfterMs) => this.#rateLimited(epoch, retryAfterMs, pending.where),
        onNeverSent: () => slot.neverSent(),
      })
      if (outcome.kind === 'answer') this.#limiter.pauses.succeeded(epoch)
      if (outcome.kind === 'retry') this.#outage.failed(outcome.error, outcome.retryAfterMs)
      else this.#outage.answered(pending.isProbe)
      return outcome
    } catch (error) {
      if (error instanceof UpstreamError && !error.endsRun) this.#outage.answered(pending.isProbe)
      throw error
    } finally {
      this.#underWay -= 1
      const ms = Math.round(clock.monotonicMs() - startedMs)
      const { slotsInUse } = this.#limiter.usage()
      log.debug({ account, request: pending.where.request, status, ms, slotsInUse }, 'request')
    }
  }

  #rateLimited(epoch: number, retryAfterMs: number | null, where: Where): void {
    this.#counts.rateLimited += 1
    const error = this.#limiter.rateLimited(epoch, retryAfterMs, where)
    if (error !== null) this.#ended.abort(error)
  }
}
