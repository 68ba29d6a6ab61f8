/**
 * What readers find at fixed keys: the database of the newest version, the DuckLake catalog, and the report. Each run replaces them after
 * its version is committed. Nothing is read from them, and no version names them.
 */
import { WarehouseError } from '../../base/errors.js'
import { type CopiedBody, type ObjectStore, ObjectStoreError } from '../../object-store/object-store.js'
import { putOwned, putOwnedBytes } from '../../object-store/owned-document.js'
import { CatalogRows } from '../../publish/ducklake/rows.js'
import type { BucketManifest, PointerContents } from './documents.js'
import type { BucketPublishing } from './upload.js'

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
