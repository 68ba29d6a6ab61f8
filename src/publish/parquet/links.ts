/**
 * Links, where the file system has them. Some have none (vfat, exfat, many network shares); what is used instead there is
 * told in one line, and is no failure.
 */
import { copyFile, link, symlink } from 'node:fs/promises'
import type { Log } from '../../base/log.js'
import { isUnsupported } from '../replace-file.js'

/** The two operations of a file system that may be missing. */
export interface LinkOperations {
  readonly link: (existing: string, path: string) => Promise<void>
  readonly symlink: (target: string, path: string) => Promise<void>
}

export const systemLinks: LinkOperations = Object.freeze({
  link: (existing: string, path: string) => link(existing, path),
  symlink: (target: string, path: string) => symlink(target, path),
})

export interface Links {
  /** A second name for a file, or a copy of it. */
  linkOrCopy(existing: string, path: string): Promise<'linked' | 'copied'>
  /** Makes a symbolic link; false where there are none. */
  pointTo(target: string, path: string): Promise<boolean>
  /** Says what was missing, if anything was. */
  tell(directory: string): void
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
          'no symbolic links: parquet/current is a directory, and missing for an instant while a version takes its place',
        )
        return false
      }
    },
    tell: (directory) => {
      if (missing.size > 0)
        log.warn({ directory }, `this file system has ${[...missing.values()].join('; and ')}`)
    },
  }
}
