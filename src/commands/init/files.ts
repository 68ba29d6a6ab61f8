/** Writes the files of `init`. A file under its name is always complete. */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, link, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ExpectedError, hasCode, isSystemError, messageOf } from '../../base/errors.js'

/** Why a new file cannot be created at `path`; null if it can, as far as the modes of its directory say. */
export const whyNotCreatable = async (path: string): Promise<string | null> => {
  try {
    await access(dirname(path), constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

/** Throws before the first question the errors that writing the file would throw after the last one. */
export const requirePlace = async (path: string, mayReplace: boolean): Promise<void> => {
  const stats = await stat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null
    throw settingsFileUnwritable(path, error)
  })
  if (stats !== null && !stats.isDirectory() && !mayReplace)
    throw new ExpectedError(
      'settings_file_exists',
      `${path} exists; give --force to replace it, or --out for another file`,
    )
  const problem = stats?.isDirectory() ? REASONS.EISDIR : await whyNotCreatable(path)
  if (problem) throw settingsFileUnwritable(path, new Error(problem))
}

export const writeNewFile = async (
  path: string,
  text: string,
  { mode, mayReplace }: { readonly mode: number; readonly mayReplace: boolean },
): Promise<void> => {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  try {
    await writeFile(temporary, text, { mode, flag: 'wx', flush: true })
    // A rename would replace a file that appeared in the meantime. But some file systems have no hard links.
    const isLinked = !mayReplace && (await link(temporary, path).then(() => true, unlessExists))
    if (!isLinked) await rename(temporary, path)
  } catch (error) {
    throw settingsFileUnwritable(path, error)
  } finally {
    await rm(temporary, { force: true })
  }
}

const unlessExists = (error: unknown): false => {
  if (hasCode(error, 'EEXIST')) throw error
  return false
}

/** The settings file or the token file cannot be written. Exit 2. */
const settingsFileUnwritable = (path: string, error: unknown): ExpectedError =>
  new ExpectedError('settings_file_unwritable', `${path} cannot be written: ${reasonOf(error)}`, {
    cause: error,
  })

const reasonOf = (error: unknown): string =>
  isSystemError(error) ? (REASONS[error.code] ?? error.code) : messageOf(error)

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'its directory does not exist',
  EISDIR: 'it is a directory; give a file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EEXIST: 'it exists already',
}
