/** Reads a file of faults, YAML or JSON (which is YAML too). Its content is checked elsewhere. */
import { readFile } from 'node:fs/promises'
import { LineCounter, parseDocument } from 'yaml'
import { messageOf } from '../../base/errors.js'
import { whyUnreadable } from '../../base/unreadable-file.js'
import { FaultsError } from '../errors.js'

const BYTES_MAX = 1_048_576
/** Enough aliases for every fault, but not for a file that multiplies itself by them. */
const ALIASES_MAX = 10_000

/** The value that the file holds. Throws a `FaultsError` that names it. */
export const readFaultsFile = async (path: string): Promise<unknown> => {
  const lines = new LineCounter()
  const document = parseDocument(await readText(path), {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
  })
  const [first] = document.errors
  if (first !== undefined) {
    const { line } = lines.linePos(first.pos[0])
    throw new FaultsError([`${path}:${line} is neither YAML nor JSON: ${first.message}`])
  }
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (error) {
    throw new FaultsError([`${path} cannot be used: ${messageOf(error)}`])
  }
}

const readText = async (path: string): Promise<string> => {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new FaultsError([`${path} ${whyUnreadable(error)}; give a YAML or JSON file.`])
  })
  if (bytes.length > BYTES_MAX) {
    throw new FaultsError([`${path} is larger than 1 MiB; is it the right file?`])
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new FaultsError([`${path} is not UTF-8 text; is it the right file?`])
  }
}
