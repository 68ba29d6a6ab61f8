/** The commit of a version whose files and database are uploaded: its manifest, then the pointer. */
import { type BucketManifest, documentBody } from './documents.js'
import { manifestKey } from './keys.js'
import type { FencedPointer } from './pointer.js'
import { createObject, type UploadOptions } from './upload.js'

export interface CommitOptions extends UploadOptions {
  readonly pointer: FencedPointer
  readonly run: string
  /** Names uploaded objects only. Its version is the pointer's + 1. */
  readonly manifest: BucketManifest
}

/** Returns the key of the manifest. Throws a `LostPublishError` if another run has taken the bucket over. */
export const commitVersion = async (options: CommitOptions): Promise<string> => {
  const { pointer, run, manifest, signal } = options
  const key = manifestKey(manifest.version, run)
  const body = documentBody(manifest)
  await createObject(options, key, body, body.length)
  await pointer.commitVersion(
    {
      version: manifest.version,
      manifest: key,
      database: manifest.database.key,
      run,
      publishedAt: manifest.published_at,
    },
    signal,
  )
  return key
}
