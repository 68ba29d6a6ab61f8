/**
 * A warehouse that lasts in a bucket (settings `storage`). The lease holds it, and the local directory is only a cache: a run restores
 * the work database from the bucket unless the local one is derived from the same state.
 */
import { hostname } from 'node:os'
import { systemClock } from '../../base/clock.js'
import { isSystemError, messageOf, StoppedError } from '../../base/errors.js'
import { createTimeLimit } from '../../base/time-limit.js'
import { type JoinedSignal, joinSignals, onAbort } from '../../http/signals.js'
import type { Publisher } from '../../model/warehouse.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { createS3Store, type OpenStore } from '../../object-store/s3.js'
import { proveConditionalWrites, requireConditionalWrites } from '../../publish/bucket/conditional.js'
import { NOTHING_PUBLISHED, STATE_NOTHING, stateOf } from '../../publish/bucket/documents.js'
import type { Lease, NamedLedgers } from '../../publish/bucket/held-lease.js'
import { agreeOnLayout, hasLayout } from '../../publish/bucket/layout.js'
import { acquireLease } from '../../publish/bucket/lease.js'
import { hasLedgers } from '../../publish/bucket/ledger.js'
import { findLocal, prepareLocal, readNote, writeNote } from '../../publish/bucket/local-state.js'
import { type FencedPointer, fencePointer, readPointer } from '../../publish/bucket/pointer.js'
import {
  createBucketPublisher,
  createPagePublisher,
  type Snapshots,
  startSnapshots,
} from '../../publish/bucket/publisher.js'
import { bucketStates } from '../../publish/bucket/restore.js'
import type { BucketPublishing } from '../../publish/bucket/version-files.js'
import { publishedPlaces } from '../../publish/formats.js'
import type { StorageSettings } from '../../settings/storage.js'
import type { Database } from '../../warehouse/connection/database.js'
import { workFile } from '../../warehouse/lifecycle/files.js'
import {
  cannotWrite,
  openWarehouse,
  requireNotHeld,
  requireWritable,
} from '../../warehouse/lifecycle/open.js'
import { type HandingOver, handLedgersOn, takeLedgersOver } from './ledger-hand-over.js'
import type { HoldPlace, Place, Trial } from './place.js'

/** Throws a `WarehouseHeldError`, an `ObjectStoreError` or another `WarehouseError`. */
export const bucketPlace = async (held: HoldPlace, storage: StorageSettings): Promise<Place> => {
  const { settings, command, runId, log, signal, openStore = createS3Store } = held
  await requireWritable(settings.warehouseDirectory)
  // Connections of its own: uploads that are throttled must not delay a renewal.
  const store = await openStore(storage)
  const leaseStore = await openStore({ ...storage, ...LEASE_LIMITS })
  try {
    const lease = await acquireLease({
      store: leaseStore,
      holder: {
        id: runId,
        host: hostname(),
        pid: process.pid,
        command: `fieldwork-sync ${command}`,
        since: new Date(systemClock.nowMs()).toISOString(),
      },
      clock: systemClock,
      log,
      signal,
    })
    return new BucketPlace({ ...held, openStore, storage, store, leaseStore, lease })
  } catch (error) {
    await Promise.all([store.close(), leaseStore.close()])
    throw error
  }
}

/** A renewal that gets no answer is soon sent again: a lease lives for a minute. */
const LEASE_LIMITS = { attemptsMax: 2, silenceMsMax: 8_000 }

interface HeldBucket extends HoldPlace {
  readonly openStore: OpenStore
  readonly storage: StorageSettings
  readonly store: ObjectStore
  readonly leaseStore: ObjectStore
  readonly lease: Lease
}

/** A run that a signal stopped has so long for its ledgers and its lease: it ends within ten seconds, and may publish for eight. */
const RELEASE_AFTER_SIGNAL_MS_MAX = 1_500
const RELEASE_MS_MAX = 60_000

class BucketPlace implements Place {
  readonly #held: HeldBucket
  readonly #ledgers: HandingOver
  readonly #joined: JoinedSignal
  /** Whether the local ledgers hold every request that may still count: they were taken over. */
  #hasLedgers = false
  #pointer: FencedPointer | null = null
  #snapshots: Snapshots | null = null

  constructor(held: HeldBucket) {
    this.#held = held
    this.#ledgers = { ...held, clock: systemClock }
    this.#joined = joinSignals([held.signal, held.lease.lost])
  }

  get signal(): AbortSignal {
    return this.#joined.signal
  }

  readonly requireHeld = (): void => this.#held.lease.assertHeld()

  async openWarehouse(): Promise<Database> {
    const { settings, command, runId, storage, store, lease, log } = this.#held
    const { signal } = this
    const directory = settings.warehouseDirectory
    await proveConditionalWrites({ store, endpoint: storage.endpoint, signal })
    await this.#withLayout(agreeOnLayout)
    const pointer = await fencePointer({ store, lease, signal })
    const { contents } = pointer
    await requireNotHeld(directory)
    try {
      const local = { store, pointer: contents, directory, workDatabase: workFile(directory), log, signal }
      const { state, ledgersOf } = await prepareLocal(local)
      await this.#takeLedgersOver(ledgersOf)
      await writeNote(directory, { storage: store.address, state, holder: runId })
    } catch (error) {
      if (isSystemError(error)) cannotWrite(directory)(error)
      throw error
    }
    const database = await openWarehouse({
      directory,
      clock: systemClock,
      log,
      command: `fieldwork-sync ${command}`,
      published:
        stateOf(contents) === STATE_NOTHING
          ? // The first run in the bucket: a warehouse that lost its work database moves there too.
            publishedPlaces(directory)
          : [bucketStates({ store, pointer: contents, directory, log, signal })],
    })
    const snapshots = startSnapshots(this.#publishing(database, pointer))
    this.#pointer = pointer
    this.#snapshots = snapshots
    const close = async (): Promise<void> => {
      await snapshots.stop()
      await database.close()
    }
    return { ...database, close, [Symbol.asyncDispose]: close }
  }

  publishers(database: Database): readonly Publisher[] {
    const [pointer, snapshots] = [this.#pointer, this.#snapshots]
    if (pointer === null || snapshots === null) return []
    const publishing = this.#publishing(database, pointer)
    const publisher = createBucketPublisher(publishing)
    return [
      {
        ...publisher,
        publish: async (signal) => {
          await snapshots.stop()
          return await publisher.publish(signal)
        },
      },
      ...(publishing.formats.includes('report') ? [createPagePublisher(publishing)] : []),
    ]
  }

  async tryOut(): Promise<Trial> {
    const { settings, runId, store, log } = this.#held
    const { signal } = this
    const directory = settings.warehouseDirectory
    await requireConditionalWrites(store, signal)
    await this.#withLayout(hasLayout)
    const pointer = await readPointer(store, signal)
    const local = {
      store,
      pointer: pointer ?? NOTHING_PUBLISHED,
      directory,
      workDatabase: workFile(directory),
    }
    const { note, ledgersOf } = await findLocal(local)
    await this.#takeLedgersOver(ledgersOf)
    if (note?.storage === store.address)
      await writeNote(directory, { ...note, holder: runId }).catch(cannotWrite(directory))
    log.debug({ storage: store.address }, 'the bucket can be used')
    const published =
      pointer === null || pointer.manifest === null
        ? 'nothing is published yet'
        : `version ${pointer.version}, published ${pointer.published_at}`
    return {
      found: [
        { what: 'warehouse', detail: `${directory} is writable` },
        { what: 'storage', detail: `${store.address}: conditional writes hold; ${published}` },
      ],
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { lease, store, leaseStore, signal: stopping } = this.#held
    using limit = releaseLimit(stopping)
    const { signal } = limit
    if (!lease.lost.aborted) await lease.release({ ledgers: await this.#handLedgersOn(signal), signal })
    this.#joined[Symbol.dispose]()
    await Promise.all([store.close(), leaseStore.close()])
  }

  /** The layout is at the root of all shards. */
  async #withLayout(work: typeof agreeOnLayout | typeof hasLayout): Promise<void> {
    const { settings, openStore, storage } = this.#held
    const root = await openStore({ ...storage, prefix: storage.rootPrefix })
    await work(root, settings.shard?.count ?? null, this.signal).finally(() => root.close())
  }

  async #takeLedgersOver(ledgersOf: string | null): Promise<void> {
    await takeLedgersOver(this.#ledgers, ledgersOf, this.signal)
    this.#hasLedgers = true
  }

  /** Returns the ledgers in the bucket; null if these do not hold every request that may still count. */
  async #handLedgersOn(signal: AbortSignal): Promise<NamedLedgers | null> {
    const { settings, store, lease, log } = this.#held
    const { previous } = lease
    try {
      if (this.#hasLedgers) return await handLedgersOn(this.#ledgers, signal)
      // A run that ended earlier sent nothing, and its disk may have ledgers of long ago.
      if (previous !== null) return hasLedgers(previous) ? previous.ledgers : null
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

  #publishing(database: Database, pointer: FencedPointer): BucketPublishing {
    const { settings, signal: stopping, ...held } = this.#held
    const { warehouseDirectory: directory, publish: formats, report } = settings
    return {
      ...held,
      database,
      pointer,
      directory,
      formats,
      report,
      clock: systemClock,
      stopping,
    }
  }
}

/** The signal may come while the release waits for the store. */
const releaseLimit = (stopping: AbortSignal): JoinedSignal => {
  const limit = createTimeLimit(systemClock)
  const ending = (ms: number) =>
    limit.after(ms, () => limit.end(new StoppedError(`the release took more than ${ms / 1_000} s`)))
  ending(RELEASE_MS_MAX)
  const listening = onAbort([stopping], () => ending(RELEASE_AFTER_SIGNAL_MS_MAX))
  return {
    signal: limit.signal,
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]()
      limit[Symbol.dispose]()
    },
  }
}
