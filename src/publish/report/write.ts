/** Writes a report in one step: readers see the previous one or the new one. */
import { writeFile } from 'node:fs/promises'
import type { FileSystemLacks } from '../file-system-lacks.js'
import { replaceFile, sweepTemporaries, syncToDisk, temporaryBeside } from '../replace-file.js'

/** Throws the errors of the file system. Then the previous report is unchanged, unless it is an `UnsyncedError`, and nothing is left behind. */
export const writeReport = async (file: string, html: string, lacks?: FileSystemLacks): Promise<void> => {
  const temporary = temporaryBeside(file)
  try {
    await writeFile(temporary, html)
    await syncToDisk(temporary)
    await replaceFile(temporary, file, lacks)
  } catch (error) {
    await sweepTemporaries(file).catch(() => undefined)
    throw error
  }
}
