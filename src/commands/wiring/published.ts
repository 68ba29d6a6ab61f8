/** The published state that commands read, in the warehouse directory or in the bucket. */
import { findPublished } from '../../publish/formats.js'
import type { Settings } from '../../settings/settings.js'
import { describeHolder, isAlive, readHolder } from '../../warehouse/lifecycle/holder.js'
import type { FoundState } from './place.js'
import { holdsWarehouse } from './shard-layout.js'

export type PublishedPlace = Pick<Settings, 'warehouseDirectory' | 'publish' | 'storage'>

/** Throws a `WarehouseError` if a bucket cannot be read. */
export const findState = async (place: PublishedPlace, signal: AbortSignal): Promise<FoundState> => {
  const { warehouseDirectory: directory, publish, storage } = place
  if (storage !== null) {
    const { findInBucket } = await import('./bucket-state.js')
    return await findInBucket(storage, directory, signal)
  }
  const note = await readHolder(directory)
  return {
    holder: note !== null && isAlive(note) ? describeHolder(note) : null,
    published: await findPublished(directory, publish),
  }
}

/** Whether a run has left a warehouse in this place. */
export const hasWarehouse = async (
  { warehouseDirectory, storage }: PublishedPlace,
  signal: AbortSignal,
): Promise<boolean> =>
  (await holdsWarehouse(warehouseDirectory)) ||
  (storage !== null && (await (await import('./bucket-state.js')).holdsState(storage, signal)))
