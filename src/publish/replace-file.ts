/**
 * Replacing a file that others may be reading: the new content is complete and on the disk under another name in the
 * same directory before one rename puts it in place. Who has the old file open keeps it; a kill at any point leaves
 * either the old or the new one.
 */
import { open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** A name beside `target` for what is to replace it; a publish that was killed leaves one behind. */
export const temporaryBeside = (target: string): string =>
  join(dirname(target), `.${basename(target)}.${process.pid}${TEMPORARY}`)

const TEMPORARY = '.publishing'

/** Removes what publishes that were killed left beside `target`. Only the holder of the warehouse may call it. */
export const sweepTemporaries = async (target: string): Promise<void> => {
  const directory = dirname(target)
  const left = (await readdir(directory)).filter(
    (name) => name.startsWith(`.${basename(target)}.`) && name.includes(TEMPORARY),
  )
  for (const name of left) await rm(join(directory, name), { force: true })
}

export const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Puts `temporary`, already synced, in the place of `target`, and makes the rename itself durable. A `.wal` beside the
 * target goes first: it is of someone who wrote into the old file and was killed, and DuckDB would replay it into the new.
 */
export const replaceFile = async (temporary: string, target: string): Promise<void> => {
  await rm(`${target}.wal`, { force: true })
  await rename(temporary, target)
  await syncToDisk(dirname(target))
}
