/**
 * Creates directories. Node's own `mkdir` with `recursive` never ends in a file system that answers ENOENT although the
 * parent is there, as `/proc` does, and no signal reaches it.
 */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from './errors.js'

/** Creates `path` and what is missing above it. Throws what the system says, after two tries for each part of the path. */
export const makeDirectory = async (path: string): Promise<void> => {
  try {
    await makeOne(path)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, 'ENOENT') || parent === path) throw error
    // Another process may have made the parent since.
    if (!(await isDirectory(parent))) await makeDirectory(parent)
    await makeOne(path)
  }
}

/** Creates a directory, or finds that it is there. */
const makeOne = (path: string): Promise<void> =>
  mkdir(path).catch(async (error: unknown) => {
    if (!hasCode(error, 'EEXIST') || !(await isDirectory(path))) throw error
  })

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
