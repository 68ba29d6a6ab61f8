/** The Delta tables of a published version. They follow the pointer, so a version is published even if they are behind. */
import { isStop, messageOf, WarehouseError } from '../../base/errors.js'
import type { ListedObject } from '../../object-store/object-store.js'
import { commitDelta } from '../delta/commit.js'
import type { BucketManifest } from './documents.js'
import type { BucketPublishing } from './publishing.js'
import { readManifest } from './restore.js'

export interface PublishedVersion extends BucketPublishing {
  readonly manifest: BucketManifest
  /** Key of the manifest. */
  readonly key: string
  /** What was below `data` before it. */
  readonly objects: readonly ListedObject[]
  readonly staging: string
  readonly signal: AbortSignal
}

/**
 * Brings the Delta tables to a published version. False if time ran out. Throws an error `delta_behind`. The next run catches up in both
 * cases.
 */
export const bringDeltaUpToDate = async (version: PublishedVersion): Promise<boolean> => {
  const { store, formats, manifest, key, staging, log } = version
  if (!formats.includes('delta')) return true
  const behind = `version ${manifest.version} is published in ${store.address}, but its Delta tables are behind`
  try {
    await commitDelta({
      ...version,
      manifestKey: key,
      scratch: staging,
      readManifest: async (other, signal) => {
        const found = await readManifest(store, other, signal)
        return typeof found === 'string' ? null : found
      },
    })
    return true
  } catch (error) {
    if (!isStop(error))
      throw new WarehouseError(
        'delta_behind',
        `${behind}: ${messageOf(error)}. The next run brings them up to date`,
        {
          cause: error,
        },
      )
    log.warn({ problem: error.message }, `${behind}; the next run brings them up to date`)
    return false
  }
}
