/**
 * Makes links, or a substitute on file systems without links (vfat, exfat, many network shares). A substitute is not a failure:
 * one warning names it.
 */
import { copyFile, link, symlink } from 'node:fs/promises'
import type { Log } from '../../base/log.js'
import { isUnsupported } from '../replace-file.js'

/** The two operations that a file system may lack. */
export interface LinkOperations {
  readonly link: (existing: string, path: string) => Promise<void>
  readonly symlink: (target: string, path: string) => Promise<void>
}

export const systemLinks: LinkOperations = Object.freeze({
  link: (existing: string, path: string) => link(existing, path),
  symlink: (target: string, path: string) => symlink(target, path),
})

export interface Links {
  /** Makes a hard link to a file, or copies it. */
  linkOrCopy(existing: string, path: string): Promise<'linked' | 'copied'>
  /** Makes a symbolic link; false if the file system has none. */
  pointTo(target: string, path: string): Promise<boolean>
  /** Logs a warning if the file system lacked an operation. */
  logMissing(directory: string): void
}

export const createLinks = (operations: LinkOperations, log: Log): Links => {
  const missing = new Map<'hard' | 'symbolic', string>()
  return {
    linkOrCopy: async (existing, path) => {
      if (!missing.has('hard')) {
        try {
          await operations.link(existing, path)
          return 'linked'
        } catch (error) {
          if (!isUnsupported(error)) throw error
          missing.set('hard', 'no hard links: every Parquet version is a full copy')
        }
      }
      await copyFile(existing, path)
      return 'copied'
    },
    pointTo: async (target, path) => {
      try {
        await operations.symlink(target, path)
        return true
      } catch (error) {
        if (!isUnsupported(error)) throw error
        missing.set(
          'symbolic',
          'no symbolic links: parquet/current is a directory, and is missing for an instant while a new version replaces it',
        )
        return false
      }
    },
    logMissing: (directory) => {
      if (missing.size > 0)
        log.warn({ directory }, `this file system has ${[...missing.values()].join('; and ')}`)
    },
  }
}
