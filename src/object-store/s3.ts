/**
 * Object stores with the protocol of S3: AWS, MinIO, Ceph, R2, versitygw. The SDK is loaded when a store is created, because it
 * takes 0.2 s and no command without `storage` needs it. Credentials come only from the SDK's own chain.
 */
import type { ObjectStore } from './object-store.js'
import type { S3Options } from './s3/connection.js'

/** Rejects with an `ObjectStoreError` if no region is known. Sends no request. */
export const createS3Store = async (options: S3Options): Promise<ObjectStore> => {
  // biome-ignore lint/style/noProcessEnv: the SDK has no other switch for its warning about the next version of Node on stderr.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const { openS3Store } = await import('./s3/store.js')
  return await openS3Store(options)
}
