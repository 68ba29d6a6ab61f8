/**
 * Downloads the newest work database of a bucket. Each copy is verified. Where one is missing or damaged, the one before it is used, and
 * a warning says so. A store that cannot be reached is no damage: its error ends the restore.
 */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { WarehouseError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import type { PublishedPlace } from '../../warehouse/lifecycle/rebuild.js'
import { stateInFile } from '../duckdb-restore.js'
import { checksum } from '../parquet/manifest.js'
import { syncToDisk } from '../replace-file.js'
import {
  type BucketManifest,
  manifestSchema,
  type NamedObject,
  type PointerContents,
  parseDocument,
} from './documents.js'

export interface DownloadOptions {
  readonly store: ObjectStore
  readonly pointer: PointerContents
  /** The file to write. An existing file is removed first. */
  readonly file: string
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Returns the state that the file holds, as `stateOf` names it; null if the pointer names nothing. Throws an error `bucket_damaged` if no
 * copy is usable. Then the file does not exist.
 */
export const downloadDatabase = async (options: DownloadOptions): Promise<string | null> => {
  const { store, file, log, signal } = options
  const damages: string[] = []
  for await (const candidate of candidates(options)) {
    const damage =
      'damage' in candidate
        ? candidate.damage
        : await downloadVerified(store, candidate.database, file, signal)
    if (damage === null && 'state' in candidate) {
      if (damages.length > 0)
        log.warn(
          { restored: candidate.state, damaged: damages },
          'the newest state of the bucket is damaged: an older one was restored, and what is missing is read again',
        )
      return candidate.state
    }
    if (damage !== null) {
      damages.push(damage)
      log.warn({ storage: store.address }, damage)
    }
  }
  if (damages.length === 0) return null
  throw new WarehouseError(
    'bucket_damaged',
    `no state in ${store.address} can be restored: ${damages.join('; ')}. Restore one of these objects from the bucket's own versions`,
  )
}

type Candidate =
  | { readonly state: string; readonly database: NamedObject }
  /** A version without a usable manifest. */
  | { readonly damage: string }

/** The newest state first. */
async function* candidates({ store, pointer, signal }: DownloadOptions): AsyncIterable<Candidate> {
  const { snapshot, manifest, earlier } = pointer
  if (snapshot !== null) yield { state: snapshot.key, database: snapshot }
  for (const key of [...(manifest === null ? [] : [manifest]), ...earlier]) {
    const found = await readManifest(store, key, signal)
    yield typeof found === 'string' ? { damage: found } : { state: key, database: found.database }
  }
}

/** The manifest, or what is wrong with it. */
export const readManifest = async (
  store: ObjectStore,
  key: string,
  signal: AbortSignal,
): Promise<BucketManifest | string> => {
  const found = await store.get(key, signal)
  if (found === null) return `${key} is missing`
  return parseDocument(manifestSchema, found.body) ?? `${key} is damaged`
}

/** Writes a verified copy to `file`. Returns null, or what is wrong with the object; then there is no file. */
export const downloadVerified = async (
  store: ObjectStore,
  { key, bytes, sha256 }: NamedObject,
  file: string,
  signal: AbortSignal,
): Promise<string | null> => {
  await rm(file, { force: true })
  if (!(await store.getToFile(key, file, signal))) return `${key} is missing`
  const { size } = await stat(file)
  if (size === bytes && (await checksum(file)) === sha256) {
    await syncToDisk(file)
    return null
  }
  await rm(file, { force: true })
  return size === bytes ? `${key} has another checksum` : `${key} has ${size} bytes instead of ${bytes}`
}

// The states of a bucket from which a damaged local work database is filled again. The database that a run restores at its start is a
// file of its own, so this is only needed if the local one is damaged although it is up to date.

interface BucketStates {
  readonly store: ObjectStore
  readonly pointer: PointerContents
  /** The warehouse directory, in which the downloaded database is for a short time. */
  readonly directory: string
  readonly log: Log
  readonly signal: AbortSignal
}

export const bucketStates = ({ store, pointer, directory, log, signal }: BucketStates): PublishedPlace => ({
  path: store.address,
  find: (database) => {
    const file = join(directory, '.bucket.rebuilding')
    const state = stateInFile(database, file)
    const downloaded = async <Result>(read: () => Promise<Result>): Promise<Result> => {
      try {
        await downloadDatabase({ store, pointer, file, log, signal })
        return await read()
      } finally {
        await rm(file, { force: true })
      }
    }
    return Promise.resolve([
      {
        path: store.address,
        what: 'the bucket',
        countRuns: () => downloaded(state.countRuns),
        fill: () => downloaded(state.fill),
      },
    ])
  },
})
