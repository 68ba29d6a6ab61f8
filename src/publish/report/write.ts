/** Writes a report in one step: readers see the previous one or the new one. */
import { writeFile } from 'node:fs/promises'
import { replaceFile, sweepTemporaries, syncToDisk, temporaryBeside } from '../replace-file.js'

/** Throws the errors of the file system. Then the previous report is unchanged, and nothing is left behind. */
export const writeReport = async (file: string, html: string): Promise<void> => {
  const temporary = temporaryBeside(file)
  try {
    await writeFile(temporary, html)
    await syncToDisk(temporary)
    await replaceFile(temporary, file)
  } catch (error) {
    await sweepTemporaries(file).catch(() => undefined)
    throw error
  }
}
