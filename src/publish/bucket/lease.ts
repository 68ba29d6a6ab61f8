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
import { HeldLease, LEASE_MS, type Lease, now, type PreviousHolder } from './held-lease.js'
import { isTrace, LEASE_KEY, TRACES } from './keys.js'

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
    // Whoever has watched a lease knows that a run was here.
    const isNew = found === null && watched === null && !(await hasTraces(store, signal))
    const action: LeaseAction = isNew ? { kind: 'take' } : leaseAction(found, watched, clock.monotonicMs())
    if (action.kind === 'held') throw heldBy(store, found?.document ?? null)
    if (action.kind === 'take') {
      takes += 1
      const lease = await take(options, found, isNew)
      if (lease !== null) return lease
    } else {
      const etag = found?.etag ?? null
      if (watched === null || watched.etag !== etag) {
        watched = { etag, sinceMs: clock.monotonicMs() }
        sayWhy(options, found)
      }
      await clock.sleep(Math.min(action.leftMs, WATCH_EVERY_MS), signal)
    }
  }
  throw new ObjectStoreError(
    `${store.address}/${LEASE_KEY} changed ${TAKES_MAX} times while we tried to take it: too many runs start at once`,
  )
}

const sayWhy = ({ store, log }: LeaseOptions, found: ReadDocument<LeaseDocument> | null): void => {
  const waiting = `waiting ${LEASE_MS / 1_000} s`
  if (found === null)
    log.warn(
      { storage: store.address },
      `${LEASE_KEY} was deleted, and the run that held it may still be active: ${waiting} until it has noticed that`,
    )
  else
    log.info(
      { holder: nameOf(found.document.holder) },
      `the last run has not released the bucket: ${waiting} to see whether it is still active`,
    )
}

/** Whether a run was here before. It writes its lease first, so a lease that is missing beside a trace was deleted. */
const hasTraces = async (store: ObjectStore, signal: AbortSignal): Promise<boolean> => {
  for (const prefix of TRACES)
    for await (const { key } of store.list(prefix, signal)) if (isTrace(key)) return true
  return false
}

/** The lease that we watch: unchanged since `sinceMs` of our monotonic clock. */
interface WatchedLease {
  /** Null: it was deleted. */
  readonly etag: string | null
  readonly sinceMs: number
}

type LeaseAction =
  | { readonly kind: 'take' }
  | { readonly kind: 'held' }
  | { readonly kind: 'watch'; readonly leftMs: number }

/** What to do about the lease that was found, or about one that was deleted. */
export const leaseAction = (
  found: ReadDocument<LeaseDocument> | null,
  watched: WatchedLease | null,
  monotonicMs: number,
): LeaseAction => {
  if (found?.document.state === 'free') return { kind: 'take' }
  if (watched === null) return { kind: 'watch', leftMs: LEASE_MS }
  // Nobody renews a lease by deleting it, so its last holder gets the whole time to notice.
  if (watched.etag !== (found?.etag ?? null))
    return found === null ? { kind: 'watch', leftMs: LEASE_MS } : { kind: 'held' }
  const leftMs = watched.sinceMs + LEASE_MS - monotonicMs
  return leftMs > 0 ? { kind: 'watch', leftMs } : { kind: 'take' }
}

/** Null if the lease was free again after another run took it. Throws a `WarehouseHeldError` if another run took it. */
const take = async (
  options: LeaseOptions,
  found: ReadDocument<LeaseDocument> | null,
  isNew: boolean,
): Promise<Lease | null> => {
  const { store, holder, clock, log, signal } = options
  const startedAt = now(clock)
  const document: LeaseDocument = {
    format: 1,
    token: newToken(),
    state: 'held',
    holder,
    ledgers_uploaded: false,
    ledgers: null,
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
  const previous = isNew ? null : found === null ? DELETED : previousOf(found)
  if (found !== null && previous?.wasReleased === false)
    log.warn({ holder: previous.id }, 'took the bucket over from a run that had ended without releasing it')
  return new HeldLease({ store, holder, clock, log, previous, document, etag: outcome.etag, startedAt })
}

/** The holder of a lease that was deleted. */
const DELETED: PreviousHolder = {
  id: null,
  wasReleased: false,
  ledgersUploaded: false,
  ledgers: null,
  ageMs: null,
}

const previousOf = ({ document, ageMs }: ReadDocument<LeaseDocument>): PreviousHolder => ({
  id: document.holder.id,
  wasReleased: document.state === 'free',
  ledgersUploaded: document.ledgers_uploaded,
  ledgers: document.ledgers,
  ageMs,
})

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
