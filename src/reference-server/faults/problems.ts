/** What is wrong with declared faults, a line each: `faults[2].action.delay_ms is "soon": give milliseconds, …`. */
import type { z } from 'zod'
import { nearest } from '../../base/suggest.js'
import { ACTION_KEYS, FAULT_KEYS, MATCH_KEYS } from './declaration.js'

/** More lines than that nobody reads. */
const LINES_MAX = 50
const QUOTED_CHARACTERS_MAX = 100

/** One line or more for each of `issues`, which are about `given`; of very many, the first. */
export const problemLines = (issues: readonly z.core.$ZodIssue[], given: unknown): string[] => {
  // One value may break several rules, and what to give is the same.
  const lines = [...new Set(allLines(issues, given))]
  if (lines.length <= LINES_MAX) return lines
  return [...lines.slice(0, LINES_MAX), `${lines.length - LINES_MAX} more like these.`]
}

const allLines = (issues: readonly z.core.$ZodIssue[], given: unknown): string[] => {
  const misspelt = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? meantBy(issue) : []))
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(issue.path, key))
    // What a misspelt key leaves out is not missing.
    if (misspelt.includes(pathText(issue.path))) return []
    const value = issue.path.reduce(memberOf, given)
    const what = value === undefined ? 'missing' : quoted(value)
    return [`${pathText(issue.path)} is ${what}: ${issue.message}.`]
  })
}

type Path = readonly PropertyKey[]

/** Where nothing is to be said to be missing: beside the misspelt keys, and what they stand for. */
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

/** `faults[2].action.headers["x y"]` */
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

/** Short enough for a line. What cannot be written as JSON, because it contains itself, is told as what it is. */
const quoted = (value: unknown): string => {
  const text = writable(value)
  return text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text
}

const writable = (value: unknown): string => {
  if (typeof value === 'number') return String(value)
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
