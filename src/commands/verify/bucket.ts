/** The local half of `verify` for a warehouse in a bucket. A module of its own, so that other warehouses load no client of object stores. */
import { createS3Store } from '../../object-store/s3.js'
import type { StorageSettings } from '../../settings/storage.js'
import { verifyBucket } from '../../verify/local/check-bucket.js'
import type { LocalProof } from '../../verify/local/proof.js'

export const verifyStorage = async (storage: StorageSettings, signal: AbortSignal): Promise<LocalProof> => {
  const store = await createS3Store(storage)
  try {
    return await verifyBucket(store, signal)
  } finally {
    await store.close()
  }
}
