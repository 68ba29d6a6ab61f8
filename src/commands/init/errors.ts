/** Errors of `init`. */
import { ExpectedError, isSystemError, messageOf } from '../../base/errors.js'

/** The settings file exists, and `--force` is not given. Exit 2. */
export const settingsFileExists = (path: string): ExpectedError =>
  new ExpectedError(
    'settings_file_exists',
    `${path} exists; give --force to replace it, or --out for another file`,
  )

/** The settings file or the token file cannot be written. Exit 2. */
export const settingsFileUnwritable = (path: string, error: unknown): ExpectedError =>
  new ExpectedError('settings_file_unwritable', `${path} cannot be written: ${reasonOf(error)}`, {
    cause: error,
  })

export const reasonOf = (error: unknown): string =>
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
