/** Opens the store of an address. Its SDK is loaded only then: it takes 0.2 s, and no command without `storage` needs it. */
import type { ClientOptions } from './client.js'
import type { ObjectStore } from './object-store.js'

/** Rejects with an `ObjectStoreError`. The simulation passes one of its own in place of `openStore`. */
export type OpenStore = (options: ClientOptions) => Promise<ObjectStore>

/** S3 is AWS, MinIO, Ceph, R2, versitygw. Its credentials come only from the SDK's own chain. Sends no request. */
export const openStore: OpenStore = async (options) => {
  if (options.azure !== null)
    return await (await import('./azure/store.js')).openAzureStore(options, options.azure)
  // biome-ignore lint/style/noProcessEnv: the SDK has no other switch for its warning about the next version of Node on stderr.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  return await (await import('./s3/store.js')).openS3Store(options)
}
