/**
 * The lease: one writer at a time for a bucket. A lease lives for a minute, and its holder renews it until the lease is released or lost.
 * Clocks of machines are never compared: we take another run's lease only after we watched it unchanged for its whole life, by our own
 * monotonic clock.
 */
import { type Clock, sleep } from '../../base/clock.js'
import { EXIT_CODES, type ExitCode, messageOf, WarehouseError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { parseJson } from '../../base/parse.js'
import type { RunObserver } from '../../model/run.js'
import { type ObjectStore, ObjectStoreError } from '../../object-store/object-store.js'
import {
  OwnedDocument,
  putDocument,
  type ReadDocument,
  readDocument,
  stamp,
} from '../../object-store/owned-document.js'
import { WarehouseHeldError } from '../../warehouse/connection/errors.js'
import { isTrace, LEASE_KEY, type LeaseDocument, type LeaseHolder, leaseSchema, TRACES } from './documents.js'

/** Another run took the lease (exit 6), or we could not renew it in time (exit 7). */
export class LeaseLostError extends WarehouseError {
  override readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super('lease_lost', message, options)
    this.exitCode = exitCode
  }
}

/** Another run takes a lease over after it watched the lease unchanged for this long. */
export const LEASE_MS = 60_000
const RENEW_EVERY_MS = LEASE_MS / 3
/** The wait after a failed renewal. */
const RENEW_AGAIN_MS = 1_000
/** The holder stops this long before the lease ends, because clocks of two machines may run at different speeds. */
const MARGIN_MS = 5_000
/** How often we look at another run's lease. */
const WATCH_EVERY_MS = 5_000
/** Puts for a lease that others took and released in the meantime. */
const TAKES_MAX = 10

/** The tokens of ledgers in the bucket, by the names of the local files. */
export type NamedLedgers = Readonly<Record<string, string>>

export interface PreviousHolder {
  /** Null if the lease was deleted. */
  readonly id: string | null
  /** False: the holder was killed or lost its connection to the bucket, and we took the lease over. */
  readonly wasReleased: boolean
  /** Whether the bucket has every request of the holder, because it uploaded its request ledgers before it released the lease. */
  readonly hasLedgers: boolean
  /** The uploaded ledgers; null if unknown. */
  readonly ledgers: NamedLedgers | null
  /** The time since the holder last wrote the lease, by the store's clock, milliseconds; null if unknown. */
  readonly ageMs: number | null
}

interface LeaseOptions {
  readonly store: ObjectStore
  /** Its `id` is new for each start of the program. */
  readonly holder: LeaseHolder
  readonly clock: Clock
  readonly log: Log
  readonly observer?: Pick<RunObserver, 'waiting'> | undefined
  /** Ends the wait for the lease, but not the lease. */
  readonly signal: AbortSignal
}

type StoredLease = ReadDocument<LeaseDocument> | null

/** Throws a `WarehouseHeldError` if another run holds the lease. Rejects at once when `signal` aborts. */
export const acquireLease = async (options: LeaseOptions): Promise<Lease> => {
  const { store, clock, signal } = options
  let watched: WatchedLease | null = null
  for (let takes = 0; takes < TAKES_MAX; ) {
    const stored = await readDocument(store, LEASE_KEY, leaseSchema, signal)
    // If we have watched a lease, a run was here.
    const isNew = stored === null && watched === null && !(await hasTraces(store, signal))
    const action: LeaseAction = isNew ? 'take' : leaseAction(stored, watched, clock.monotonicMs())
    if (action === 'held') throw heldBy(store, stored?.document ?? null)
    if (action === 'take') {
      takes += 1
      const lease = await take(options, stored, isNew)
      if (lease !== null) return lease
    } else {
      const etag = stored?.etag ?? null
      if (watched === null || watched.etag !== etag) {
        watched = { etag, sinceMs: clock.monotonicMs() }
        sayWhy(options, stored)
      }
      await sleep(clock, Math.min(action.leftMs, WATCH_EVERY_MS), signal)
    }
  }
  throw new ObjectStoreError(
    `${store.address}/${LEASE_KEY} changed ${TAKES_MAX} times while we tried to take it: too many runs start at once`,
  )
}

const sayWhy = ({ store, log, observer }: LeaseOptions, stored: StoredLease): void => {
  observer?.waiting({ what: 'the bucket, which the last run has not released', forMs: LEASE_MS })
  const waiting = `waiting ${LEASE_MS / 1_000} s`
  if (stored === null)
    log.warn(
      { storage: store.address },
      `${LEASE_KEY} was deleted, and the run that held it may still be active: ${waiting} until it has noticed that`,
    )
  else
    log.info(
      { holder: nameOf(stored.document.holder) },
      `the last run has not released the bucket: ${waiting} to see whether it is still active`,
    )
}

/** Whether a run was here before. A run writes its lease before any other trace, so with a trace, a missing lease was deleted. */
const hasTraces = async (store: ObjectStore, signal: AbortSignal): Promise<boolean> => {
  for (const prefix of TRACES)
    for await (const { key } of store.list(prefix, signal)) if (isTrace(key)) return true
  return false
}

/** The lease that we watch: unchanged since `sinceMs` of our monotonic clock. */
interface WatchedLease {
  /** Null: the lease was deleted. */
  readonly etag: string | null
  readonly sinceMs: number
}

/** `leftMs`: how long to watch the lease. */
type LeaseAction = 'take' | 'held' | { readonly leftMs: number }

/** What to do about the stored lease, or about a deleted one. */
const leaseAction = (stored: StoredLease, watched: WatchedLease | null, monotonicMs: number): LeaseAction => {
  if (stored?.document.state === 'free') return 'take'
  if (watched === null) return { leftMs: LEASE_MS }
  // A deleted lease may still have a holder, which gets the whole time to notice.
  if (watched.etag !== (stored?.etag ?? null)) return stored === null ? { leftMs: LEASE_MS } : 'held'
  const leftMs = watched.sinceMs + LEASE_MS - monotonicMs
  return leftMs > 0 ? { leftMs } : 'take'
}

/** Null if the lease was free again after another run took it. Throws a `WarehouseHeldError` if another run took it. */
const take = async (options: LeaseOptions, stored: StoredLease, isNew: boolean): Promise<Lease | null> => {
  const { store, holder, clock, log, signal } = options
  const startedAt = now(clock)
  const document = leaseOf(holder, 'held', null)
  const outcome = await putDocument(store, LEASE_KEY, document, stored?.etag ?? null, signal)
  if (outcome.kind === 'lost') {
    if (outcome.existing === null) return null
    const winner = parseJson(leaseSchema, outcome.existing.body)
    if (winner?.state === 'free') return null
    throw heldBy(store, winner)
  }
  const previous = isNew ? null : previousOf(stored)
  if (stored !== null && previous?.wasReleased === false)
    log.warn({ holder: previous.id }, 'took the bucket over from a run that had ended without releasing it')
  const owned = { store, key: LEASE_KEY, schema: leaseSchema, document, etag: outcome.etag }
  return new Lease({ store, holder, clock, log }, previous, new OwnedDocument(owned), startedAt)
}

const leaseOf = (
  holder: LeaseHolder,
  state: LeaseDocument['state'],
  ledgers: NamedLedgers | null,
): LeaseDocument => ({ ...stamp(), state, holder, ledgers_uploaded: ledgers !== null, ledgers })

/** Null: the lease was deleted. */
const previousOf = (stored: StoredLease): PreviousHolder => ({
  id: stored?.document.holder.id ?? null,
  wasReleased: stored?.document.state === 'free',
  hasLedgers: stored?.document.state === 'free' && stored.document.ledgers_uploaded,
  ledgers: stored?.document.ledgers ?? null,
  ageMs: stored?.ageMs ?? null,
})

/** A lease that is held, for commands that only read. */
export interface LeaseState {
  readonly holder: LeaseHolder
  /** The holder, for people. */
  readonly name: string
  /** False if the lease was not renewed in time: after a kill, it stays held until another run takes it over. */
  readonly isAlive: boolean
}

/** Null if the lease is free. */
export const readLease = async (store: ObjectStore, signal: AbortSignal): Promise<LeaseState | null> => {
  const stored = await readDocument(store, LEASE_KEY, leaseSchema, signal)
  if (stored?.document.state !== 'held') return null
  const { holder } = stored.document
  return { holder, name: nameOf(holder), isAlive: stored.ageMs === null || stored.ageMs < LEASE_MS }
}

const heldBy = (store: ObjectStore, document: LeaseDocument | null): WarehouseHeldError =>
  new WarehouseHeldError(
    `${store.address} is in use by ${document === null ? 'another run' : nameOf(document.holder)}. Wait until it has ended, or stop it`,
  )

const nameOf = ({ command, pid, host, since }: LeaseHolder): string =>
  `"${command}", process ${pid} on ${host}, since ${since}`

/** A moment on both clocks of this machine. */
interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

const now = (clock: Clock): Moment => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() })

interface Release {
  readonly ledgers: NamedLedgers | null
  readonly signal: AbortSignal
}

/** A lease that we hold. */
export class Lease {
  readonly #options: Omit<LeaseOptions, 'signal'>
  /** The last holder before us; null if no run was ever here. */
  readonly previous: PreviousHolder | null
  readonly #document: OwnedDocument<LeaseDocument>
  readonly #lost = new AbortController()
  /** Aborts when the lease is lost or being released. */
  readonly #ended = new AbortController()
  /** The moment before the last successful renewal was sent. */
  #renewedAt: Moment
  #failure: unknown = null

  constructor(
    options: Omit<LeaseOptions, 'signal'>,
    previous: PreviousHolder | null,
    document: OwnedDocument<LeaseDocument>,
    startedAt: Moment,
  ) {
    this.#options = options
    this.previous = previous
    this.#document = document
    this.#renewedAt = startedAt
    void this.#renewForever()
    void this.#watchEnd()
  }

  /** Aborts with a `LeaseLostError` when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Call it before each request to the API and each write to the bucket. Throws a `LeaseLostError`. */
  assertHeld(): void {
    if (!this.#ended.signal.aborted && this.#safeForMs() <= 0) this.#expire()
    if (this.#lost.signal.aborted) throw this.#lost.signal.reason
  }

  /**
   * `ledgers` are the ledgers in the bucket; null if they do not have every request that may still count. Failures are only logged, because
   * the lease ends by itself.
   */
  async release({ ledgers, signal }: Release): Promise<void> {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    const { log } = this.#options
    try {
      const taken = await this.#put('free', ledgers, signal)
      if (taken !== null) log.warn({}, taken.message)
    } catch (error) {
      log.warn(
        { cause: messageOf(error) },
        'the bucket could not be released: the next run waits until it is free',
      )
    }
  }

  async #renewForever(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#ended
    let waitMs = RENEW_EVERY_MS
    while (!signal.aborted) {
      try {
        await sleep(clock, waitMs, signal)
        const startedAt = now(clock)
        const taken = await this.#put('held', null, signal)
        if (signal.aborted) return
        if (taken !== null) return this.#lose(taken)
        this.#renewedAt = startedAt
        this.#failure = null
        waitMs = RENEW_EVERY_MS
      } catch (error) {
        if (signal.aborted) return
        this.#failure = error
        log.debug({ cause: messageOf(error) }, 'the lease of the bucket could not be renewed')
        waitMs = RENEW_AGAIN_MS
      }
    }
  }

  /** Replaces the lease that we wrote last. Returns the error if the lease is no longer ours. */
  async #put(
    state: LeaseDocument['state'],
    ledgers: NamedLedgers | null,
    signal: AbortSignal,
  ): Promise<LeaseLostError | null> {
    const { store, holder } = this.#options
    const outcome = await this.#document.replace(() => leaseOf(holder, state, ledgers), signal)
    if (outcome.kind === 'written') return null
    const what =
      outcome.existing === null
        ? `${LEASE_KEY} was deleted from ${store.address}`
        : `another run has taken ${store.address} over from this one`
    const message = `${what}. What this run read since its last upload is discarded`
    return new LeaseLostError(message, EXIT_CODES.held)
  }

  /** Ends the lease on time even if a request of the renewal hangs. */
  async #watchEnd(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      const leftMs = this.#safeForMs()
      if (leftMs <= 0) return this.#expire()
      try {
        await sleep(this.#options.clock, leftMs, signal)
      } catch {
        return
      }
    }
  }

  /**
   * How long the lease is still safe, milliseconds; at most 0 when it has ended. The monotonic clock stops while a machine is suspended, so
   * the wall clock counts too. If the wall clock jumps ahead, the run only ends early.
   */
  #safeForMs(): number {
    const [from, at] = [this.#renewedAt, now(this.#options.clock)]
    return LEASE_MS - MARGIN_MS - Math.max(at.monotonicMs - from.monotonicMs, at.wallMs - from.wallMs)
  }

  #expire(): void {
    const { address } = this.#options.store
    const cause = this.#failure
    const late = `the lease of ${address} could not be renewed in time: ${messageOf(cause)}`
    const stood = `this process stood still for so long, or its clock jumped ahead by so much, that another run may use ${address} now. What it read since its last upload is discarded; start it again`
    this.#lose(
      cause === null
        ? new LeaseLostError(stood, EXIT_CODES.held)
        : new LeaseLostError(late, EXIT_CODES.warehouse, { cause }),
    )
  }

  #lose(error: LeaseLostError): void {
    if (this.#ended.signal.aborted) return
    this.#lost.abort(error)
    this.#ended.abort(error)
  }
}
