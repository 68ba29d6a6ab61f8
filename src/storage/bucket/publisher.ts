/**
 * Publishes the committed state into the bucket: the database, the Parquet files that changed, the manifest, and then the pointer,
 * which is the commit. A failure before that leaves the published version as it was.
 */
import { join } from 'node:path'
import { sleep } from '../../base/clock.js'
import { isStop, messageOf, WarehouseError } from '../../base/errors.js'
import { makeDirectory } from '../../base/make-directory.js'
import { throwIfAborted } from '../../base/signals.js'
import { type PublishFormat, REPORT_FILE } from '../../model/publish-formats.js'
import type { PublishReport } from '../../model/run.js'
import type { Publisher } from '../../model/warehouse.js'
import { type ListedObject, ObjectStoreError } from '../../object-store/object-store.js'
import { documentBody, putOwnedBytes } from '../../object-store/owned-document.js'
import { commitDelta, directoryOf } from '../../publish/delta/commit.js'
import { nextNumber, readState } from '../../publish/delta/read-log.js'
import { removeAll } from '../../publish/parquet/versions.js'
import { manifestOf } from '../../publish/parquet/write-version.js'
import { publishError } from '../../publish/publish-error.js'
import { createReportPublisher } from '../../publish/report/publisher.js'
import { WarehouseDamagedError } from '../../warehouse/connection/errors.js'
import { cleanUp } from './clean-up.js'
import {
  type BucketManifest,
  DATA,
  databaseKey,
  manifestKey,
  type NamedObject,
  snapshotKey,
} from './documents.js'
import { LeaseLostError } from './lease.js'
import { LostPublishError } from './pointer.js'
import { readManifest, writeNote } from './restore.js'
import {
  type BucketPublishing,
  createObject,
  listData,
  uploadChangedFiles,
  uploadDatabase,
} from './upload.js'

/** Throws a `WarehouseError`. Only a `LostPublishError` or `LeaseLostError` leaves open whether another run goes on. */
export const createBucketPublisher = (publishing: BucketPublishing): Publisher => ({
  format: publishing.store.address,
  publish: (signal) =>
    inStaging(publishing, signal, async (staging) => {
      const { store, pointer, runId, formats } = publishing
      const version = pointer.contents.version + 1
      const database = await uploadDatabase(publishing, databaseKey(version, runId), staging, signal)
      // If time runs out below, the next run continues from this state.
      if (publishing.stopping.aborted) await commitSnapshot(publishing, database, signal)
      const objects = formats.includes('parquet') ? await listData(store, signal) : []
      const files = formats.includes('parquet')
        ? await uploadChangedFiles(publishing, version, objects, staging, signal)
        : await publishing.database.exclusively((sql) => manifestOf(sql, [], version, publishing.clock))
      const manifest: BucketManifest = { ...files, database }
      const key = await commitVersion({ ...publishing, run: runId, manifest, signal })
      await noteState(publishing, key)
      const published = { ...publishing, manifest, key, objects, staging, signal }
      const isUpToDate = await bringDeltaUpToDate(published)
      if (isUpToDate) await sweep(published)
      return reportsOf(published, isUpToDate ? formats : formats.filter((format) => format !== 'delta'))
    }),
})

const inStaging = async <Result>(
  { store, lease, directory, log }: BucketPublishing,
  signal: AbortSignal,
  work: (staging: string) => Promise<Result>,
): Promise<Result> => {
  // A killed run leaves it behind.
  const staging = join(directory, 'upload')
  try {
    throwIfAborted(signal)
    lease.assertHeld()
    await removeAll(staging)
    await makeDirectory(staging)
    return await work(staging)
  } catch (error) {
    const failure = publishError(error, `to ${store.address}`, 'The published version')
    // After a signal, the errors of interrupted statements do not count. Damage does: the file must be set aside.
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

/** The local work database is derived from this state of the bucket now. Without the note the next run restores it again. */
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
  /** Names uploaded objects only. Its version is the pointer's + 1. */
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

// What follows the pointer: the version is published already.

interface PublishedVersion extends BucketPublishing {
  readonly manifest: BucketManifest
  /** Key of the manifest. */
  readonly key: string
  /** What was below `data` before it. */
  readonly objects: readonly ListedObject[]
  readonly staging: string
  readonly signal: AbortSignal
}

/** False if time ran out. Throws an error `delta_behind`. The next run catches up in both cases. */
const bringDeltaUpToDate = async (version: PublishedVersion): Promise<boolean> => {
  const { store, formats, manifest, key, staging, log } = version
  if (!formats.includes('delta')) return true
  const behind = `version ${manifest.version} is published in ${store.address}, but its Delta tables are behind`
  try {
    await commitDelta({
      ...version,
      manifestKey: key,
      scratch: staging,
      readManifest: async (other, signal) => {
        const found = await readManifest(store, other, signal)
        return typeof found === 'string' ? null : found
      },
    })
    return true
  } catch (error) {
    const problem = `${behind}: ${messageOf(error)}. The next run brings them up to date`
    if (!isStop(error)) throw new WarehouseError('delta_behind', problem, { cause: error })
    log.warn({ problem: error.message }, `${behind}; the next run brings them up to date`)
    return false
  }
}

/** A failure is only logged. */
const sweep = async (version: PublishedVersion): Promise<void> => {
  const { pointer, formats, manifest, staging, log } = version
  const followed = new Set(formats.includes('delta') ? manifest.tables.map(directoryOf) : [])
  try {
    const objects = await cleanUp({
      ...version,
      pointer: pointer.contents,
      followed,
      readLog: (directory, files) =>
        readState({ ...version, scratch: staging }, directory, files, nextNumber(files) - 1),
    })
    log.debug({ objects }, 'objects that no version needs were removed')
  } catch (error) {
    log.warn(
      { problem: messageOf(error) },
      'objects that no version needs could not be removed; the next run tries again',
    )
  }
}

const reportsOf = (
  { store: { address }, key, manifest: { database, bytes } }: PublishedVersion,
  formats: readonly PublishFormat[],
): readonly PublishReport[] =>
  formats.flatMap((format) => {
    if (format === 'report') return []
    if (format === 'duckdb') return { format, path: `${address}/${database.key}`, bytes: database.bytes }
    return { format, path: format === 'parquet' ? `${address}/${key}` : `${address}/${DATA}`, bytes }
  })

/** The report: one object that each run replaces after its version is committed. Nothing is read from it, so no version names it. */
export const createPagePublisher = ({ database, report, store, lease }: BucketPublishing): Publisher => {
  const path = `${store.address}/${REPORT_FILE}`
  const write = async (html: string, signal: AbortSignal): Promise<void> => {
    const replaces = (await store.get(REPORT_FILE, signal))?.etag ?? null
    lease.assertHeld()
    const put = { store, key: REPORT_FILE, body: Buffer.from(html), replaces, signal }
    if ((await putOwnedBytes(put)).kind === 'lost')
      throw new ObjectStoreError(`${path} was replaced while it was being written`)
  }
  return createReportPublisher({ database, report, path, write })
}

// Saves the work database into the bucket now and then during a run. A pod that dies loses its disk, and then only what it committed after
// the last snapshot is read again.

/** A snapshot copies and uploads the whole database. A run of less than this makes none. */
export const SNAPSHOT_EVERY_MS = 15 * 60_000

/** Call what it returns to end a snapshot that is under way, and to wait for its end. */
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
      // The run itself meets this error before its next request.
      if (error instanceof LeaseLostError || error instanceof LostPublishError) return
      log.warn({ problem: messageOf(error) }, 'the work database could not be saved; the run goes on')
    }
  }
}
