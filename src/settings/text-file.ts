/** The text of the settings file or of a file that it names, as a value of the settings. A missing file is a problem of the settings. */
import { isStop } from '../base/errors.js'
import { whyUnreadable } from '../base/text-file.js'
import { bad, good, type Read } from './readers.js'

/** `readTextFile`, or what takes its place: fails with an error that `whyUnreadable` explains. */
export type ReadFile = (path: string) => Promise<string> | string

/** The text of the file, or why it cannot be read. Messages put the reason after the name of the file. */
export const readText = async (readFile: ReadFile, path: string): Promise<Read<string>> => {
  try {
    return good(await readFile(path))
  } catch (error) {
    if (isStop(error)) throw error
    return bad(whyUnreadable(error))
  }
}
