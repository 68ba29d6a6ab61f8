/**
 * The directory `parquet`: whole versions under `versions`, and `current`, which points to the newest. A version is built
 * under another name, and has its own only when it is complete and on the disk.
 */
import { lstat, readdir, readlink, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode } from '../../base/errors.js'
import { publishedPath } from '../../model/publish-formats.js'
import { WarehouseUnusableError } from '../../warehouse/connection/errors.js'
import { syncToDisk } from '../replace-file.js'
import type { Links } from './links.js'
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

/** How many versions stay: what readers see, and those before it for who is still reading them. */
export const KEPT_VERSIONS = 3

export const parquetDirectory = (directory: string): string => dirname(publishedPath(directory, 'parquet'))
export const currentPath = (parquet: string): string => join(parquet, 'current')
export const versionsPath = (parquet: string): string => join(parquet, 'versions')
const versionPath = (parquet: string, number: number): string =>
  join(versionsPath(parquet), String(number).padStart(6, '0'))

/** Where the version `number` is built. */
export const unfinishedPath = (parquet: string, number: number): string =>
  join(versionsPath(parquet), `.${basename(versionPath(parquet, number))}.${process.pid}${UNFINISHED}`)

const UNFINISHED = '.publishing'

/** Versions under their own names, the newest first, whatever is in them. */
export const listVersions = async (parquet: string): Promise<readonly Version[]> =>
  (await namesIn(versionsPath(parquet)))
    .filter((name) => /^\d{6,15}$/.test(name))
    .map((name) => ({ number: Number(name), directory: join(versionsPath(parquet), name) }))
    .toSorted((a, b) => b.number - a.number)

const namesIn = async (directory: string): Promise<readonly string[]> => {
  try {
    return await readdir(directory)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/**
 * What readers see: the version that `current` points to, or, where there are no links, that it is. Null when there is
 * none: it was removed by hand, or points nowhere. Something else in its place is not ours to replace.
 */
export const findCurrent = async (parquet: string): Promise<Version | null> => {
  const current = currentPath(parquet)
  const found = await lstat(current).catch(ifMissing)
  if (found === null) return null
  if (found.isSymbolicLink()) {
    const name = basename(await readlink(current))
    return (await listVersions(parquet)).find(({ directory }) => basename(directory) === name) ?? null
  }
  const manifest = found.isDirectory() ? await readManifest(current) : null
  if (manifest !== null) return { number: manifest.version, directory: current }
  throw new WarehouseUnusableError(`${current} is neither a link nor a version of ours. Move it away`)
}

const ifMissing = (error: unknown): null => {
  if (hasCode(error, 'ENOENT')) return null
  throw error
}

/**
 * Those under their own names, and `current` where it is one itself; the newest first. Throws what the system says where it
 * cannot look.
 */
export const allVersions = async (parquet: string): Promise<readonly Version[]> => {
  const current = await findCurrent(parquet).catch((error: unknown) => {
    if (error instanceof WarehouseUnusableError) return null
    throw error
  })
  const listed = await listVersions(parquet)
  return current?.directory === currentPath(parquet) ? [current, ...listed] : listed
}

/** The versions whose manifests can be read, the newest first. */
export const knownVersions = async (parquet: string): Promise<readonly KnownVersion[]> => {
  const known: KnownVersion[] = []
  for (const version of await allVersions(parquet)) {
    const manifest = await readManifest(version.directory).catch(() => null)
    if (manifest !== null) known.push({ ...version, manifest })
  }
  return known
}

/** Removes what publishes that were killed left behind: half built versions, and whole ones that never became current. */
export const sweepUnfinished = async (parquet: string, current: Version | null): Promise<void> => {
  for (const directory of [parquet, versionsPath(parquet)]) {
    for (const name of await namesIn(directory)) {
      if (name.startsWith('.') && name.endsWith(UNFINISHED)) await removeAll(join(directory, name))
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

/** Under a name that the next sweep knows first: half a version must not be taken for one. */
const removeVersion = async (parquet: string, { number, directory }: Version): Promise<void> => {
  const leaving = unfinishedPath(parquet, number)
  await rename(directory, leaving)
  await removeAll(leaving)
}

export const removeAll = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

/**
 * Makes the version that was built at `unfinished` the current one: by one rename of a link. A kill before it leaves the
 * version before in place. Where there are no links `current` is the version itself, and two renames change it.
 */
export const makeCurrent = async (
  parquet: string,
  number: number,
  unfinished: string,
  links: Links,
): Promise<void> => {
  const current = currentPath(parquet)
  const version = versionPath(parquet, number)
  const pointer = join(parquet, `.${basename(current)}.${process.pid}${UNFINISHED}`)
  const hasLinks = await links.pointTo(join(basename(dirname(version)), basename(version)), pointer)
  if (hasLinks) {
    await rename(unfinished, version)
    await syncToDisk(versionsPath(parquet))
  }
  await makeRoom(parquet, hasLinks)
  await rename(hasLinks ? pointer : unfinished, current)
  await syncToDisk(versionsPath(parquet))
  await syncToDisk(parquet)
}

/** A directory cannot be renamed over: one that is current becomes a version under its own name. */
const makeRoom = async (parquet: string, hasLinks: boolean): Promise<void> => {
  const current = currentPath(parquet)
  const found = await lstat(current).catch(ifMissing)
  if (found?.isDirectory()) {
    const manifest = await readManifest(current)
    if (manifest !== null) await rename(current, versionPath(parquet, manifest.version))
  } else if (found !== null && !hasLinks) await rm(current)
}
