/** Reads the settings file and token files: small text files. A missing file is a problem of the settings. */
import { readFileSync } from 'node:fs'
import { whyUnreadable } from '../base/unreadable-file.js'
import { bad, good, type Read } from './readers.js'

/** Reads a whole file of UTF-8 text without its byte order mark, or throws an error with Node's `code`. */
export type ReadFile = (path: string) => string

export const readFileAsText: ReadFile = (path) =>
  new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))

const CHARACTERS_MAX = 1_048_576

/** The text of the file, or why it cannot be read. Messages put the reason after the name of the file. */
export const readText = (readFile: ReadFile, path: string): Read<string> => {
  try {
    const text = readFile(path)
    return text.length <= CHARACTERS_MAX ? good(text) : bad('is larger than 1 MiB; is it the right file?')
  } catch (error) {
    return bad(whyUnreadable(error))
  }
}
