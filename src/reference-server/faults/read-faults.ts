/** Reads faults. The error has a line for each mistake: `faults[2].action.delay_ms is "soon": give milliseconds, …`. */
import { LineCounter, parseDocument } from 'yaml'
import type { z } from 'zod'
import { ExpectedError, isStop, messageOf } from '../../base/errors.js'
import { quoted } from '../../base/human.js'
import { nearest } from '../../base/suggest.js'
import { readTextFile, whyUnreadable } from '../../base/text-file.js'
import {
  ACTION_KEYS,
  FAULT_KEYS,
  type Fault,
  faultsSchema,
  type HasSurvey,
  MATCH_KEYS,
} from './declaration.js'

/** Faults that cannot be used: an unreadable file, or wrong declarations. 400 over HTTP. */
export class FaultsError extends ExpectedError {
  constructor(lines: readonly string[]) {
    super('reference_server_faults', lines.join('\n'))
  }
}

/** Enough aliases for every fault, but not for a file that multiplies its size by aliases. */
const ALIASES_MAX = 10_000
const LINES_MAX = 50
const QUOTED_CHARACTERS_MAX = 100

/** The value that the file holds. Throws a `FaultsError` that names the file, or the reason of the signal. */
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

/** The faults that `declaration` declares. Throws a `FaultsError` whose lines all begin with `where`. */
export const readFaults = (declaration: unknown, hasSurvey: HasSurvey, where: string): readonly Fault[] => {
  const result = faultsSchema(hasSurvey).safeParse(declaration)
  if (result.success) return result.data
  throw new FaultsError(problemLines(result.error.issues, declaration).map((line) => `${where}${line}`))
}

/** The lines for `issues`, which are about `declaration`; at most `LINES_MAX`, and how many more there are. */
const problemLines = (issues: readonly z.core.$ZodIssue[], declaration: unknown): string[] => {
  // A value that breaks several rules has the same line for each.
  const lines = [...new Set(allLines(issues, declaration))]
  if (lines.length <= LINES_MAX) return lines
  return [...lines.slice(0, LINES_MAX), `${lines.length - LINES_MAX} more like these.`]
}

const allLines = (issues: readonly z.core.$ZodIssue[], declaration: unknown): string[] => {
  const misspelt = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? meantBy(issue) : []))
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(issue.path, key))
    // A key that is only misspelt is not also reported as missing.
    if (misspelt.includes(pathText(issue.path))) return []
    const value = issue.path.reduce(memberOf, declaration)
    const what = value === undefined ? 'missing' : quoted(value, QUOTED_CHARACTERS_MAX)
    return [`${pathText(issue.path)} is ${what}: ${issue.message}.`]
  })
}

type Path = readonly PropertyKey[]

/** The paths that are not reported as missing: the object with the misspelt keys, and the correct keys in it. */
const meantBy = ({ path, keys }: z.core.$ZodIssueUnrecognizedKeys): readonly string[] => [
  pathText(path),
  ...keys.flatMap((key) => {
    const meant = nearest(key, keysOf(path))
    return meant === null ? [] : pathText([...path, meant])
  }),
]

const unknownKey = (parent: Path, key: string): string => {
  const known = keysOf(parent)
  const meant = nearest(key, known)
  const advice = meant === null ? `the keys here are ${known.join(', ')}.` : `did you mean ${meant}?`
  return `${pathText([...parent, key])} is not known: ${advice}`
}

const keysOf = (parent: Path): readonly string[] => {
  if (parent.at(-1) === 'match') return MATCH_KEYS
  return parent.at(-1) === 'action' ? ACTION_KEYS : FAULT_KEYS
}

const pathText = (path: Path): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    const name = String(step)
    return /^\w+$/.test(name) ? `${text}.${name}` : `${text}[${JSON.stringify(name)}]`
  }, 'faults')

const memberOf = (value: unknown, step: PropertyKey): unknown =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === String(step))?.[1]
    : undefined
