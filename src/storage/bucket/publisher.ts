/**
 * Publishes the committed state into the bucket: the database, the Parquet files that changed, the manifest, and then the pointer, which is
 * the commit. A failure before the commit leaves the published version unchanged.
 */
import { join } from 'node:path'
import { sleep } from '../../base/clock.js'
import { isStop, messageOf } from '../../base/errors.js'
import { makeDirectory } from '../../base/make-directory.js'
import { throwIfAborted } from '../../base/signals.js'
import { REPORT_FILE } from '../../model/publish-formats.js'
import type { Publisher } from '../../model/warehouse.js'
import { documentBody } from '../../object-store/owned-document.js'
import { removeAll } from '../../publish/parquet/versions.js'
import { manifestOf } from '../../publish/parquet/write-version.js'
import { publishError } from '../../publish/publish-error.js'
import { createReportPublisher } from '../../publish/report/publisher.js'
import { WarehouseDamagedError } from '../../warehouse/connection/errors.js'
import { type BucketManifest, databaseKey, manifestKey, type NamedObject, snapshotKey } from './documents.js'
import { followPointer, replaceObject } from './follow-pointer.js'
import { LeaseLostError } from './lease.js'
import { LostPublishError } from './pointer.js'
import { writeNote } from './restore.js'
import {
  type BucketPublishing,
  createObject,
  listData,
  uploadChangedFiles,
  uploadDatabase,
} from './upload.js'

/**
 * Throws a `WarehouseError`. After a `LostPublishError` or `LeaseLostError`, another run may be going on; after any other error, none is.
 */
export const createBucketPublisher = (publishing: BucketPublishing): Publisher => ({
  format: publishing.store.address,
  publish: (signal) =>
    inStaging(publishing, signal, async (staging) => {
      const { store, pointer, runId, formats } = publishing
      const version = pointer.contents.version + 1
      const database = await uploadDatabase(publishing, databaseKey(version, runId), staging, signal)
      // If the process is killed or runs out of time in the rest of the publish, the next run continues from this state.
      await commitSnapshot(publishing, database, signal)
      const objects = formats.includes('parquet') ? await listData(store, signal) : []
      const files = formats.includes('parquet')
        ? await uploadChangedFiles(publishing, version, objects, staging, signal)
        : await publishing.database.exclusively((sql) => manifestOf(sql, [], version, publishing.clock))
      const manifest: BucketManifest = { ...files, database }
      const key = await commitVersion({ ...publishing, run: runId, manifest, signal })
      await noteState(publishing, key)
      return await followPointer({ ...publishing, manifest, key, objects, staging, signal })
    }),
})

const inStaging = async <Result>(
  { store, lease, directory, log }: BucketPublishing,
  signal: AbortSignal,
  work: (staging: string) => Promise<Result>,
): Promise<Result> => {
  // A killed run leaves this directory.
  const staging = join(directory, 'upload')
  try {
    throwIfAborted(signal)
    lease.assertHeld()
    await removeAll(staging)
    await makeDirectory(staging)
    return await work(staging)
  } catch (error) {
    const failure = publishError(error, `to ${store.address}`, 'The published version')
    // After a signal, errors of interrupted statements do not count. Damage counts, because the file must be set aside.
    if (failure !== error && !(error instanceof WarehouseDamagedError)) throwIfAborted(signal)
    throw failure
  } finally {
    await removeAll(staging).catch((error: unknown) => {
      log.debug({ problem: messageOf(error) }, `${staging} stays until the next publish`)
    })
  }
}

const commitSnapshot = async (publishing: BucketPublishing, database: NamedObject, signal: AbortSignal) => {
  await publishing.pointer.commitSnapshot(database, signal)
  await noteState(publishing, database.key)
}

/**
 * Notes that the local work database is now derived from this state of the bucket. Without the note the next run would restore the database
 * again.
 */
const noteState = async ({ store, runId: holder, directory, log }: BucketPublishing, state: string) => {
  try {
    await writeNote(directory, { storage: store.address, state, holder })
  } catch (error) {
    log.warn({ problem: messageOf(error) }, 'the note of the local work database could not be written')
  }
}

interface CommitOptions extends Pick<BucketPublishing, 'store' | 'lease' | 'pointer'> {
  readonly signal: AbortSignal
  readonly run: string
  /** Names only uploaded objects. The version is the pointer's version + 1. */
  readonly manifest: BucketManifest
}

/**
 * Commits a version whose files and database are uploaded: its manifest, then the pointer. Returns the key of the manifest. Throws a
 * `LostPublishError` if another run has taken the bucket over.
 */
export const commitVersion = async (options: CommitOptions): Promise<string> => {
  const { pointer, run, manifest, signal } = options
  const { version, database, published_at } = manifest
  const key = manifestKey(version, run)
  const body = documentBody(manifest)
  await createObject(options, key, body, body.length)
  await pointer.commitVersion({ version, manifest: key, database: database.key, run, published_at }, signal)
  return key
}

/** The report: one object that each run replaces. */
export const createPagePublisher = (publishing: BucketPublishing): Publisher => {
  const { database, report, store } = publishing
  const path = `${store.address}/${REPORT_FILE}`
  const write = (html: string, signal: AbortSignal) =>
    replaceObject({ ...publishing, signal }, REPORT_FILE, Buffer.from(html))
  return createReportPublisher({ database, report, path, write })
}

// Saves the work database into the bucket now and then during a run. A pod that dies loses its disk; with snapshots, only rows that were
// committed after the last one are read again.

/** A snapshot copies and uploads the whole database. A shorter run makes no snapshot. */
export const SNAPSHOT_EVERY_MS = 15 * 60_000

/** The returned function ends a snapshot that is under way, and waits for its end. */
export const startSnapshots = (publishing: BucketPublishing): (() => Promise<void>) => {
  const ended = new AbortController()
  const loop = takeSnapshots(publishing, ended.signal)
  return async () => {
    ended.abort()
    await loop
  }
}

const takeSnapshots = async (publishing: BucketPublishing, signal: AbortSignal): Promise<void> => {
  const { clock, log, store, pointer, runId } = publishing
  for (let number = 1; !signal.aborted; number += 1) {
    try {
      await sleep(clock, SNAPSHOT_EVERY_MS, signal)
      await inStaging(publishing, signal, async (staging) => {
        const key = snapshotKey(pointer.contents.version + 1, runId, number)
        await commitSnapshot(publishing, await uploadDatabase(publishing, key, staging, signal), signal)
      })
      log.info({ storage: store.address, number }, 'saved the work database in the bucket')
    } catch (error) {
      if (signal.aborted || isStop(error)) return
      // The run itself gets the same error before its next request.
      if (error instanceof LeaseLostError || error instanceof LostPublishError) return
      log.warn({ problem: messageOf(error) }, 'the work database could not be saved; the run goes on')
    }
  }
}
