/** Uploads files under keys that nobody else uses. A run uses each key once. */

import pLimit from 'p-limit'
import { WarehouseError } from '../../base/errors.js'
import { attemptPut } from '../../object-store/attempt-put.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import type { FileBody, ObjectBody, ObjectStore } from '../../object-store/object-store.js'
import type { NamedObject } from './documents.js'
import type { Lease } from './held-lease.js'

export interface UploadOptions {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  readonly signal: AbortSignal
}

export interface FileToUpload extends NamedObject {
  /** Path of the local file. */
  readonly file: string
  readonly onSent?: FileBody['onSent']
}

const UPLOADS_AT_ONCE_MAX = 8

/** After an error, files may be uploaded that nothing names. Clean-up removes them. */
export const uploadFiles = async (
  options: UploadOptions & {
    readonly files: readonly FileToUpload[]
    readonly onUploaded?: (file: FileToUpload) => void
  },
): Promise<void> => {
  const { files, onUploaded } = options
  const limit = pLimit(UPLOADS_AT_ONCE_MAX)
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const uploads = files.map((file) =>
    limit(async () => {
      try {
        await createObject({ ...options, signal }, file.key, file, file.bytes)
        onUploaded?.(file)
      } catch (error) {
        // The first failure ends the others.
        failed.abort(error)
        throw error
      }
    }),
  )
  const [failure] = (await Promise.allSettled(uploads)).filter(({ status }) => status === 'rejected')
  if (failure?.status === 'rejected')
    throw options.signal.aborted ? failure.reason : (failed.signal.reason ?? failure.reason)
}

/** Creates an object. If it exists already, our own first attempt has arrived; then its size must be the same. */
export const createObject = async (
  { store, lease, signal }: UploadOptions,
  key: string,
  body: ObjectBody,
  bytes: number,
): Promise<void> => {
  lease.assertHeld()
  const outcome = await attemptPut(() => store.putIfAbsent(key, body, signal))
  if (!(outcome instanceof ObjectStoreError) && outcome.kind === 'written') return
  for await (const listed of store.list(key, signal)) {
    if (listed.key !== key) continue
    if (listed.bytes === bytes) return
    throw new WarehouseError(
      'bucket_damaged',
      `${store.address}/${key} has ${listed.bytes} bytes instead of ${bytes}: something else writes to this prefix`,
    )
  }
  throw outcome instanceof ObjectStoreError
    ? outcome
    : new WarehouseError('bucket_damaged', `${store.address}/${key} was deleted while it was being written`)
}
