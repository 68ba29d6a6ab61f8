/**
 * Publishes the committed state as Parquet files. Each row is in one file, and a file whose rows changed is written anew. Each version is a
 * directory, in which unchanged files are links to the files of the previous version. The swap of one symbolic link shows the version to
 * readers (docs/decisions/publish.md#0043-parquet-is-published-in-whole-versions-of-plain-files).
 */
import { copyFile, link, mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sum } from 'd3-array'
import type { Clock } from '../../base/clock.js'
import { messageOf } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { makeDirectory } from '../../base/make-directory.js'
import { throwIfAborted } from '../../base/signals.js'
import type { ViewName } from '../../model/publish-formats.js'
import type { Publisher } from '../../model/warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import type { FileSystemLacks } from '../file-system-lacks.js'
import { publishError } from '../publish-error.js'
import { syncDirectory, syncToDisk } from '../replace-file.js'
import { isIntact, type Manifest, manifestFile, writeManifest } from './manifest.js'
import {
  allVersions,
  currentPath,
  findCurrent,
  firstKnown,
  KEPT_VERSIONS,
  type KnownVersion,
  makeCurrent,
  parquetDirectory,
  removeAll,
  sweepOld,
  sweepUnfinished,
  unfinishedPath,
  versionsPath,
} from './versions.js'
import type { BaseVersion } from './write-table.js'
import { writeVersion } from './write-version.js'

/** The input of a publish of files. */
export interface FilePublishing {
  readonly database: Database
  /** The warehouse directory. */
  readonly directory: string
  readonly clock: Clock
  /** The views that are published as Parquet. */
  readonly views: readonly ViewName[]
  readonly log: Log
  /** All formats of a run share what they find about the file system, so each lack is logged once. */
  readonly lacks: FileSystemLacks
}

/**
 * Throws `WarehouseUnusableError` if it cannot publish. The published version is then unchanged, unless the error is an `UnsyncedError`.
 */
export const createParquetPublisher = (options: FilePublishing): Publisher => ({
  format: 'parquet',
  publish: async (signal) => {
    const { directory, lacks, log } = options
    const parquet = parquetDirectory(directory)
    const target = currentPath(parquet)
    try {
      throwIfAborted(signal)
      await makeDirectory(versionsPath(parquet))
      const current = await findCurrent(parquet)
      await sweepUnfinished(parquet, current)
      const { manifest, ...built } = await build(options, parquet, signal)
      await makeCurrent(parquet, built, current, lacks)
      lacks.logNew(parquet)
      await removeOld(log, parquet, manifest)
      return [{ format: 'parquet', path: target, bytes: manifest.bytes }]
    } catch (error) {
      throw publishError(error, target, 'The published Parquet')
    }
  },
})

/** Builds the next version beside the others, complete and on the disk. After a failure, the next publish sweeps its files. */
const build = async (
  options: FilePublishing,
  parquet: string,
  signal: AbortSignal,
): Promise<KnownVersion> => {
  const { log, lacks } = options
  // After the sweep, the version that readers see is the newest one.
  const versions = await allVersions(parquet)
  const base = await firstKnown(versions)
  const number = (versions[0]?.number ?? 0) + 1
  const unfinished = unfinishedPath(parquet, number)
  try {
    await mkdir(unfinished)
    const manifest = await writeVersion({
      ...options,
      base: linkedBase(base, unfinished, lacks),
      directory: unfinished,
      number,
      signal,
    })
    await writeManifest(unfinished, manifest)
    await syncToDisk(manifestFile(unfinished))
    await syncDirectories(unfinished, lacks)
    throwIfAborted(signal)
    return { number, directory: unfinished, manifest }
  } catch (error) {
    await removeAll(unfinished).catch((second: unknown) => {
      log.debug({ problem: messageOf(second) }, 'a half-built Parquet version stays until the next publish')
    })
    throw error
  }
}

/** The new version is already published, so an old version that cannot be removed is not a failure. */
const removeOld = async (log: Log, parquet: string, { version, bytes, tables }: Manifest): Promise<void> => {
  const files = tables.flatMap((table) => table.files)
  const written = files.filter(({ written_by }) => written_by === version)
  const written_bytes = sum(written.map((file) => file.bytes))
  log.debug(
    { version, files: files.length, bytes, written: written.length, written_bytes },
    'Parquet version published',
  )
  await sweepOld(parquet, version).catch((error: unknown) => {
    log.warn(
      { problem: messageOf(error) },
      `Parquet versions older than the last ${KEPT_VERSIONS} could not be removed; the next publish tries again`,
    )
  })
}

/** Links to the files of the previous version. A file that is damaged or cannot be read is written anew. Null for the first version. */
const linkedBase = (
  base: KnownVersion | null,
  directory: string,
  lacks: FileSystemLacks,
): BaseVersion | null => {
  if (base === null) return null
  const keep: BaseVersion['keep'] = async (file) => {
    if (!(await isIntact(base.directory, file).catch(() => false))) return false
    const [existing, path] = [join(base.directory, file.path), join(directory, file.path)]
    await makeDirectory(dirname(path))
    if (!(await lacks.attempt('hardLinks', () => link(existing, path)))) {
      await copyFile(existing, path)
      await syncToDisk(path)
    }
    return true
  }
  return { manifest: base.manifest, keep }
}

/** A file is durable only if the entries of its parent directories are too. */
const syncDirectories = async (directory: string, lacks: FileSystemLacks): Promise<void> => {
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await syncDirectories(join(directory, entry.name), lacks)
  await syncDirectory(directory, lacks)
}
