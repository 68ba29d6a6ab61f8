/**
 * What follows the pointer: Delta logs, the fixed addresses, and then clean-up. The version is published already, and all of this is derived
 * from it, so a failure is made good by the next run.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ErrorCode, isStop, messageOf, WarehouseError } from '../../base/errors.js'
import { once } from '../../base/once.js'
import { ADDRESSES, type PublishFormat } from '../../model/publish-formats.js'
import type { PublishReport } from '../../model/run.js'
import {
  type CopiedBody,
  type ListedObject,
  type ObjectStore,
  ObjectStoreError,
} from '../../object-store/object-store.js'
import { putOwned, putOwnedBytes } from '../../object-store/owned-document.js'
import { commitDelta, directoryOf } from '../../publish/delta/commit.js'
import { type LogFiles, nextNumber, readState } from '../../publish/delta/read-log.js'
import { CatalogRows } from '../../publish/ducklake/rows.js'
import { writeCatalog } from '../../publish/ducklake/write-catalog.js'
import { cleanUp, mark } from './clean-up.js'
import { type BucketManifest, DATA, type PointerContents } from './documents.js'
import { readManifest } from './restore.js'
import type { BucketPublishing } from './upload.js'

interface PublishedVersion extends BucketPublishing {
  readonly manifest: BucketManifest
  /** Key of the manifest. */
  readonly key: string
  /** What was below `data` before it. */
  readonly objects: readonly ListedObject[]
  readonly staging: string
  readonly signal: AbortSignal
}

/** Also what catalog and clean-up share. */
interface Following extends PublishedVersion {
  readonly marked: () => ReturnType<typeof markWithCatalog>
}

/** Returns what readers open. Throws the error of the first format that could not follow, such as `delta_behind`. */
export const followPointer = async (version: PublishedVersion): Promise<readonly PublishReport[]> => {
  const following = { ...version, marked: once(() => markWithCatalog(version)) }
  const behind = await bringUpToDate(following)
  if (behind.length === 0) await sweep(following)
  return reportsOf(version, behind)
}

/** What clean-up keeps, and the catalog of it: what this shows must not be too old a moment later. */
const markWithCatalog = async (version: PublishedVersion) => {
  const { contents: pointer } = version.pointer
  const { rows, add } = catalogOf(pointer)
  const isShown = version.formats.includes('ducklake')
  return { ...(await mark({ ...version, pointer }, isShown ? add : undefined)), rows }
}

interface Follower {
  readonly format: PublishFormat
  readonly error: ErrorCode
  /** What is behind if it fails. */
  readonly what: string
  follow(version: Following): Promise<void>
}

/** What follows the pointer: projections of the version, of which readers see the newest. */
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
          const result = await readManifest(version.store, other, signal)
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
 * Returns the formats of which readers do not see this version, because time ran out. Every follower is tried, also after one that
 * failed. The next run catches up in any case.
 */
const bringUpToDate = async (version: Following): Promise<readonly PublishFormat[]> => {
  const { store, formats, manifest, log } = version
  const behind: PublishFormat[] = []
  let failure: WarehouseError | null = null
  for (const { format, error: code, what, follow } of FOLLOWERS) {
    if (!formats.includes(format)) continue
    try {
      await follow(version)
    } catch (error) {
      behind.push(format)
      const problem = `version ${manifest.version} is published in ${store.address}, but ${what} behind`
      if (isStop(error)) log.warn({ problem: error.message }, `${problem}; the next run catches up`)
      else
        failure ??= new WarehouseError(code, `${problem}: ${messageOf(error)}. The next run catches up`, {
          cause: error,
        })
    }
  }
  if (failure !== null) throw failure
  return behind
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
  behind: readonly PublishFormat[],
): readonly PublishReport[] =>
  formats.flatMap((format) => {
    const isBehind = behind.includes(format)
    if (format === 'duckdb') {
      const path = `${address}/${isBehind ? database.key : ADDRESSES.duckdb}`
      return { format, path, bytes: database.bytes }
    }
    if (format === 'report' || isBehind) return []
    const path = { parquet: key, delta: DATA, ducklake: ADDRESSES.ducklake }[format]
    return { format, path: `${address}/${path}`, bytes }
  })

// What readers find at fixed keys: the database of the newest version, the DuckLake catalog, and the report. Nothing is read from them, and
// no version names them.

type Replacing = Pick<BucketPublishing, 'store' | 'lease'> & { readonly signal: AbortSignal }

/**
 * Replaces the object by that of the newest version. A paused run cannot replace what a later run wrote: the ETag that it found is gone,
 * and then it does not hold the lease any more.
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
    // Otherwise a late put of an earlier run has arrived, or our own copy, which nobody downloads to see that.
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
 * The catalog of the versions that the pointer shows; `add` takes the manifests from the oldest on. `rows` throws if the newest is not
 * among them: readers would go back.
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
