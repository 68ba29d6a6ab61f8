/** `layout.json`: all runs of a bucket must divide it into the same shards. The first run decides. */
import { ExpectedError, WarehouseError } from '../../base/errors.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { readDocument } from './conditional.js'
import { documentBody, layoutSchema } from './documents.js'
import { LAYOUT_KEY, POINTER_KEY } from './keys.js'

/** `store` is the root of the bucket's prefix. Throws an error `other_bucket` if the bucket is divided otherwise. */
export const agreeOnLayout = async (
  store: ObjectStore,
  shards: number | null,
  signal: AbortSignal,
): Promise<void> => {
  if (await hasLayout(store, shards, signal)) return
  await store.putIfAbsent(LAYOUT_KEY, documentBody({ format: 1, shards }), signal)
  // Another run may have been first.
  if (!(await hasLayout(store, shards, signal)))
    throw new WarehouseError(
      'bucket_damaged',
      `${store.address}/${LAYOUT_KEY} was deleted while it was being written`,
    )
}

/** False if no run has divided the bucket yet. Throws an error `other_bucket` if it is divided otherwise. */
export const hasLayout = async (
  store: ObjectStore,
  shards: number | null,
  signal: AbortSignal,
): Promise<boolean> => {
  const layout = (await readDocument(store, LAYOUT_KEY, layoutSchema, signal))?.document
  const found = layout === undefined ? await usedDivision(store, signal) : layout.shards
  if (found === undefined || found === shards) return layout !== undefined
  throw new ExpectedError(
    'other_bucket',
    `${store.address} is divided into ${divisionName(found)}, but the settings say ${divisionName(shards)}. Use the same division, or another prefix`,
  )
}

/** The layout may have been deleted: then a pointer shows the division. Undefined if there is none. */
const usedDivision = async (store: ObjectStore, signal: AbortSignal): Promise<number | null | undefined> => {
  if ((await store.get(POINTER_KEY, signal)) !== null) return null
  for await (const { key } of store.list('shard=', signal)) {
    const [, count] = POINTER_OF_SHARD.exec(key) ?? []
    if (count !== undefined) return Number(count)
  }
  return undefined
}

const POINTER_OF_SHARD = /^shard=\d+-of-(\d+)\/current\.json$/

const divisionName = (shards: number | null): string =>
  shards === null ? 'no shards' : shards === 1 ? '1 shard' : `${shards} shards`
