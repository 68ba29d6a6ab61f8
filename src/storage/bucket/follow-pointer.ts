/**
 * The steps after the pointer is replaced: Delta logs, the fixed addresses, and then clean-up. The version is already published, and
 * everything here is derived from it, so the next run repairs a failure.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isStop, messageOf, WarehouseError } from '../../base/errors.js'
import { once } from '../../base/once.js'
import { ADDRESSES, type PublishFormat } from '../../model/publish-formats.js'
import type { PublishReport } from '../../model/run.js'
import { BehindError } from '../../model/warehouse.js'
import {
  type CopiedBody,
  type ListedObject,
  type ObjectStore,
  ObjectStoreError,
} from '../../object-store/object-store.js'
import { putOwned, putOwnedBytes } from '../../object-store/owned-document.js'
import { commitDelta, directoryOf } from '../../publish/delta/commit.js'
import { type LogFiles, nextNumber, readState, UnusableLogError } from '../../publish/delta/read-log.js'
import { CatalogRows } from '../../publish/ducklake/rows.js'
import { writeCatalog } from '../../publish/ducklake/write-catalog.js'
import { cleanUp, mark } from './clean-up.js'
import { type BucketManifest, DATA, type PointerContents } from './documents.js'
import { readOtherManifest } from './restore.js'
import type { BucketPublishing } from './upload.js'

interface PublishedVersion extends BucketPublishing {
  readonly manifest: BucketManifest
  /** Key of the manifest. */
  readonly key: string
  /** The objects below `data` before this version. */
  readonly objects: readonly ListedObject[]
  readonly staging: string
  readonly signal: AbortSignal
}

/** A published version, with the state that catalog and clean-up share. */
interface Following extends PublishedVersion {
  readonly marked: () => ReturnType<typeof markWithCatalog>
}

/**
 * Returns the reports of the formats that readers open. Throws a `BehindError` of the first format that could not follow.
 */
export const followPointer = async (version: PublishedVersion): Promise<readonly PublishReport[]> => {
  const following = { ...version, marked: once(() => markWithCatalog(version)) }
  const lagging = await bringUpToDate(following)
  if (lagging.length === 0) await sweep(following)
  return reportsOf(version, lagging)
}

/** The keys that clean-up keeps, and a catalog of the same versions: clean-up must not remove a version that the catalog shows. */
const markWithCatalog = async (version: PublishedVersion) => {
  const { contents: pointer } = version.pointer
  const { rows, add } = catalogOf(pointer)
  const isShown = version.formats.includes('ducklake')
  return { ...(await mark({ ...version, pointer }, isShown ? add : undefined)), rows }
}

interface Follower {
  readonly format: PublishFormat
  readonly error: 'delta_behind' | 'address_behind'
  /** The name of the format in a message that it lags. */
  readonly what: string
  follow(version: Following): Promise<void>
}

/** The formats that follow the pointer: projections of the version, of which readers see the newest. */
const FOLLOWERS: readonly Follower[] = [
  {
    format: 'delta',
    error: 'delta_behind',
    what: 'its Delta tables are',
    follow: (version) =>
      commitDelta({
        ...version,
        manifestKey: version.key,
        scratch: version.staging,
        readManifest: async (other, signal) => {
          const result = await readOtherManifest(version.store, other, signal)
          return typeof result === 'string' ? null : result
        },
      }),
  },
  {
    format: 'duckdb',
    error: 'address_behind',
    what: `${ADDRESSES.duckdb} is`,
    follow: (version) => {
      const { key, bytes } = version.manifest.database
      return replaceObject(version, ADDRESSES.duckdb, { copyOf: key, bytes })
    },
  },
  {
    format: 'ducklake',
    error: 'address_behind',
    what: `${ADDRESSES.ducklake} is`,
    follow: async (version) => {
      const { rows } = await version.marked()
      const file = join(version.staging, ADDRESSES.ducklake)
      await writeCatalog({ ...version, rows: rows(), root: version.store.address, file })
      await replaceObject(version, ADDRESSES.ducklake, await readFile(file))
    },
  },
]

/**
 * Returns the formats in which readers do not see this version, because time ran out. Every follower is tried, also after another one
 * failed. The next run catches up, except with a log that cannot be continued.
 */
const bringUpToDate = async (version: Following): Promise<readonly PublishFormat[]> => {
  const { store, formats, manifest, log } = version
  const lagging: PublishFormat[] = []
  let failure: { code: Follower['error']; message: string; cause: unknown } | null = null
  for (const { format, error: code, what, follow } of FOLLOWERS) {
    if (!formats.includes(format)) continue
    try {
      await follow(version)
    } catch (error) {
      lagging.push(format)
      const problem = `version ${manifest.version} is published in ${store.address}, but ${what} behind`
      if (isStop(error)) log.warn({ problem: error.message }, `${problem}; the next run catches up`)
      else {
        const next = error instanceof UnusableLogError ? '' : '. The next run catches up'
        failure ??= { code, message: `${problem}: ${messageOf(error)}${next}`, cause: error }
      }
    }
  }
  if (failure !== null)
    throw new BehindError(failure.code, failure.message, reportsOf(version, lagging), failure)
  return lagging
}

/** A failure is only logged. */
const sweep = async (version: Following): Promise<void> => {
  const { pointer, formats, manifest, staging, log } = version
  try {
    const options = {
      ...version,
      pointer: pointer.contents,
      followed: new Set(formats.includes('delta') ? manifest.tables.map(directoryOf) : []),
      readLog: (directory: string, files: LogFiles) =>
        readState({ ...version, scratch: staging }, directory, files, nextNumber(files) - 1),
    }
    const objects = await cleanUp(options, await version.marked())
    log.debug({ objects }, 'objects that no version needs were removed')
  } catch (error) {
    log.warn(
      { problem: messageOf(error) },
      'objects that no version needs could not be removed; the next run tries again',
    )
  }
}

const reportsOf = (
  { store: { address }, key, manifest: { database, bytes }, formats }: PublishedVersion,
  lagging: readonly PublishFormat[],
): readonly PublishReport[] =>
  formats.flatMap((format) => {
    const isLagging = lagging.includes(format)
    if (format === 'duckdb') {
      const path = `${address}/${isLagging ? database.key : ADDRESSES.duckdb}`
      return { format, path, bytes: database.bytes }
    }
    if (format === 'report' || isLagging) return []
    const path = { parquet: key, delta: DATA, ducklake: ADDRESSES.ducklake }[format]
    return { format, path: `${address}/${path}`, bytes }
  })

// Objects at fixed keys for readers: the database of the newest version, the DuckLake catalog, and the report. We never read them, and no
// version names them.

type Replacing = Pick<BucketPublishing, 'store' | 'lease'> & { readonly signal: AbortSignal }

/**
 * Replaces the object by the newest version's. A paused run cannot replace an object that a later run wrote: the ETag that the paused run
 * read is outdated, and it no longer holds the lease.
 */
export const replaceObject = async (
  { store, lease, signal }: Replacing,
  key: string,
  body: Uint8Array | CopiedBody,
): Promise<void> => {
  for (let puts = 0; puts < PUTS_MAX; puts += 1) {
    const replaces = await etagOf(store, key, signal)
    lease.assertHeld()
    const put = { store, key, replaces, signal }
    const outcome = await (body instanceof Uint8Array
      ? putOwnedBytes({ ...put, body })
      : putOwned({ ...put, body }, async () =>
          (await etagOf(store, key, signal)) === replaces ? null : { kind: 'lost' as const },
        ))
    // If the put is lost, a late put of an earlier run has arrived, or our own copy. We would have to download the object to know which.
    if (outcome.kind === 'written') return
  }
  throw new ObjectStoreError(`${store.address}/${key} was replaced while it was being written`)
}

const PUTS_MAX = 3

/** Null if there is no such object. */
const etagOf = async (store: ObjectStore, key: string, signal: AbortSignal): Promise<string | null> => {
  for await (const listed of store.list(key, signal)) if (listed.key === key) return listed.etag
  return null
}

/**
 * The catalog of the versions that the pointer shows; `add` takes the manifests from the oldest on. `rows` throws if the newest version is
 * not among them, because readers would see an older one.
 */
export const catalogOf = ({ version, manifest: newest, shown }: PointerContents) => {
  const catalog = new CatalogRows()
  const keys = new Set(shown.map(({ manifest }) => manifest))
  const add = (key: string, manifest: BucketManifest): void => {
    // A version without Parquet would show no tables.
    if (keys.has(key) && manifest.tables.length > 0) catalog.add(manifest)
  }
  const rows = (): CatalogRows => {
    if (catalog.of('snapshot').at(-1)?.snapshot_id === version) return catalog
    throw new WarehouseError('bucket_damaged', `${newest} was damaged or deleted after it was written`)
  }
  return { add, rows }
}
