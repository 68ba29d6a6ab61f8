/**
 * Decides whether a settings file that nobody named may be used. The author of the file chooses where the token, the credentials of the
 * bucket and the files named in it are sent. So only this user or root may own the file, its directory and the target of a link, and nobody
 * else may write them.
 */
import { access, constants, lstat, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from '../base/errors.js'
import { whyUnreadable } from '../base/text-file.js'
import { bad, good, type Read } from './readers.js'

const ADVICE = 'so it may send your token elsewhere. If you trust it, name it by --config'
const OTHERS_WRITE = 0o022

/** The path of the file itself, without links. Only this path was checked, so only this path may be read. */
export const readTrusted = async (path: string): Promise<Read<string>> => {
  try {
    const file = await realpath(path)
    for (const place of new Set([path, dirname(path), file, dirname(file)])) {
      const reason = await whyNotTrusted(place)
      if (reason === null) continue
      const where = place === path || place === file ? '' : 'is in a directory that '
      return bad(`${where}${reason}, ${ADVICE}`)
    }
    return good(file)
  } catch (error) {
    return bad(`${whyUnreadable(error)}; name another one by --config`)
  }
}

/** Null if the file can be trusted, or if files have no owner, as on Windows. */
const whyNotTrusted = async (place: string): Promise<string | null> => {
  const user = process.geteuid?.()
  if (user === undefined) return null
  const stats = await lstat(place)
  if (stats.uid !== user && stats.uid !== 0) return `belongs to another user (uid ${stats.uid})`
  // The mode of a link says nothing.
  const isOpen = !stats.isSymbolicLink() && (stats.mode & OTHERS_WRITE) !== 0
  if (!isOpen || (await isReadOnly(place))) return null
  return `can be written by others (mode ${(stats.mode & 0o7777).toString(8)})`
}

/** A ConfigMap of Kubernetes has mode 777, but is mounted read-only. */
const isReadOnly = (place: string): Promise<boolean> =>
  access(place, constants.W_OK).then(
    () => false,
    (error: unknown) => hasCode(error, 'EROFS'),
  )
