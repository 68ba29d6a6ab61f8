/** Writes the files of `init`: each is complete under its name, or not there. */
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

/** Throws before the first question what would throw after the last one. */
export const requirePlace = async (path: string, mayReplace: boolean): Promise<void> => {
  const found = await stat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null
    throw settingsFileUnwritable(path, error)
  })
  if (found?.isDirectory() === true)
    throw settingsFileUnwritable(path, new Error('it is a directory; give a file'))
  if (found !== null && !mayReplace) throw settingsFileExists(path)
  const problem = await whyNotCreatable(path)
  if (problem !== null) throw settingsFileUnwritable(path, new Error(problem))
}

interface NewFile {
  readonly path: string
  readonly text: string
  readonly mode: number
  readonly mayReplace: boolean
}

export const writeNewFile = async (file: NewFile): Promise<void> => {
  const { path, text, mode } = file
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  try {
    await writeFile(temporary, text, { mode, flag: 'wx', flush: true })
    await putInPlace(temporary, file)
  } catch (error) {
    throw settingsFileUnwritable(path, error)
  } finally {
    await rm(temporary, { force: true })
  }
}

const putInPlace = async (temporary: string, { path, mayReplace }: NewFile): Promise<void> => {
  if (!mayReplace)
    try {
      // A rename would replace a file that appeared in the meantime.
      await link(temporary, path)
      return
    } catch (error) {
      if (hasCode(error, 'EEXIST')) throw error
      // Some file systems have no hard links.
    }
  await rename(temporary, path)
}

/** The settings file exists, and `--force` is not given. Exit 2. */
const settingsFileExists = (path: string): ExpectedError =>
  new ExpectedError(
    'settings_file_exists',
    `${path} exists; give --force to replace it, or --out for another file`,
  )

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
