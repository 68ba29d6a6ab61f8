/**
 * Writes the files of a version for a bucket. Only the files of changed partitions are written, below a local directory. An unchanged
 * file keeps the key that the base manifest names, so no local copy of it is needed.
 */
import { dirname, join } from 'node:path'
import type { Manifest, PublishedFile } from './manifest.js'
import { type VersionWriting, writeVersion } from './write-version.js'

export interface ChangedFilesWriting extends Omit<VersionWriting, 'base'> {
  /** The manifest of the version before, with keys as paths; null for the first version. Its number is below the new one. */
  readonly base: Manifest | null
  /** Whether the bucket still holds an unchanged file; true by default. If not, the file is written anew. */
  readonly isStored?: (file: PublishedFile) => boolean
  /** The run that writes the files. Their keys hold it, so no two runs ever write the same key. */
  readonly runId: string
}

export interface ChangedFiles {
  /** The path of every file is its key. */
  readonly manifest: Manifest
  /** The written files and their keys. */
  readonly upload: readonly FileToUpload[]
}

export interface FileToUpload {
  readonly key: string
  /** Absolute path. */
  readonly file: string
}

export const writeChangedFiles = async ({
  base,
  isStored = () => true,
  runId,
  ...writing
}: ChangedFilesWriting): Promise<ChangedFiles> => {
  const manifest = await writeVersion({
    ...writing,
    base: base === null ? null : { manifest: base, keep: async (file) => isStored(file) },
  })
  const upload: FileToUpload[] = []
  const withKey = (file: PublishedFile): PublishedFile => {
    if (file.written_by !== manifest.version) return file
    const key = keyOf(file, runId)
    upload.push({ key, file: join(writing.directory, file.path) })
    return { ...file, path: key }
  }
  const tables = manifest.tables.map((table) => ({ ...table, files: table.files.map(withKey) }))
  return { manifest: { ...manifest, tables }, upload }
}

const keyOf = ({ path, written_by, sha256 }: PublishedFile, runId: string): string =>
  `data/${dirname(path)}/v${written_by}-${runId}-${sha256.slice(0, CHECKSUM_DIGITS)}.parquet`

const CHECKSUM_DIGITS = 16
