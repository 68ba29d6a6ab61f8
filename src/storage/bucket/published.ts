/**
 * The published state of a bucket, for commands that only read. The database of the current version is downloaded, verified and kept in the
 * local directory. No lease is needed.
 */
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { systemClock } from '../../base/clock.js'
import { isSystemError, messageOf, WarehouseError } from '../../base/errors.js'
import { makeDirectory } from '../../base/make-directory.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { openStore } from '../../object-store/open.js'
import { openPublishedFile } from '../../publish/duckdb.js'
import type { Published } from '../../publish/formats.js'
import { isIntact } from '../../publish/parquet/manifest.js'
import { ifMissing, temporaryBeside } from '../../publish/replace-file.js'
import type { StorageSettings } from '../../settings/storage.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { type NamedObject, STATE_NOTHING, stateOf } from './documents.js'
import { readLastRuns } from './last-run.js'
import { readLease } from './lease.js'
import { readPointer } from './pointer.js'
import { downloadVerified, readManifest } from './restore.js'

/**
 * Returns the published state, the holder of the bucket, and the last run. Throws an `ObjectStoreError`, `bucket_damaged` or
 * `WarehouseUnusableError`.
 */
export const findInBucket = async (storage: StorageSettings, directory: string, signal: AbortSignal) => {
  await using store = await openStore(storage)
  const published = await publishedIn(store, directory, signal)
  const lease = await readLease(store, signal)
  return { published, holder: lease?.name ?? null, runs: await readLastRuns(store, lease, signal) }
}

/** Whether a run has left any state in the bucket. */
export const holdsState = async (storage: StorageSettings, signal: AbortSignal): Promise<boolean> => {
  await using store = await openStore(storage)
  const pointer = await readPointer(store, signal)
  return pointer !== null && stateOf(pointer) !== STATE_NOTHING
}

/** Null if nothing is published. */
const publishedIn = async (
  store: ObjectStore,
  directory: string,
  signal: AbortSignal,
): Promise<Published | null> => {
  const pointer = await readPointer(store, signal)
  if (pointer === null || pointer.manifest === null) return null
  const manifest = await readManifest(store, pointer.manifest, signal)
  if (typeof manifest === 'string') throw damaged(store, manifest)
  const { database, published_at } = manifest
  return {
    path: `${store.address}/${database.key}`,
    file: await localCopy(store, database, directory, signal),
    open: openPublishedFile,
    isDirectory: false,
    atMs: Date.parse(published_at),
  }
}

const damaged = (store: ObjectStore, problem: string): WarehouseError =>
  new WarehouseError(
    'bucket_damaged',
    `${store.address} cannot be read: ${problem}. The next sync repairs it from an older version; to read now, restore the object from the bucket's own versions`,
  )

/** The directory for downloaded databases, below the warehouse directory. */
const CACHE = 'bucket-cache'

/** A copy that was used or written within this time may be about to be opened, or be a download under way. */
const IN_USE_MS = 3_600_000

const localCopy = async (
  store: ObjectStore,
  database: NamedObject,
  directory: string,
  signal: AbortSignal,
): Promise<string> => {
  const cache = join(directory, CACHE)
  const file = join(cache, basename(database.key))
  const temporary = temporaryBeside(file)
  try {
    await makeDirectory(directory)
    await makeDirectory(cache)
    // Says that the copy is in use. Who may not say so may still read it.
    const now = new Date(systemClock.nowMs())
    await utimes(file, now, now).catch(() => undefined)
    if (await isIntact(cache, { ...database, path: basename(file) })) return file
    const problem = await downloadVerified(store, database, temporary, signal)
    if (problem !== null) throw damaged(store, problem)
    await rename(temporary, file)
    await removeUnused(cache, file)
    return file
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new WarehouseUnusableError(
      `cannot keep a copy of ${store.address}/${database.key} in ${cache}: ${messageOf(error)}. Give a directory with room by --warehouse`,
      { cause: error },
    )
  }
}

/** Removes older copies, and files of killed downloads. A reader that has a removed file open can go on reading it. */
const removeUnused = async (cache: string, current: string): Promise<void> => {
  for (const name of await readdir(cache)) {
    const path = join(cache, name)
    const stats = await stat(path).catch(ifMissing)
    const isUnused = stats !== null && systemClock.nowMs() - stats.mtimeMs > IN_USE_MS
    if (isUnused && path !== current) await rm(path, { force: true })
  }
}
