/** Uploads the files of a version: the database, and the Parquet files that changed. */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sum } from '../../model/bundle-estimate.js'
import type { ListedObject } from '../../object-store/object-store.js'
import { copyProved } from '../duckdb-copy.js'
import { checksum, type Manifest } from '../parquet/manifest.js'
import { writeChangedFiles } from '../parquet/write-changed-files.js'
import type { NamedObject } from './documents.js'
import { presentFiles } from './present-files.js'
import type { BucketPublishing } from './publishing.js'
import { readManifest } from './restore.js'
import { type FileToUpload, uploadFiles } from './upload.js'

/** Uploads a proved copy of the work database. `staging` is a local directory for it. */
export const uploadDatabase = async (
  publishing: BucketPublishing,
  key: string,
  staging: string,
  signal: AbortSignal,
): Promise<NamedObject> => {
  const file = join(staging, 'work.duckdb')
  await copyProved(publishing.database, file, signal)
  const named = { key, bytes: (await stat(file)).size, sha256: await checksum(file) }
  await upload(publishing, [{ ...named, file }], signal)
  // The changed Parquet files may need the room on the disk.
  await rm(file)
  return named
}

export interface NextVersion {
  readonly version: number
  /** Everything below `data`, as it was before this version. */
  readonly objects: readonly ListedObject[]
  readonly staging: string
  readonly signal: AbortSignal
}

/** Returns the manifest without the database. Its unchanged files are in the bucket already. */
export const uploadChangedFiles = async (
  publishing: BucketPublishing,
  { version, objects, staging, signal }: NextVersion,
): Promise<Manifest> => {
  const { database, runId, clock } = publishing
  const { manifest, upload: written } = await writeChangedFiles({
    database,
    base: await baseManifest(publishing, objects, signal),
    directory: staging,
    number: version,
    runId,
    clock,
    signal,
  })
  const named = new Map(manifest.tables.flatMap(({ files }) => files.map((file) => [file.path, file])))
  const files = written.flatMap(({ key, file }) => {
    const found = named.get(key)
    return found === undefined ? [] : [{ key, file, bytes: found.bytes, sha256: found.sha256 }]
  })
  await upload(publishing, files, signal)
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
  const found = await readManifest(store, key, signal)
  if (typeof found === 'string') {
    log.warn({ storage: store.address, problem: found }, 'every Parquet file is written and uploaded again')
    return null
  }
  const { manifest, missing } = presentFiles(found, objects)
  if (missing.length > 0)
    log.warn(
      { storage: store.address, files: missing.length, first: missing[0] },
      'published files are missing in the bucket and are written again',
    )
  return manifest
}

const upload = async (
  { store, lease, clock, log }: BucketPublishing,
  files: readonly FileToUpload[],
  signal: AbortSignal,
): Promise<void> => {
  if (files.length === 0) return
  const bytes = sum(files.map((file) => file.bytes))
  log.info({ files: files.length, bytes, storage: store.address }, 'uploading')
  const sentOf = new Map<string, number>()
  let loggedMs = clock.monotonicMs()
  const onSent = (key: string, sentBytes: number): void => {
    sentOf.set(key, sentBytes)
    if (clock.monotonicMs() - loggedMs < PROGRESS_EVERY_MS) return
    loggedMs = clock.monotonicMs()
    log.info({ sent_bytes: sum([...sentOf.values()]), bytes, storage: store.address }, 'uploading')
  }
  const watched = files.map((file) => ({ ...file, onSent: (sent: number) => onSent(file.key, sent) }))
  await uploadFiles({ store, lease, files: watched, signal })
}

const PROGRESS_EVERY_MS = 10_000
