/** The published state of a bucket, and who holds it. */
import { createS3Store } from '../../object-store/s3.js'
import { STATE_NOTHING, stateOf } from '../../publish/bucket/documents.js'
import { readHolder } from '../../publish/bucket/lease.js'
import { readPointer } from '../../publish/bucket/pointer.js'
import { publishedInBucket } from '../../publish/bucket/published.js'
import type { StorageSettings } from '../../settings/storage.js'
import type { FoundState } from './place.js'

export const findInBucket = async (
  storage: StorageSettings,
  directory: string,
  signal: AbortSignal,
): Promise<FoundState> => {
  const store = await createS3Store(storage)
  try {
    const published = await publishedInBucket(store, directory, signal)
    return { published, holder: await readHolder(store, signal) }
  } finally {
    await store.close()
  }
}

/** Whether a run has left any state in the bucket. */
export const holdsState = async (storage: StorageSettings, signal: AbortSignal): Promise<boolean> => {
  const store = await createS3Store(storage)
  try {
    const pointer = await readPointer(store, signal)
    return pointer !== null && stateOf(pointer) !== STATE_NOTHING
  } finally {
    await store.close()
  }
}
