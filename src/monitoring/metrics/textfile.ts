/**
 * The file of metrics that node-exporter's textfile collector reads. It is replaced by one rename, so no reader sees half of it. It
 * keeps what is still true of the file before.
 */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasCode } from '../../base/errors.js'
import { exposition, parseExposition } from './exposition.js'
import { type Sample, stillTrue } from './samples.js'

/** node-exporter runs as another user. */
const READABLE_BY_ALL = 0o644

/** Rejects with an error of the system. */
export const writeTextfile = async (file: string, samples: readonly Sample[]): Promise<void> => {
  const earlier = parseExposition(await readEarlier(file))
  const text = await exposition([...samples, ...stillTrue(earlier, samples)])
  // The collector reads no files without its ending.
  const temporary = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`)
  try {
    // A killed process with the same id may have left it. In containers ids repeat.
    await rm(temporary, { force: true })
    const handle = await open(temporary, 'wx', READABLE_BY_ALL)
    try {
      await handle.writeFile(text)
      // The umask may have taken the right to read away.
      await handle.chmod(READABLE_BY_ALL)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const readEarlier = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ''
    throw error
  }
}
