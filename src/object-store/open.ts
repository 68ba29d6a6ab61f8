/** Opens the store of an address: each kind has a client of its own, which is loaded only when such a store is opened. */
import type { AzureAccount } from './azure/connection.js'
import type { ObjectStore } from './object-store.js'
import type { S3Options } from './s3/connection.js'
import { createS3Store } from './s3.js'

export interface StoreOptions extends S3Options {
  /** Null for S3. Otherwise `bucket` is a container, and `endpoint` the address of its account. */
  readonly azure: AzureAccount | null
}

/** Rejects with an `ObjectStoreError`. The simulation passes one of its own in place of `openStore`. */
export type OpenStore = (options: StoreOptions) => Promise<ObjectStore>

export const openStore: OpenStore = async ({ azure, ...options }) => {
  if (azure === null) return await createS3Store(options)
  const { openAzureStore } = await import('./azure/store.js')
  return await openAzureStore({ ...options, ...azure })
}
