/** A lease that we hold: it is renewed in the background until it is released or lost. */
import type { Clock } from '../../base/clock.js'
import { EXIT_CODES, type ExitCode, messageOf, WarehouseError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import type { ObjectStore, StoredObject } from '../../object-store/object-store.js'
import { putDocument, tokenOf } from './conditional.js'
import { type LeaseDocument, type LeaseHolder, newToken } from './documents.js'
import { LEASE_KEY } from './keys.js'

// The errors of a bucket that is the warehouse.

/** Another run took the lease (exit 6), or we could not renew it in time (exit 7). */
export class LeaseLostError extends WarehouseError {
  override readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super('lease_lost', message, options)
    this.exitCode = exitCode
  }
}

/** Another run published in the meantime, so this run's version is not published. Exit 6. */
export class LostPublishError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('lost_publish', message, options)
  }
}

// How long a lease lives, and how long its holder may still rely on it.

/** Another run takes a lease over after watching it unchanged for so long. */
export const LEASE_MS = 60_000
const RENEW_EVERY_MS = LEASE_MS / 3
/** The holder stops so long before the lease ends: clocks of two machines may run at a different speed. */
const MARGIN_MS = 5_000

/** A moment on both clocks of this machine. */
interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export const now = (clock: Clock): Moment => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() })

/**
 * For how long the lease is safe, milliseconds, at most 0 when it has ended. `renewedAt` is the moment before the last successful
 * renewal was sent. A suspended machine stops the monotonic clock, so the wall clock counts too. If the wall clock jumps ahead, the run
 * ends early, and nothing else happens.
 */
const safeForMs = (renewedAt: Moment, at: Moment): number => {
  const passedMs = Math.max(at.monotonicMs - renewedAt.monotonicMs, at.wallMs - renewedAt.wallMs)
  return LEASE_MS - MARGIN_MS - passedMs
}

export interface Lease {
  readonly holder: LeaseHolder
  /** The last holder before us; null if no run was ever here. */
  readonly previous: PreviousHolder | null
  /** Aborts with a `LeaseLostError` when the lease is lost. */
  readonly lost: AbortSignal
  /** Call it before each request to the API and each write to the bucket. Throws a `LeaseLostError`. */
  assertHeld(): void
  /** Failures are logged: the lease then ends by itself. */
  release(options: ReleaseOptions): Promise<void>
}

export interface ReleaseOptions {
  /** The request ledgers that the bucket has. Null: it does not have all that may still count. */
  readonly ledgers: NamedLedgers | null
  readonly signal: AbortSignal
}

/** The tokens of ledgers in the bucket, by the names of the local files. */
export type NamedLedgers = Readonly<Record<string, string>>

export interface PreviousHolder {
  /** Null if its lease was deleted. */
  readonly id: string | null
  /** False: it was killed or lost its way to the bucket, and we took the lease over. */
  readonly wasReleased: boolean
  /** Whether the bucket has its request ledgers. */
  readonly ledgersUploaded: boolean
  /** Which these are; null if nobody knows. */
  readonly ledgers: NamedLedgers | null
  /** Since it wrote the lease last, by the store's clock, milliseconds; null if unknown. */
  readonly ageMs: number | null
}

interface HeldLeaseOptions {
  readonly store: ObjectStore
  readonly holder: LeaseHolder
  readonly clock: Clock
  readonly log: Log
  readonly previous: PreviousHolder | null
  readonly document: LeaseDocument
  readonly etag: string
  /** The moment before the lease was requested. */
  readonly startedAt: Moment
}

/** After a failed renewal. */
const RENEW_AGAIN_MS = 1_000
/** Puts of one renewal or release, where an earlier put of ours arrived late. */
const PUTS_MAX = 3

export class HeldLease implements Lease {
  readonly holder: LeaseHolder
  readonly previous: PreviousHolder | null
  readonly #options: HeldLeaseOptions
  /** Tokens of everything that we wrote or tried to write. */
  readonly #tokens: Set<string>
  readonly #lost = new AbortController()
  /** Aborts when the lease is lost or being released. */
  readonly #ended = new AbortController()
  #etag: string
  #renewedAt: Moment
  #failure: unknown = null

  constructor(options: HeldLeaseOptions) {
    this.#options = options
    this.holder = options.holder
    this.previous = options.previous
    this.#tokens = new Set([options.document.token])
    this.#etag = options.etag
    this.#renewedAt = options.startedAt
    void this.#renewForever()
    void this.#watchEnd()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  assertHeld(): void {
    if (!this.#ended.signal.aborted && this.#safeForMs() <= 0) this.#expire()
    if (this.#lost.signal.aborted) throw this.#lost.signal.reason
  }

  async release({ ledgers, signal }: ReleaseOptions): Promise<void> {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    try {
      const outcome = await this.#put('free', ledgers, signal)
      if (outcome !== 'written') this.#options.log.warn({}, this.#takenError(outcome).message)
    } catch (error) {
      this.#options.log.warn(
        { cause: messageOf(error) },
        'the bucket could not be released: the next run waits until it is free',
      )
    }
  }

  async #renewForever(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#ended
    let waitMs = RENEW_EVERY_MS
    while (!signal.aborted) {
      try {
        await clock.sleep(waitMs, signal)
        await this.#renew(signal)
        waitMs = RENEW_EVERY_MS
      } catch (error) {
        if (signal.aborted) return
        this.#failure = error
        this.#options.log.debug({ cause: messageOf(error) }, 'the lease of the bucket could not be renewed')
        waitMs = RENEW_AGAIN_MS
      }
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const startedAt = now(this.#options.clock)
    const outcome = await this.#put('held', null, signal)
    if (signal.aborted) return
    if (outcome === 'written') {
      this.#renewedAt = startedAt
      this.#failure = null
    } else this.#lose(this.#takenError(outcome))
  }

  /** Writes the lease in the place of our own last one. Returns the object of somebody else if it is no longer ours. */
  async #put(
    state: LeaseDocument['state'],
    ledgers: NamedLedgers | null,
    signal: AbortSignal,
  ): Promise<'written' | StoredObject | null> {
    const { store, holder } = this.#options
    for (let puts = 0; puts < PUTS_MAX; puts += 1) {
      const token = newToken()
      this.#tokens.add(token)
      const ledgers_uploaded = ledgers !== null
      const document: LeaseDocument = { format: 1, token, state, holder, ledgers_uploaded, ledgers }
      const outcome = await putDocument({ store, key: LEASE_KEY, document, replaces: this.#etag, signal })
      if (outcome.kind === 'written') {
        this.#etag = outcome.etag
        return 'written'
      }
      const { found } = outcome
      const foundToken = found === null ? null : tokenOf(found)
      if (found === null || foundToken === null || !this.#tokens.has(foundToken)) return found
      // A renewal whose answer we never got has arrived.
      this.#etag = found.etag
    }
    throw new ObjectStoreError(`${store.address}/${LEASE_KEY} could not be written`)
  }

  /** Ends the lease on time even if a request of the renewal hangs. */
  async #watchEnd(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      const leftMs = this.#safeForMs()
      if (leftMs <= 0) return this.#expire()
      try {
        await this.#options.clock.sleep(leftMs, signal)
      } catch {
        return
      }
    }
  }

  #safeForMs(): number {
    return safeForMs(this.#renewedAt, now(this.#options.clock))
  }

  #expire(): void {
    const { address } = this.#options.store
    const failure = this.#failure
    this.#lose(
      failure === null
        ? new LeaseLostError(
            `this process stood still for so long, or its clock jumped ahead by so much, that another run may use ${address} now. What it read since its last upload is discarded; start it again`,
            EXIT_CODES.held,
          )
        : new LeaseLostError(
            `the lease of ${address} could not be renewed in time: ${messageOf(failure)}`,
            EXIT_CODES.warehouse,
            { cause: failure },
          ),
    )
  }

  #takenError(found: StoredObject | null): LeaseLostError {
    const { address } = this.#options.store
    const what =
      found === null
        ? `${LEASE_KEY} was deleted from ${address}`
        : `another run has taken ${address} over from this one`
    return new LeaseLostError(
      `${what}. What this run read since its last upload is discarded`,
      EXIT_CODES.held,
    )
  }

  #lose(error: LeaseLostError): void {
    if (this.#ended.signal.aborted) return
    this.#lost.abort(error)
    this.#ended.abort(error)
  }
}
