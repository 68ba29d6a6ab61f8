/**
 * The lease: one writer at a time for a bucket. It lives for a minute and is renewed meanwhile. Clocks of machines are never compared:
 * we take another run's lease only after we watched it unchanged for its whole life, on our own monotonic clock.
 */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { WarehouseHeldError } from '../../warehouse/connection/errors.js'
import { putDocument, type ReadDocument, readDocument } from './conditional.js'
import { type LeaseDocument, type LeaseHolder, leaseSchema, newToken, parseDocument } from './documents.js'
import { HeldLease, type Lease, type PreviousHolder } from './held-lease.js'
import { LEASE_KEY, LEDGERS, POINTER_KEY } from './keys.js'
import { LEASE_MS, now } from './lease-time.js'

export interface LeaseOptions {
  readonly store: ObjectStore
  /** Its `id` is new for each start of the program. */
  readonly holder: LeaseHolder
  readonly clock: Clock
  readonly log: Log
  /** Ends the waiting for the lease. It does not end the lease. */
  readonly signal: AbortSignal
}

/** How often we look at another run's lease. */
const WATCH_EVERY_MS = 5_000
/** Puts for a lease that others took and released in the meantime. */
const TAKES_MAX = 10

/** Throws a `WarehouseHeldError` if another run holds the lease. Rejects at once when `signal` aborts. */
export const acquireLease = async (options: LeaseOptions): Promise<Lease> => {
  const { store, clock, signal } = options
  let watched: WatchedLease | null = null
  for (let takes = 0; takes < TAKES_MAX; ) {
    const found = await readDocument(store, LEASE_KEY, leaseSchema, signal)
    const isLost = found === null && (await wasUsed(store, signal))
    const action = leaseAction({ found, isLost }, watched, clock.monotonicMs())
    if (action.kind === 'held') throw heldBy(store, found?.document ?? null)
    if (action.kind === 'take') {
      takes += 1
      const lease = await take(options, found, isLost)
      if (lease !== null) return lease
    } else {
      const etag = found?.etag ?? null
      if (watched === null || watched.etag !== etag) {
        watched = { etag, sinceMs: clock.monotonicMs() }
        logWait(options, found)
      }
      await clock.sleep(Math.min(action.leftMs, WATCH_EVERY_MS), signal)
    }
  }
  throw new ObjectStoreError(
    `${store.address}/${LEASE_KEY} changed ${TAKES_MAX} times while we tried to take it: too many runs start at once`,
  )
}

/**
 * A run was here: it writes the pointer before its first request, and a ledger for each account. Then a missing lease was deleted, and
 * a run may still be active. It ends when it cannot renew its lease, or when the lease would have ended.
 */
const wasUsed = async (store: ObjectStore, signal: AbortSignal): Promise<boolean> => {
  if ((await store.get(POINTER_KEY, signal)) !== null) return true
  for await (const { key } of store.list(LEDGERS, signal)) if (key !== LEDGERS) return true
  return false
}

const logWait = ({ store, log }: LeaseOptions, found: ReadDocument<LeaseDocument> | null): void => {
  const wait = `waiting ${LEASE_MS / 1_000} s`
  if (found === null)
    log.warn(
      { storage: store.address },
      `${LEASE_KEY} was deleted, so nobody knows whether a run is active: ${wait} until it has ended`,
    )
  else
    log.info(
      { holder: nameOf(found.document.holder) },
      `the last run has not released the bucket: ${wait} to see whether it is still active`,
    )
}

/** The lease that we watch: unchanged since `sinceMs` of our monotonic clock. */
interface WatchedLease {
  /** Null: there is no lease, although the bucket is in use. */
  readonly etag: string | null
  readonly sinceMs: number
}

type LeaseAction =
  | { readonly kind: 'take' }
  | { readonly kind: 'held' }
  | { readonly kind: 'watch'; readonly leftMs: number }

interface FoundLease {
  readonly found: ReadDocument<LeaseDocument> | null
  /** It was deleted: there is none, although the bucket is in use. */
  readonly isLost: boolean
}

/** What to do about the lease that was found. */
export const leaseAction = (
  { found, isLost }: FoundLease,
  watched: WatchedLease | null,
  monotonicMs: number,
): LeaseAction => {
  if (found === null ? !isLost : found.document.state === 'free') return { kind: 'take' }
  const etag = found?.etag ?? null
  // A lease that is deleted while we watch it says nothing more about its holder.
  if (watched === null || (etag === null && watched.etag !== null)) return { kind: 'watch', leftMs: LEASE_MS }
  if (watched.etag !== etag) return { kind: 'held' }
  const leftMs = watched.sinceMs + LEASE_MS - monotonicMs
  return leftMs > 0 ? { kind: 'watch', leftMs } : { kind: 'take' }
}

/** Null if the lease was free again after another run took it. Throws a `WarehouseHeldError` if another run took it. */
const take = async (
  options: LeaseOptions,
  found: ReadDocument<LeaseDocument> | null,
  isLost: boolean,
): Promise<Lease | null> => {
  const { store, holder, clock, log, signal } = options
  const startedAt = now(clock)
  const document: LeaseDocument = {
    format: 1,
    token: newToken(),
    state: 'held',
    holder,
    ledgers_uploaded: false,
    ledgers: [],
  }
  const outcome = await putDocument({
    store,
    key: LEASE_KEY,
    document,
    replaces: found?.etag ?? null,
    signal,
  })
  if (outcome.kind === 'lost') {
    if (outcome.found === null) return null
    const winner = parseDocument(leaseSchema, outcome.found.body)
    if (winner?.state === 'free') return null
    throw heldBy(store, winner)
  }
  const previous = found === null ? (isLost ? UNKNOWN : null) : previousOf(found)
  if (previous?.wasReleased === false && previous.id !== null)
    log.warn({ holder: previous.id }, 'took the bucket over from a run that had ended without releasing it')
  return new HeldLease({ store, holder, clock, log, previous, document, etag: outcome.etag, startedAt })
}

const previousOf = ({ document, ageMs }: ReadDocument<LeaseDocument>): PreviousHolder => ({
  id: document.holder.id,
  wasReleased: document.state === 'free',
  ledgers: document.ledgers_uploaded ? (document.ledgers ?? null) : null,
  ageMs,
})

/** The holder of a lease that was deleted. */
const UNKNOWN: PreviousHolder = Object.freeze({ id: null, wasReleased: false, ledgers: null, ageMs: null })

/** The run that holds the lease, for people; null if it is free. A killed run holds it until another one takes it over. */
export const readHolder = async (store: ObjectStore, signal: AbortSignal): Promise<string | null> => {
  const found = await readDocument(store, LEASE_KEY, leaseSchema, signal)
  return found?.document.state === 'held' ? nameOf(found.document.holder) : null
}

const heldBy = (store: ObjectStore, document: LeaseDocument | null): WarehouseHeldError =>
  new WarehouseHeldError(
    `${store.address} is in use by ${document === null ? 'another run' : nameOf(document.holder)}. Wait until it has ended, or stop it`,
  )

const nameOf = ({ command, pid, host, since }: LeaseHolder): string =>
  `"${command}", process ${pid} on ${host}, since ${since}`
