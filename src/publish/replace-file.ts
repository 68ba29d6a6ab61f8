/**
 * Replaces a file that others may be reading. The new content is complete and on the disk under another name in the same
 * directory, and then one rename puts it in place. Readers keep the old file open. A kill leaves the old file or the new one.
 */
import { chmod, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode } from '../base/errors.js'

/** The name beside `target` of the file that will replace it. A killed publish leaves that file behind. */
export const temporaryBeside = (target: string): string =>
  join(dirname(target), `.${basename(target)}.${process.pid}${TEMPORARY}`)

const TEMPORARY = '.publishing'

/** Removes the files that killed publishes left beside `target`. Only the holder of the warehouse may call it. */
export const sweepTemporaries = async (target: string): Promise<void> => {
  const directory = dirname(target)
  const leftovers = (await readdir(directory)).filter(
    (name) => name.startsWith(`.${basename(target)}.`) && name.includes(TEMPORARY),
  )
  for (const name of leftovers) await rm(join(directory, name), { force: true })
}

export const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The file system lacks the operation. The kernel's vfat answers EPERM, FUSE ENOSYS, and network shares ENOTSUP or EOPNOTSUPP. */
export const isUnsupported = (error: unknown): boolean =>
  hasCode(error, 'EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP')

/**
 * Removes everybody's right to write the file, which a rename over the file does not need. Rights to read stay as the umask set
 * them. Returns false, with the file unchanged, if the file system keeps no modes.
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
 * Puts `temporary`, which is already synced, in the place of `target`, and makes the rename durable. A `.wal` beside the target
 * is removed first. A killed writer of the old file left it, and DuckDB would replay it into the new file.
 */
export const replaceFile = async (temporary: string, target: string): Promise<void> => {
  await rm(`${target}.wal`, { force: true })
  await rename(temporary, target)
  await syncToDisk(dirname(target))
}
