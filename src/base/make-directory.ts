/**
 * Creates directories. Some file systems, such as `/proc`, answer ENOENT although the parent exists. Node's own `mkdir` with
 * `recursive` then never returns, and no signal can stop it.
 */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from './errors.js'

/** Creates `path` and its missing parents. Throws the system's error after two attempts for each part of the path. */
export const makeDirectory = async (path: string): Promise<void> => {
  try {
    await makeOne(path)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, 'ENOENT') || parent === path) throw error
    // Another process may have created the parent in the meantime.
    if (!(await isDirectory(parent))) await makeDirectory(parent)
    await makeOne(path)
  }
}

const makeOne = (path: string): Promise<void> =>
  mkdir(path).catch(async (error: unknown) => {
    if (!hasCode(error, 'EEXIST') || !(await isDirectory(path))) throw error
  })

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
