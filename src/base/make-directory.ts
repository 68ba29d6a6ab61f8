/**
 * Creates directories. Node's own `mkdir` with `recursive` never ends in a file system that answers ENOENT although the
 * parent is there, as `/proc` does, and no signal reaches it.
 */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from './errors.js'

/** Creates `path` and what is missing above it. Throws what the system says, at most once for each part of the path. */
export const makeDirectory = async (path: string): Promise<void> => {
  try {
    await mkdir(path)
  } catch (error) {
    if (hasCode(error, 'EEXIST') && (await isDirectory(path))) return
    const parent = dirname(path)
    if (!hasCode(error, 'ENOENT') || parent === path || (await isDirectory(parent))) throw error
    await makeDirectory(parent)
    await mkdir(path).catch(async (second: unknown) => {
      // Another process has just made it.
      if (!hasCode(second, 'EEXIST') || !(await isDirectory(path))) throw second
    })
  }
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
