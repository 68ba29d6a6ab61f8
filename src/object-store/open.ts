/** Opens the store of an address. Its SDK is loaded only then: it takes 0.2 s, and no command without `storage` needs it. */
import type { AzureAccount } from '../base/network.js'
import type { ObjectStore } from './object-store.js'
import type { S3Options } from './s3/connection.js'

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

/** AWS, MinIO, Ceph, R2, versitygw. Credentials come only from the SDK's own chain. Sends no request. */
export const createS3Store = async (options: S3Options): Promise<ObjectStore> => {
  // biome-ignore lint/style/noProcessEnv: the SDK has no other switch for its warning about the next version of Node on stderr.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const { openS3Store } = await import('./s3/store.js')
  return await openS3Store(options)
}
