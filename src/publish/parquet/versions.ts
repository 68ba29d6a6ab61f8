/**
 * The directory `parquet`: complete versions under `versions`, and `current`, which points to the newest. A version is built under a
 * temporary name, and gets its own name when it is complete and on the disk.
 */
import { lstat, readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { UnsyncedError } from '../../base/errors.js'
import { publishedPath } from '../../model/publish-formats.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import type { FileSystemLacks } from '../file-system-lacks.js'
import { ifMissing, renameDurably, syncDirectory, TEMPORARY, temporaryBeside } from '../replace-file.js'
import { type Manifest, readManifest } from './manifest.js'

export interface Version {
  readonly number: number
  /** Absolute path. */
  readonly directory: string
}

/** A version whose manifest can be read. */
export interface KnownVersion extends Version {
  readonly manifest: Manifest
}

/** How many versions are kept: the current one, and earlier ones that readers may still be reading. */
export const KEPT_VERSIONS = 3

export const parquetDirectory = (directory: string): string => dirname(publishedPath(directory, 'parquet'))
export const currentPath = (parquet: string): string => join(parquet, 'current')
export const versionsPath = (parquet: string): string => join(parquet, 'versions')
const versionPath = (parquet: string, number: number): string =>
  join(versionsPath(parquet), String(number).padStart(6, '0'))

/** A new directory, in which version `number` is built. */
export const unfinishedPath = (parquet: string, number: number): string =>
  temporaryBeside(versionPath(parquet, number))

/** Versions under their own names, the newest first. Their content is not checked. */
const listVersions = async (parquet: string): Promise<readonly Version[]> =>
  (await namesIn(versionsPath(parquet)))
    .filter((name) => /^\d{6,15}$/.test(name))
    .map((name) => ({ number: Number(name), directory: join(versionsPath(parquet), name) }))
    .toSorted((a, b) => b.number - a.number)

const namesIn = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory).catch(ifMissing)) ?? []

/**
 * The version that readers see. `current` links to it, or is the version itself if the file system has no links. Null if `current` was
 * removed or points nowhere. Throws if `current` is anything else, which we must not replace.
 */
export const findCurrent = async (parquet: string): Promise<Version | null> => {
  const current = currentPath(parquet)
  const stats = await lstat(current).catch(ifMissing)
  if (stats === null) return null
  if (stats.isSymbolicLink()) {
    const name = basename(await readlink(current))
    return (await listVersions(parquet)).find(({ directory }) => basename(directory) === name) ?? null
  }
  const manifest = stats.isDirectory() ? await readManifest(current) : null
  if (manifest !== null) return { number: manifest.version, directory: current }
  throw new WarehouseUnusableError(
    `${current} is neither a link nor a version of published Parquet files. Move it away`,
  )
}

/**
 * The versions under their own names, and `current` if it is a version itself; the newest first. Throws the system's error if the
 * directory cannot be read.
 */
export const allVersions = async (parquet: string): Promise<readonly Version[]> => {
  const current = await findCurrent(parquet).catch((error: unknown) => {
    if (error instanceof WarehouseUnusableError) return null
    throw error
  })
  const listed = await listVersions(parquet)
  return current?.directory === currentPath(parquet) ? [current, ...listed] : listed
}

/** The first of these versions whose manifest can be read; null without one. */
export const firstKnown = async (versions: readonly Version[]): Promise<KnownVersion | null> => {
  for (const version of versions) {
    const manifest = await readManifest(version.directory).catch(() => null)
    if (manifest !== null) return { ...version, manifest }
  }
  return null
}

/** Removes the versions of killed publishes: half-built versions, and complete versions that never became current. */
export const sweepUnfinished = async (parquet: string, current: Version | null): Promise<void> => {
  for (const directory of [parquet, versionsPath(parquet)]) {
    for (const name of await namesIn(directory)) {
      if (name.startsWith('.') && name.endsWith(TEMPORARY)) await removeAll(join(directory, name))
    }
  }
  if (current === null) return
  for (const { number, directory } of await listVersions(parquet)) {
    if (number > current.number) await removeVersion(parquet, { number, directory })
  }
}

/** Removes the versions that are older than the `KEPT_VERSIONS` newest. */
export const sweepOld = async (parquet: string, newest: number): Promise<void> => {
  const older = (await listVersions(parquet)).filter(({ number }) => number < newest)
  for (const version of older.slice(KEPT_VERSIONS - 1)) await removeVersion(parquet, version)
}

/** Renames the version first, so that the next sweep removes the rest if this one is killed. */
const removeVersion = async (parquet: string, { number, directory }: Version): Promise<void> => {
  const unfinished = unfinishedPath(parquet, number)
  await rename(directory, unfinished)
  await removeAll(unfinished)
}

export const removeAll = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

/**
 * Makes the version that was built at `unfinished` current, by one rename of a link. A kill before that leaves the previous
 * version in place. Without links `current` is the version itself, and two renames replace it. `replaced` is the version that was
 * current, as `findCurrent` found it.
 */
export const makeCurrent = async (
  parquet: string,
  { number, directory: unfinished }: Version,
  replaced: Version | null,
  lacks: FileSystemLacks,
): Promise<void> => {
  const current = currentPath(parquet)
  const version = versionPath(parquet, number)
  const pointer = temporaryBeside(current)
  const target = join(basename(dirname(version)), basename(version))
  const hasLinks = await lacks.attempt('symbolicLinks', () => symlink(target, pointer))
  if (hasLinks) await rename(unfinished, version)
  // A rename cannot replace a directory. If `current` is one, it first becomes a version under its own name.
  const previous = replaced?.directory === current ? versionPath(parquet, replaced.number) : null
  if (previous !== null) await rename(current, previous)
  else if (!hasLinks) await rm(current, { force: true })
  if (hasLinks) await syncDirectory(versionsPath(parquet), lacks)
  await renameDurably(hasLinks ? pointer : unfinished, current, lacks).catch(async (error: unknown) => {
    // Readers get their version back. If this fails too, the first failure is reported.
    if (previous !== null && !(error instanceof UnsyncedError))
      await rename(previous, current).catch(() => undefined)
    throw error
  })
}
