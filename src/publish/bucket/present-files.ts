/**
 * A publish uploads only what changed and names the other files of the version before. So a file that somebody deleted would stay
 * missing for ever. One listing before each publish finds such files, and they are written again.
 */
import { listAll } from '../../object-store/list-all.js'
import type { ListedObject, ObjectStore } from '../../object-store/object-store.js'
import type { BucketManifest } from './documents.js'
import { DATA } from './keys.js'

/** Everything below `data`. */
export const listData = (store: ObjectStore, signal: AbortSignal): Promise<readonly ListedObject[]> =>
  listAll(store, DATA, signal)

export interface PresentFiles {
  /** Without the files that are missing or have another size. */
  readonly manifest: BucketManifest
  readonly missing: readonly string[]
}

export const presentFiles = (manifest: BucketManifest, objects: readonly ListedObject[]): PresentFiles => {
  const present = new Map(objects.map(({ key, bytes }) => [key, bytes]))
  const isPresent = (file: { readonly path: string; readonly bytes: number }) =>
    present.get(file.path) === file.bytes
  return {
    manifest: {
      ...manifest,
      tables: manifest.tables.map((table) => ({ ...table, files: table.files.filter(isPresent) })),
    },
    missing: manifest.tables
      .flatMap(({ files }) => files.filter((file) => !isPresent(file)))
      .map(({ path }) => path),
  }
}
