/** Opens the store of an address. The SDK takes 0.2 s to load, so it is loaded here, and only for commands with `storage`. */
import { ExpectedError, hasCode } from '../base/errors.js'
import type { AzureAccount } from '../base/network.js'
import type { ClientOptions } from './client.js'
import type { ObjectStore } from './object-store.js'

/** Rejects with an `ObjectStoreError`. The simulation passes its own function in place of `openStore`. */
export type OpenStore = (options: ClientOptions) => Promise<ObjectStore>

/**
 * Opens a store of S3 (AWS, MinIO, Ceph, R2, versitygw) or Azure. Credentials of S3 come only from the SDK's own chain. Sends no request.
 */
export const openStore: OpenStore = async (options) => {
  if (options.azure !== null) return await openAzure(options, options.azure)
  // biome-ignore lint/style/noProcessEnv: the SDK has no other switch for its warning about the next version of Node on stderr.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  return await (await import('./s3/store.js')).openS3Store(options)
}

/** Azure's packages are optional (docs/decisions/build-and-libraries.md#0092-azures-packages-are-optional). */
const openAzure = async (options: ClientOptions, account: AzureAccount): Promise<ObjectStore> => {
  try {
    return await (await import('./azure/store.js')).openAzureStore(options, account)
  } catch (cause) {
    if (!hasCode(cause, 'ERR_MODULE_NOT_FOUND')) throw cause
    throw new ExpectedError(
      'installation_incomplete',
      'an address az:// needs packages of Azure, which are not installed. Install them beside fieldwork-sync: npm install @azure/storage-blob@12 @azure/identity@4',
      { cause },
    )
  }
}
