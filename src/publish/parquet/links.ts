/** Makes links, or a substitute on file systems without links (vfat, exfat, many network shares). */
import { copyFile, link, symlink } from 'node:fs/promises'
import { type FileSystemLacks, isLacking } from '../file-system-lacks.js'

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
}

export const createLinks = (operations: LinkOperations, lacks: FileSystemLacks): Links => ({
  linkOrCopy: async (existing, path) => {
    if (!lacks.has('hardLinks')) {
      try {
        await operations.link(existing, path)
        return 'linked'
      } catch (error) {
        if (!isLacking(error)) throw error
        lacks.add('hardLinks')
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
      if (!isLacking(error)) throw error
      lacks.add('symbolicLinks')
      return false
    }
  },
})
