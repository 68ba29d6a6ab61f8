/** The reason why a named file cannot be read. Messages put it after the file's name. */
import { messageOf } from './errors.js'

/** `error` comes from one of Node's file functions or from a `TextDecoder`. */
export const whyUnreadable = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
  return REASONS[code] ?? `cannot be read (${code})`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a directory, not a file',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text; is it the right file?',
}
