/** `layout.json`: all runs of a bucket must divide it into the same shards. The first run decides. */
import type { ObjectStore } from '../../object-store/object-store.js'
import { readDocument } from './conditional.js'
import { documentBody, layoutSchema } from './documents.js'
import { BucketDamagedError, OtherBucketError } from './errors.js'
import { LAYOUT_KEY } from './keys.js'

/** `store` is the root of the bucket's prefix. Throws an `OtherBucketError` if the bucket is divided otherwise. */
export const agreeOnLayout = async (
  store: ObjectStore,
  shards: number | null,
  signal: AbortSignal,
): Promise<void> => {
  if (await hasLayout(store, shards, signal)) return
  await store.putIfAbsent(LAYOUT_KEY, documentBody({ format: 1, shards }), signal)
  // Another run may have been first.
  if (!(await hasLayout(store, shards, signal)))
    throw new BucketDamagedError(`${store.address}/${LAYOUT_KEY} was deleted while it was being written`)
}

/** False if no run has divided the bucket yet. Throws an `OtherBucketError` if it is divided otherwise. */
export const hasLayout = async (
  store: ObjectStore,
  shards: number | null,
  signal: AbortSignal,
): Promise<boolean> => {
  const found = (await readDocument(store, LAYOUT_KEY, layoutSchema, signal))?.document
  if (found === undefined || found.shards === shards) return found !== undefined
  throw new OtherBucketError(
    `${store.address} is divided into ${divisionName(found.shards)}, but the settings say ${divisionName(shards)}. Use the same division, or another prefix`,
  )
}

const divisionName = (shards: number | null): string =>
  shards === null ? 'no shards' : shards === 1 ? '1 shard' : `${shards} shards`
