/**
 * Replaces a file that others may be reading. The new content is first complete and on the disk under another name in the same directory.
 * Then one rename replaces the file. Readers keep the old file open. A kill leaves the old file or the new one.
 */
import { randomUUID } from 'node:crypto'
import { chmod, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode, messageOf, UnsyncedError } from '../base/errors.js'
import { createLacks, type FileSystemLacks } from './file-system-lacks.js'

/** For `catch`: null if there is no such file. Throws any other error. */
export const ifMissing = (error: unknown): null => {
  if (hasCode(error, 'ENOENT')) return null
  throw error
}

/**
 * A new name beside `target`, for the file that will replace it. The name is random, so that nobody can put a link to another file there. A
 * killed publish leaves a file with such a name.
 */
export const temporaryBeside = (target: string): string =>
  join(dirname(target), `.${basename(target)}.${randomUUID()}${TEMPORARY}`)

export const TEMPORARY = '.publishing'

/** Removes the files that killed publishes left beside `target`. Only the holder of the warehouse may call it. */
export const sweepTemporaries = async (target: string): Promise<void> => {
  const directory = dirname(target)
  const leftovers = (await readdir(directory)).filter(
    (name) => name.startsWith(`.${basename(target)}.`) && name.includes(TEMPORARY),
  )
  for (const name of leftovers) await rm(join(directory, name), { force: true })
}

export const syncToDisk = async (path: string): Promise<void> => {
  await using handle = await open(path, 'r')
  await handle.sync()
}

/** Makes the entries of a directory durable, if the file system can. Without `lacks` a lack is not reported. */
export const syncDirectory = (directory: string, lacks = createLacks(null)): Promise<boolean> =>
  lacks.attempt('syncedDirectories', () => syncToDisk(directory))

/**
 * Removes everybody's right to write the file, which a rename over the file does not need. Rights to read stay as the umask set
 * them. The file is unchanged if the file system keeps no modes.
 */
export const protectFromWriting = async (file: string, lacks: FileSystemLacks): Promise<void> => {
  const { mode } = await stat(file)
  await lacks.attempt('modes', () => chmod(file, mode & 0o7777 & ~WRITE))
}

const WRITE = 0o222

/** Gives `temporary` the mode of the file that it will replace, if there is one and the file system keeps modes. */
export const keepMode = async (
  temporary: string,
  target: string,
  lacks = createLacks(null),
): Promise<void> => {
  const stats = await stat(target).catch(ifMissing)
  if (stats !== null) await lacks.attempt('modes', () => chmod(temporary, stats.mode & 0o7777))
}

/**
 * The mode in which to create what will replace `target`: who may not read `target` may not read its new content early. The owner may do
 * everything until `keepMode`. Undefined if there is no `target`.
 */
export const firstModeFor = async (target: string): Promise<number | undefined> => {
  const stats = await stat(target).catch(ifMissing)
  return stats === null ? undefined : (stats.mode & 0o777) | OWNER
}

const OWNER = 0o700

/** Renames `temporary`, which is already synced, to `target`, and makes that durable. Throws an `UnsyncedError` after the rename. */
export const renameDurably = async (temporary: string, target: string, lacks = createLacks(null)) => {
  await rename(temporary, target)
  try {
    for (const directory of new Set([dirname(temporary), dirname(target)]))
      await syncDirectory(directory, lacks)
  } catch (cause) {
    throw new UnsyncedError(
      `${target} is replaced, but a power failure may undo that: ${messageOf(cause)}. Check the disk, then run again`,
      { cause },
    )
  }
}

/**
 * Puts `temporary`, which is already synced, in the place of `target`. A `.wal` beside the target is removed first. A killed writer of
 * the old file left it, and DuckDB would replay it into the new file.
 */
export const replaceFile = async (temporary: string, target: string, lacks?: FileSystemLacks) => {
  await rm(`${target}.wal`, { force: true })
  await renameDurably(temporary, target, lacks)
}

/**
 * Writes a new content for `file`: readers see the old or the new one. Throws the errors of the file system. After an error the file is
 * unchanged, unless the error is an `UnsyncedError`, and no temporary file remains.
 */
export const replaceContent = async (file: string, content: string | Buffer, lacks?: FileSystemLacks) => {
  const temporary = temporaryBeside(file)
  try {
    await writeFile(temporary, content, { flag: 'wx', mode: await firstModeFor(file) })
    await keepMode(temporary, file, lacks)
    await syncToDisk(temporary)
    await replaceFile(temporary, file, lacks)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
}
