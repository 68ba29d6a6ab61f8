/** Reads a file of faults, YAML or JSON (which is YAML too). Its content is checked elsewhere. */
import { LineCounter, parseDocument } from 'yaml'
import { isStop, messageOf } from '../../base/errors.js'
import { readTextFile, whyUnreadable } from '../../base/text-file.js'
import { FaultsError } from '../errors.js'

/** Enough aliases for every fault, but not for a file that multiplies itself by them. */
const ALIASES_MAX = 10_000

/** The value that the file holds. Throws a `FaultsError` that names it, or the reason of the signal. */
export const readFaultsFile = async (path: string, signal: AbortSignal): Promise<unknown> => {
  const lines = new LineCounter()
  const document = parseDocument(await readText(path, signal), {
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

const readText = async (path: string, signal: AbortSignal): Promise<string> => {
  try {
    return await readTextFile(path, signal)
  } catch (error) {
    if (isStop(error)) throw error
    const why = whyUnreadable(error)
    throw new FaultsError([`${path} ${why}${why.endsWith('?') ? '' : '; give a YAML or JSON file.'}`])
  }
}
