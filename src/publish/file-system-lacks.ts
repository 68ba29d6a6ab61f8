/**
 * Operations that a file system may lack, such as vfat, FUSE and network shares. A lack is not a failure: the publish goes on without the
 * operation, and one warning in a run says what follows.
 */
import { hasCode } from '../base/errors.js'
import type { Log } from '../base/log.js'

/** Each lack in the words of the warning, after "this file system has". */
const LACKS = {
  modes: 'no file modes: the published file can be opened for writing, which locks out all other readers',
  hardLinks: 'no hard links: every Parquet version is a full copy',
  symbolicLinks:
    'no symbolic links: parquet/current is a directory, and is missing for an instant while a new version replaces it',
  syncedDirectories:
    'no sync of directories: after a power failure the previous published state may be back, until the next run publishes',
} as const

type Lack = keyof typeof LACKS

export type FileSystemLacks = ReturnType<typeof createLacks>

/** Without a log a lack is not reported. */
export const createLacks = (log: Log | null) => {
  const lacking = new Set<Lack>()
  const logged = new Set<Lack>()
  return {
    /**
     * Tries an operation: false if the file system lacks it. Call it only right after a write to the same directory, so that no permission
     * is missing. A version has thousands of files, so hard links are tried only until the first lack.
     */
    attempt: async (lack: Lack, operation: () => Promise<void>): Promise<boolean> => {
      if (lack === 'hardLinks' && lacking.has(lack)) return false
      try {
        await operation()
        return true
      } catch (error) {
        if (!hasCode(error, ...LACKING)) throw error
        lacking.add(lack)
        return false
      }
    },
    /** Logs one warning about the lacks that were found since the last warning. */
    logNew: (directory: string): void => {
      const unknown = [...lacking].filter((lack) => !logged.has(lack))
      for (const lack of unknown) logged.add(lack)
      if (unknown.length > 0)
        log?.warn({ directory }, `this file system has ${unknown.map((lack) => LACKS[lack]).join('; and ')}`)
    },
  }
}

/**
 * The kernel's vfat answers EPERM, FUSE ENOSYS, network shares ENOTSUP, EOPNOTSUPP, EACCES or EINVAL, and VirtualBox EINVAL, EROFS or
 * EPROTO. EBADF and EISDIR say that a directory cannot be opened or synced like a file.
 */
const LACKING = [
  'EPERM',
  'EACCES',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EINVAL',
  'EROFS',
  'EPROTO',
  'EBADF',
  'EISDIR',
]
