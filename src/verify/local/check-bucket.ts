/** Checks the current version in a bucket: its documents, its database, and that every Parquet file is there in its size. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ObjectStore } from '../../object-store/object-store.js'
import { readPointer } from '../../storage/bucket/pointer.js'
import { downloadVerified, readManifest } from '../../storage/bucket/restore.js'
import { listData, presentFiles } from '../../storage/bucket/upload.js'
import { checkFileApart } from './check-file.js'
import { filesOf } from './check-parquet.js'
import { type LocalProof, NOTHING, problemOfFiles, together } from './proof.js'

/** Its next run writes damaged objects anew, or restores an older version. */
const NEXT_RUN =
  "Run fieldwork-sync sync, which writes the objects that are missing, or restore the object from the bucket's own versions"

/** Throws an `ObjectStoreError` or a `WarehouseError`. */
export const verifyBucket = async (store: ObjectStore, signal: AbortSignal): Promise<LocalProof> => {
  const pointer = await readPointer(store, signal)
  if (pointer === null || pointer.manifest === null) return NOTHING
  const state = `${store.address}/${pointer.manifest}`
  const objects = (paths: readonly string[]) =>
    problemOfFiles(
      state,
      { rule: 'objects_are_intact', says: 'objects of the version are missing or damaged' },
      paths,
      NEXT_RUN,
    )
  const manifest = await readManifest(store, pointer.manifest, signal)
  if (typeof manifest === 'string')
    return together(NOTHING, { checks: 1, states: [state], problems: objects([manifest]) })
  const { missing } = presentFiles(manifest, await listData(store, signal))
  const files = filesOf(manifest).length
  const proof = together(NOTHING, { checks: files + 2, states: [state], problems: objects(missing) })
  const directory = await mkdtemp(join(tmpdir(), 'fieldwork-sync-verify-'))
  try {
    const file = join(directory, 'published.duckdb')
    const damage = await downloadVerified(store, manifest.database, file, signal)
    if (damage !== null) return together(proof, { problems: objects([damage]) })
    const question = { file, state: `${store.address}/${manifest.database.key}`, parquet: null }
    const checked = await checkFileApart(question, signal)
    return together(proof, checked)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
