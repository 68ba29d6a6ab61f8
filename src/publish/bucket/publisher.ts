/**
 * Publishes the committed state into the bucket: the database, the Parquet files that changed, the manifest, and then the pointer,
 * which is the commit. A failure before that leaves the published version as it was.
 */
import { join } from 'node:path'
import { throwIfAborted } from '../../base/clock.js'
import { isStop, messageOf, WarehouseError } from '../../base/errors.js'
import { makeDirectory } from '../../base/make-directory.js'
import { type PublishFormat, REPORT_FILE } from '../../model/publish-formats.js'
import type { PublishReport } from '../../model/run.js'
import type { Publisher } from '../../model/warehouse.js'
import { attemptPut } from '../../object-store/attempt-put.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import type { ListedObject, ObjectStore } from '../../object-store/object-store.js'
import { WarehouseDamagedError } from '../../warehouse/connection/errors.js'
import { commitDelta, directoryOf } from '../delta/commit.js'
import { nextNumber } from '../delta/log-files.js'
import { readState } from '../delta/read-log.js'
import { removeAll } from '../parquet/versions.js'
import { manifestOf } from '../parquet/write-version.js'
import { publishError } from '../publish-error.js'
import { createReportPublisher } from '../report/publisher.js'
import { cleanUp } from './clean-up.js'
import { type BucketManifest, documentBody, type NamedObject } from './documents.js'
import { LeaseLostError, LostPublishError } from './held-lease.js'
import { DATA, databaseKey, manifestKey, snapshotKey } from './keys.js'
import { writeNote } from './local-state.js'
import type { FencedPointer } from './pointer.js'
import { readManifest } from './restore.js'
import {
  type BucketPublishing,
  createObject,
  listData,
  type UploadOptions,
  uploadChangedFiles,
  uploadDatabase,
} from './version-files.js'

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
        ? await uploadChangedFiles(publishing, { version, objects, staging, signal })
        : await publishing.database.exclusively((sql) => manifestOf(sql, [], version, publishing.clock))
      const manifest: BucketManifest = { ...files, database }
      const key = await commitVersion({ ...publishing, run: runId, manifest, signal })
      await noteState(publishing, key)
      const published = { ...publishing, manifest, key, objects, staging, signal }
      if (!(await bringDeltaUpToDate(published)))
        return reportsOf(
          store,
          formats.filter((format) => format !== 'delta'),
          key,
          manifest,
        )
      await sweep(published)
      return reportsOf(store, formats, key, manifest)
    }),
})

/** Saves the state of the work database in the middle of a run. `number` counts the snapshots of a run from 1. */
export const saveSnapshot = (
  publishing: BucketPublishing,
  number: number,
  signal: AbortSignal,
): Promise<void> =>
  inStaging(publishing, signal, async (staging) => {
    const { pointer, runId } = publishing
    const key = snapshotKey(pointer.contents.version + 1, runId, number)
    await commitSnapshot(publishing, await uploadDatabase(publishing, key, staging, signal), signal)
  })

/** The local directory from which files are uploaded. A killed run leaves it behind. */
const stagingPath = (directory: string): string => join(directory, 'upload')

const inStaging = async <Result>(
  { store, lease, directory, log }: BucketPublishing,
  signal: AbortSignal,
  work: (staging: string) => Promise<Result>,
): Promise<Result> => {
  const staging = stagingPath(directory)
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

const commitSnapshot = async (
  publishing: BucketPublishing,
  database: NamedObject,
  signal: AbortSignal,
): Promise<void> => {
  await publishing.pointer.commitSnapshot(database, signal)
  await noteState(publishing, database.key)
}

/** The local work database is derived from this state of the bucket now. Without the note the next run restores it again. */
const noteState = async (
  { store, runId: holder, directory, log }: BucketPublishing,
  state: string,
): Promise<void> => {
  try {
    await writeNote(directory, { storage: store.address, state, holder })
  } catch (error) {
    log.warn({ problem: messageOf(error) }, 'the note of the local work database could not be written')
  }
}

/** The version is published already, so a failure is only logged. */
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
  { address }: ObjectStore,
  formats: readonly PublishFormat[],
  key: string,
  { database, bytes }: BucketManifest,
): readonly PublishReport[] =>
  formats.flatMap((format) => {
    if (format === 'report') return []
    if (format === 'duckdb') return { format, path: `${address}/${database.key}`, bytes: database.bytes }
    return { format, path: format === 'parquet' ? `${address}/${key}` : `${address}/${DATA}`, bytes }
  })

// The commit of a version whose files and database are uploaded: its manifest, then the pointer.

interface CommitOptions extends UploadOptions {
  readonly pointer: FencedPointer
  readonly run: string
  /** Names uploaded objects only. Its version is the pointer's + 1. */
  readonly manifest: BucketManifest
}

/** Returns the key of the manifest. Throws a `LostPublishError` if another run has taken the bucket over. */
export const commitVersion = async (options: CommitOptions): Promise<string> => {
  const { pointer, run, manifest, signal } = options
  const key = manifestKey(manifest.version, run)
  const body = documentBody(manifest)
  await createObject(options, key, body, body.length)
  await pointer.commitVersion(
    {
      version: manifest.version,
      manifest: key,
      database: manifest.database.key,
      run,
      publishedAt: manifest.published_at,
    },
    signal,
  )
  return key
}

// The Delta tables of a published version. They follow the pointer, so a version is published even if they are behind.

interface PublishedVersion extends BucketPublishing {
  readonly manifest: BucketManifest
  /** Key of the manifest. */
  readonly key: string
  /** What was below `data` before it. */
  readonly objects: readonly ListedObject[]
  readonly staging: string
  readonly signal: AbortSignal
}

/**
 * Brings the Delta tables to a published version. False if time ran out. Throws an error `delta_behind`. The next run catches up in both
 * cases.
 */
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
    if (!isStop(error))
      throw new WarehouseError(
        'delta_behind',
        `${behind}: ${messageOf(error)}. The next run brings them up to date`,
        {
          cause: error,
        },
      )
    log.warn({ problem: error.message }, `${behind}; the next run brings them up to date`)
    return false
  }
}

// The report in a bucket, one object that each run replaces after its version is committed. Nothing is read from it, so no version names it.

export const createPagePublisher = ({ database, report, store, lease }: BucketPublishing): Publisher => {
  const path = `${store.address}/${REPORT_FILE}`
  const write = async (html: string, signal: AbortSignal): Promise<void> => {
    const body = Buffer.from(html)
    const found = await store.get(REPORT_FILE, signal)
    lease.assertHeld()
    const outcome = await attemptPut(() =>
      found === null
        ? store.putIfAbsent(REPORT_FILE, body, signal)
        : store.putIfMatch(REPORT_FILE, body, found.etag, signal),
    )
    if (!(outcome instanceof ObjectStoreError) && outcome.kind === 'written') return
    // The answer may have been lost after the put had succeeded.
    const now = await store.get(REPORT_FILE, signal)
    if (now !== null && body.equals(now.body)) return
    throw outcome instanceof ObjectStoreError
      ? outcome
      : new ObjectStoreError(`${path} was replaced while it was being written`)
  }
  return createReportPublisher({ database, report, path, write })
}

// Saves the work database into the bucket now and then during a run. A pod that dies loses its disk, and then only what it committed after
// the last snapshot is read again.

export interface Snapshots {
  /** Ends a snapshot that is under way, and waits for its end. */
  stop(): Promise<void>
}

/** A snapshot copies and uploads the whole database. A run of less than this makes none. */
export const SNAPSHOT_EVERY_MS = 15 * 60_000

export const startSnapshots = (publishing: BucketPublishing): Snapshots => {
  const ended = new AbortController()
  const loop = takeSnapshots(publishing, ended.signal)
  return {
    stop: async () => {
      ended.abort()
      await loop
    },
  }
}

const takeSnapshots = async (publishing: BucketPublishing, signal: AbortSignal): Promise<void> => {
  const { clock, log, store } = publishing
  for (let number = 1; !signal.aborted; number += 1) {
    try {
      await clock.sleep(SNAPSHOT_EVERY_MS, signal)
      await saveSnapshot(publishing, number, signal)
      log.info({ storage: store.address, number }, 'saved the work database in the bucket')
    } catch (error) {
      if (signal.aborted || isStop(error)) return
      // The run itself meets this error before its next request.
      if (error instanceof LeaseLostError || error instanceof LostPublishError) return
      log.warn({ problem: messageOf(error) }, 'the work database could not be saved; the run goes on')
    }
  }
}
