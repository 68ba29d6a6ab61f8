/** Uploads the files of a version: the database, and the Parquet files that changed. */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sum } from 'd3-array'
import type { Clock } from '../../base/clock.js'
import { WarehouseError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { PublishFormat, ViewName } from '../../model/publish-formats.js'
import { allAtMost } from '../../object-store/client.js'
import {
  type BaseBody,
  type ListedObject,
  listAll,
  type ObjectBody,
  type ObjectStore,
} from '../../object-store/object-store.js'
import { putOwned } from '../../object-store/owned-document.js'
import { copyProved } from '../../publish/duckdb.js'
import { checksum, type Manifest } from '../../publish/parquet/manifest.js'
import { writeChangedFiles } from '../../publish/parquet/write-version.js'
import type { ReportSettings } from '../../publish/report/formats.js'
import type { Database } from '../../warehouse/connection/database.js'
import { type BucketManifest, DATA, type NamedObject } from './documents.js'
import type { Lease } from './lease.js'
import type { FencedPointer } from './pointer.js'
import { readManifest } from './restore.js'

/** The input of a publish into a bucket. */
export interface BucketPublishing {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  readonly pointer: FencedPointer
  readonly database: Database
  /** The warehouse directory. Copies and changed files stay in it until they are uploaded. */
  readonly directory: string
  readonly formats: readonly PublishFormat[]
  /** The views that are published as Parquet. */
  readonly views: readonly ViewName[]
  readonly report: ReportSettings
  readonly runId: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * Uploads a proved copy of the work database. `staging` is a local directory for it. The store copies the parts that the newest stored state
 * has too.
 */
export const uploadDatabase = async (
  publishing: BucketPublishing,
  key: string,
  staging: string,
  signal: AbortSignal,
): Promise<NamedObject> => {
  const file = join(staging, 'work.duckdb')
  await copyProved(publishing.database, file, signal)
  const named = { key, bytes: (await stat(file)).size, sha256: await checksum(file) }
  await uploadFiles(publishing, [{ ...named, file, base: await baseDatabase(publishing, signal) }], signal)
  // The changed Parquet files may need the room on the disk.
  await rm(file)
  return named
}

/** The newest stored state of the work database. Undefined if there is none. */
export const baseDatabase = async (
  { store, pointer, log }: Pick<BucketPublishing, 'store' | 'pointer' | 'log'>,
  signal: AbortSignal,
): Promise<BaseBody | undefined> => {
  const { snapshot, manifest } = pointer.contents
  const stored = snapshot === null && manifest !== null ? await readManifest(store, manifest, signal) : null
  const base = snapshot ?? (stored === null || typeof stored === 'string' ? null : stored.database)
  if (base === null) return undefined
  const onRefused = (problem: string) =>
    log.info(
      { storage: store.address, problem },
      'the store does not copy parts of the database before: all others are sent',
    )
  return { copyOf: base.key, bytes: base.bytes, onRefused }
}

/**
 * `objects` are the objects below `data` before this version. Returns the manifest without the database. Unchanged files are already in the
 * bucket.
 */
export const uploadChangedFiles = async (
  publishing: BucketPublishing,
  version: number,
  objects: readonly ListedObject[],
  staging: string,
  signal: AbortSignal,
): Promise<Manifest> => {
  const { manifest, upload: files } = await writeChangedFiles({
    ...publishing,
    base: await baseManifest(publishing, objects, signal),
    directory: staging,
    number: version,
    signal,
  })
  await uploadFiles(publishing, files, signal)
  return manifest
}

/** The manifest whose unchanged files stay; null if every file has to be written. */
const baseManifest = async (
  { store, pointer, log }: BucketPublishing,
  objects: readonly ListedObject[],
  signal: AbortSignal,
): Promise<Manifest | null> => {
  const key = pointer.contents.manifest
  if (key === null) return null
  const stored = await readManifest(store, key, signal)
  if (typeof stored === 'string') {
    log.warn({ storage: store.address, problem: stored }, 'every Parquet file is written and uploaded again')
    return null
  }
  const { manifest, missing } = presentFiles(stored, objects)
  if (missing.length > 0)
    log.warn(
      { storage: store.address, files: missing.length, first: missing[0] },
      'published files are missing in the bucket and are written again',
    )
  return manifest
}

// A publish uploads only changed files, and names the other files of the previous version. So a file that somebody deleted would stay
// missing for ever. One listing before each publish finds such files, and they are written again.

/** The objects below `data`. */
export const listData = (store: ObjectStore, signal: AbortSignal): Promise<readonly ListedObject[]> =>
  listAll(store, DATA, signal)

/** The manifest without files that are missing or have another size, and the paths of these files. */
export const presentFiles = (manifest: BucketManifest, objects: readonly ListedObject[]) => {
  const present = new Map(objects.map(({ key, bytes }) => [key, bytes]))
  const missing: string[] = []
  const tables = manifest.tables.map((table) => ({
    ...table,
    files: table.files.filter((file) => {
      const isPresent = present.get(file.path) === file.bytes
      if (!isPresent) missing.push(file.path)
      return isPresent
    }),
  }))
  return { manifest: { ...manifest, tables }, missing }
}

const UPLOADS_AT_ONCE_MAX = 8
const PROGRESS_EVERY_MS = 10_000

type Uploading = Pick<BucketPublishing, 'store' | 'lease' | 'clock' | 'log'>

interface FileToUpload extends NamedObject {
  /** Path of the local file. */
  readonly file: string
  readonly base?: BaseBody | undefined
}

/** Only this run uses these keys, each once. After an error, uploaded files may remain that nothing names. Clean-up removes them. */
export const uploadFiles = async (
  { store, lease, clock, log }: Uploading,
  files: readonly FileToUpload[],
  callerSignal: AbortSignal,
): Promise<void> => {
  if (files.length === 0) return
  const bytes = sum(files.map((file) => file.bytes))
  log.info({ files: files.length, bytes, storage: store.address }, 'uploading')
  let sentBytes = 0
  let loggedMs = clock.monotonicMs()
  const onSent = (partBytes: number): void => {
    sentBytes += partBytes
    if (clock.monotonicMs() - loggedMs < PROGRESS_EVERY_MS) return
    loggedMs = clock.monotonicMs()
    log.info({ sent_bytes: sentBytes, bytes, storage: store.address }, 'uploading')
  }
  await allAtMost(UPLOADS_AT_ONCE_MAX, files, callerSignal, ({ key, file, base, bytes: size }, signal) =>
    createObject({ store, lease, signal }, key, { file, base, onSent }, size),
  )
  log.info({ sent_bytes: sentBytes, bytes, storage: store.address }, 'uploaded')
}

/** Creates an object. If it exists already, our own first attempt has arrived; then its size must be the same. */
export const createObject = async (
  { store, lease, signal }: Pick<Uploading, 'store' | 'lease'> & { readonly signal: AbortSignal },
  key: string,
  body: ObjectBody,
  bytes: number,
): Promise<void> => {
  lease.assertHeld()
  // The client has already repeated the request, and a large file is not sent again.
  await putOwned({ store, key, body, replaces: null, signal, putsMax: 1 }, async (failure) => {
    for await (const listed of store.list(key, signal)) {
      if (listed.key !== key) continue
      if (listed.bytes === bytes) return { kind: 'written' }
      throw new WarehouseError(
        'bucket_damaged',
        `${store.address}/${key} has ${listed.bytes} bytes instead of ${bytes}: something else writes to this prefix`,
      )
    }
    if (failure !== null) return null
    const problem = `${store.address}/${key} was deleted while it was being written`
    throw new WarehouseError('bucket_damaged', problem)
  })
}
