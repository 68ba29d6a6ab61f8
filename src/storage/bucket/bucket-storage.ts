/**
 * A warehouse that lasts in a bucket (settings `storage`). The lease holds it, and the local directory is only a cache: a run restores
 * the work database from the bucket unless the local one is derived from the same state.
 */
import { hostname } from 'node:os'
import { type Clock, systemClock } from '../../base/clock.js'
import { messageOf, StoppedError } from '../../base/errors.js'
import { onAbort } from '../../base/signals.js'
import { createTimeLimit } from '../../base/time-limit.js'
import type { Publisher } from '../../model/warehouse.js'
import { type ObjectStore, ObjectStoreError } from '../../object-store/object-store.js'
import { type OpenStore, openStore as openRealStore } from '../../object-store/open.js'
import { publishedPlaces } from '../../publish/formats.js'
import type { StorageSettings } from '../../settings/storage.js'
import {
  cannotWrite,
  openWarehouse,
  requireNotHeld,
  requireWritable,
} from '../../warehouse/lifecycle/open.js'
import { type Ending, withEnd, withStart } from '../last-run.js'
import type { HoldStorage, Storage } from '../storage.js'
import { NOTHING_PUBLISHED, type PointerContents, STATE_NOTHING, stateOf } from './documents.js'
import { changeLastRun } from './last-run.js'
import { acquireLease, type Lease, type NamedLedgers } from './lease.js'
import { restoreLedgers, uploadLedgers } from './ledgers.js'
import { fencePointer, readPointer } from './pointer.js'
import {
  agreeOnLayout,
  hasLayout,
  proveConditionalWrites,
  requireConditionalWrites,
} from './preconditions.js'
import { createBucketPublisher, createPagePublisher, startSnapshots } from './publisher.js'
import { bucketStates, findLocal, prepareLocal, readManifest, readNote, writeNote } from './restore.js'

/** Throws a `WarehouseHeldError`, an `ObjectStoreError` or another `WarehouseError`. */
export const bucketStorage = async (held: HoldStorage, storage: StorageSettings): Promise<Storage> => {
  const { settings, command, runId, log, observer, signal, openStore = openRealStore } = held
  const clock = systemClock
  await requireWritable(settings.warehouseDirectory)
  // The lease has connections of its own, because throttled uploads must not delay a renewal.
  const store = await openStore(storage)
  const leaseStore = await openStore({ ...storage, ...LEASE_LIMITS })
  try {
    const holder = {
      id: runId,
      host: hostname(),
      pid: process.pid,
      command: `fieldwork-sync ${command}`,
      since: new Date(clock.nowMs()).toISOString(),
    }
    const lease = await acquireLease({ store: leaseStore, holder, clock, log, observer, signal })
    return new BucketStorage({ ...held, openStore, storage, store, leaseStore, lease, clock })
  } catch (error) {
    await Promise.all([store[Symbol.asyncDispose](), leaseStore[Symbol.asyncDispose]()])
    throw error
  }
}

/** A renewal without an answer is soon sent again, because a lease lives for a minute. */
const LEASE_LIMITS = { attemptsMax: 2, silenceMsMax: 8_000 }

interface HeldBucket extends HoldStorage {
  readonly openStore: OpenStore
  readonly storage: StorageSettings
  readonly store: ObjectStore
  readonly leaseStore: ObjectStore
  readonly lease: Lease
  readonly clock: Clock
}

/** The time of a run that a signal stopped for its ledgers and its lease: the run ends within ten seconds, and may publish for eight. */
const RELEASE_AFTER_SIGNAL_MS_MAX = 1_500
const RELEASE_MS_MAX = 60_000

/** The time limit of the last requests of a run. Dispose of it after these requests. */
const endingLimit = (clock: Clock, stopping: AbortSignal) => {
  const limit = createTimeLimit(clock)
  const ending = (ms: number) =>
    limit.after(ms, () => limit.end(new StoppedError(`the release took more than ${ms / 1_000} s`)))
  ending(RELEASE_MS_MAX)
  // The signal may come while the release waits for the store.
  const listening = onAbort([stopping], () => ending(RELEASE_AFTER_SIGNAL_MS_MAX))
  const dispose = () => {
    listening[Symbol.dispose]()
    limit[Symbol.dispose]()
  }
  return { signal: limit.signal, [Symbol.dispose]: dispose }
}

/** Throws `warehouse_is_newer` before anything of a newer version is changed: the fence already writes the pointer. */
const readKnownPointer = async (store: ObjectStore, signal: AbortSignal): Promise<PointerContents> => {
  const pointer = (await readPointer(store, signal)) ?? NOTHING_PUBLISHED
  if (pointer.manifest !== null) await readManifest(store, pointer.manifest, signal)
  return pointer
}

class BucketStorage implements Storage {
  readonly #held: HeldBucket
  readonly signal: AbortSignal
  /** Whether the ledgers were taken over, so that the local ones hold every request that may still count. */
  #hasLedgers = false
  /** Whether store and layout are known to be right. Before that, only the lease is written. */
  #mayWrite = false
  /** The time limit of the last requests; null before the first of them. */
  #limit: ReturnType<typeof endingLimit> | null = null

  constructor(held: HeldBucket) {
    this.#held = held
    this.signal = AbortSignal.any([held.signal, held.lease.lost])
  }

  readonly requireHeld = (): void => this.#held.lease.assertHeld()

  async openWarehouse(): ReturnType<Storage['openWarehouse']> {
    const { settings, command, runId, storage, store, lease, clock, log } = this.#held
    const { signal } = this
    const { warehouseDirectory: directory, publish: published, report } = settings
    await proveConditionalWrites(store, storage.endpoint, signal)
    await this.#withLayout(agreeOnLayout)
    this.#mayWrite = true
    await this.#recordStart()
    await readKnownPointer(store, signal)
    const pointer = await fencePointer({ store, lease, signal })
    const { contents } = pointer
    const local = { store, pointer: contents, directory, log, signal }
    await requireNotHeld(directory)
    try {
      const { state, ledgersOf } = await prepareLocal(local)
      await this.#restoreLedgers(ledgersOf)
      await writeNote(directory, { storage: store.address, state, holder: runId })
    } catch (error) {
      return cannotWrite(directory)(error)
    }
    const database = await openWarehouse({
      directory,
      clock,
      log,
      command: `fieldwork-sync ${command}`,
      // In the first run with the bucket, a warehouse that lost its work database also moves into the bucket.
      published: stateOf(contents) === STATE_NOTHING ? publishedPlaces(directory) : [bucketStates(local)],
    })
    const publishing = { ...this.#held, ...published, pointer, database, directory, report }
    const stopSnapshots = startSnapshots(publishing)
    const close = async (): Promise<void> => {
      await stopSnapshots()
      await database.close()
    }
    const publisher = createBucketPublisher(publishing)
    const publish: Publisher['publish'] = async (ending) => {
      await stopSnapshots()
      return await publisher.publish(ending)
    }
    return {
      database: { ...database, close, [Symbol.asyncDispose]: close },
      publishers: [
        { ...publisher, publish },
        ...(published.formats.includes('report') ? [createPagePublisher(publishing)] : []),
      ],
    }
  }

  async #recordStart(): Promise<void> {
    const { command, leaseStore, clock } = this.#held
    if (command !== 'sync') return
    const nowMs = clock.nowMs()
    const start = { startedMs: nowMs, nowMs }
    await changeLastRun(leaseStore, (current) => withStart(current, this.#recorder(), start), this.signal)
  }

  async recordEnd(ending: Ending): Promise<void> {
    const { command, leaseStore, lease, runId } = this.#held
    if (command !== 'sync') return
    if (!this.#mayWrite)
      throw new ObjectStoreError(
        `the run ended before it could prove that ${leaseStore.address} keeps conditions`,
      )
    // If another run has taken the bucket over, its record stays.
    const isReplaced = (last: string | undefined) => lease.lost.aborted && last !== runId
    await changeLastRun(
      leaseStore,
      (current) => (isReplaced(current?.run.run_id) ? null : withEnd(this.#recorder(), ending)),
      this.#ending().signal,
    )
  }

  #ending() {
    this.#limit ??= endingLimit(this.#held.clock, this.#held.signal)
    return this.#limit
  }

  #recorder() {
    const { runId, settings } = this.#held
    return { runId, accounts: settings.accounts.map(({ name }) => name) }
  }

  async tryOut(): ReturnType<Storage['tryOut']> {
    const { settings, runId, store, log } = this.#held
    const { signal } = this
    const directory = settings.warehouseDirectory
    await requireConditionalWrites(store, signal)
    await this.#withLayout(hasLayout)
    const pointer = await readKnownPointer(store, signal)
    const { note, ledgersOf } = await findLocal({ store, pointer, directory })
    await this.#restoreLedgers(ledgersOf)
    if (note?.storage === store.address)
      await writeNote(directory, { ...note, holder: runId }).catch(cannotWrite(directory))
    log.debug({ storage: store.address }, 'the bucket can be used')
    const published =
      pointer.manifest === null
        ? 'nothing is published yet'
        : `version ${pointer.version}, published ${pointer.published_at}`
    return [
      { what: 'warehouse', detail: `${directory} is writable` },
      { what: 'storage', detail: `${store.address}: conditional writes hold; ${published}` },
    ]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { lease, store, leaseStore } = this.#held
    using limit = this.#ending()
    const { signal } = limit
    if (!lease.lost.aborted) await lease.release({ ledgers: await this.#uploadLedgers(signal), signal })
    await Promise.all([store[Symbol.asyncDispose](), leaseStore[Symbol.asyncDispose]()])
  }

  /** The layout is at the root of all shards. */
  async #withLayout(work: typeof agreeOnLayout | typeof hasLayout): Promise<void> {
    const { settings, openStore, storage } = this.#held
    await using root = await openStore({ ...storage, prefix: storage.rootPrefix })
    await work(root, settings.shard?.count ?? null, this.signal)
  }

  async #restoreLedgers(ledgersOf: string | null): Promise<void> {
    await restoreLedgers(this.#held, ledgersOf, this.signal)
    this.#hasLedgers = true
  }

  /** Returns the ledgers in the bucket; null if they do not hold every request that may still count. */
  async #uploadLedgers(signal: AbortSignal): Promise<NamedLedgers | null> {
    const { settings, store, lease, log } = this.#held
    const { previous } = lease
    try {
      if (this.#hasLedgers) return await uploadLedgers(this.#held, signal)
      // A run that ended before its ledgers were ready sent nothing, and its disk may have old ledgers.
      if (previous !== null) return previous.hasLedgers ? previous.ledgers : null
      const note = await readNote(settings.warehouseDirectory)
      return note?.storage === store.address ? null : {}
    } catch (error) {
      log.warn(
        { problem: messageOf(error) },
        'the request ledgers could not be uploaded: the first requests of the next run may wait for a window',
      )
      return null
    }
  }
}
