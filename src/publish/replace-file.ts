/**
 * Replacing a file that others may be reading: the new content is complete and on the disk under another name in the
 * same directory before one rename puts it in place. Who has the old file open keeps it; a kill at any point leaves
 * either the old or the new one.
 */
import { chmod, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode } from '../base/errors.js'

/** A name beside `target` for what is to replace it; a publish that was killed leaves one behind. */
export const temporaryBeside = (target: string): string =>
  join(dirname(target), `.${basename(target)}.${process.pid}${TEMPORARY}`)

const TEMPORARY = '.publishing'

/** Removes what publishes that were killed left beside `target`. Only the holder of the warehouse may call it. */
export const sweepTemporaries = async (target: string): Promise<void> => {
  const directory = dirname(target)
  const left = (await readdir(directory)).filter(
    (name) => name.startsWith(`.${basename(target)}.`) && name.includes(TEMPORARY),
  )
  for (const name of left) await rm(join(directory, name), { force: true })
}

export const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** What systems answer to what a file system does not have: the kernel's vfat EPERM, FUSE ENOSYS, network shares ENOTSUP or EOPNOTSUPP. */
export const isUnsupported = (error: unknown): boolean =>
  hasCode(error, 'EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP')

/**
 * Takes the right to write the file from everybody; the right to read it stays as the umask has left it. A rename over
 * the file does not need that right. False where the file system keeps no modes: the file is then as it was.
 */
export const protectFromWriting = async (file: string): Promise<boolean> => {
  const { mode } = await stat(file)
  try {
    await chmod(file, mode & 0o7777 & ~WRITE)
    return true
  } catch (error) {
    if (isUnsupported(error)) return false
    throw error
  }
}

const WRITE = 0o222

/**
 * Puts `temporary`, already synced, in the place of `target`, and makes the rename itself durable. A `.wal` beside the
 * target goes first: it is of someone who wrote into the old file and was killed, and DuckDB would replay it into the new.
 */
export const replaceFile = async (temporary: string, target: string): Promise<void> => {
  await rm(`${target}.wal`, { force: true })
  await rename(temporary, target)
  await syncToDisk(dirname(target))
}
