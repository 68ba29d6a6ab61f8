/**
 * Lays the values of environment and command line over the settings file, and checks the result against the schema. Each value keeps its
 * origin. Each refused value is reported with its origin and removed, so that one wrong value does not hide the next.
 */
import type { z } from 'zod'
import { quoted } from '../base/human.js'
import { parse } from '../base/parse.js'
import { keysIn } from './keys.js'
import { type Override, TOKEN_KEYS } from './names.js'
import { kindOf, type Problem } from './problems.js'
import { type SettingsValues, settingsSchema } from './schema.js'
import { cut, type Path, pathText, put, type Tree, valueAt } from './tree.js'

export interface Layers {
  readonly values: SettingsValues
  /** All problems so far. Rules about several values add theirs. */
  readonly problems: Problem[]
  readonly originOf: OriginOf
  /** Adds a problem with the value at `path`. */
  refuse(path: Path, text: string): void
  /** Whether the value at `path` was given, but wrong or misspelt, so that it must not be reported as missing. */
  isBroken(path: Path): boolean
}

interface Origin {
  /** `file:line`, the name of an environment variable, or a flag. */
  readonly where: string
  /** The setting in the file, such as `limits.attempts`. Empty for a variable or flag. */
  readonly name: string
  /** Whether a problem may show the value. */
  readonly isQuotable: boolean
  /** The text of a value that YAML did not read as text. */
  readonly written?: string | undefined
  /** The directory that relative paths start from. */
  readonly directory: string
}

export type OriginOf = (path: Path) => Origin

/** The values of a settings file, with known keys only. The schema has not checked them yet. */
export interface SettingsFile {
  readonly tree: Tree
  /** The names as the file has them, unchecked: accounts are checked after environment and flags are laid over the file. */
  readonly accountNames: readonly string[]
  readonly problems: readonly Problem[]
  /** The names of the environment variables that its text mentions. */
  readonly variables: ReadonlySet<string>
  readonly originOf: OriginOf
}

/** The origin of a value that no file gives. */
const originAt = (where: string): Origin => ({
  where,
  name: '',
  isQuotable: true,
  // Not the absolute path of the working directory, which may be gone.
  directory: '.',
})

/** The settings of a command without a settings file. Problems name its defaults by their keys. */
export const ABSENT_FILE: SettingsFile = {
  tree: {},
  accountNames: [],
  problems: [],
  variables: new Set(),
  originOf: (path) => originAt(pathText(path)),
}

/**
 * `account` is the index of the account that the account settings in `overrides` describe; null if they describe none. A wrong value in the
 * file is reported even if a variable or flag replaces it.
 */
export const layered = (
  file: SettingsFile,
  overrides: readonly Override[],
  account: number | null,
): Layers => {
  const placed = overrides.flatMap((override) => {
    if (!override.ofAccount) return [override]
    return account === null ? [] : [{ ...override, path: ['accounts', account, ...override.path] }]
  })
  const byPath = new Map(placed.map((override) => [pathText(override.path), override]))
  const originOf: OriginOf = (path) => {
    const override = byPath.get(pathText(path))
    return override === undefined ? file.originOf(path) : originAt(override.where)
  }
  const hasToken = placed.some(({ path }) => TOKEN_KEYS.includes(String(path.at(-1))))
  const tokens = hasToken ? TOKEN_KEYS.map((key): Path => ['accounts', account ?? 0, key]) : []
  const checked = checkTree(
    placed.reduce(
      (tree, { path, value, isEmpty }) => put(tree, path, isEmpty ? undefined : value),
      tokens.reduce(cut, file.tree),
    ),
    originOf,
  )
  const problems: Problem[] = [
    ...[...file.problems, ...checkTree(file.tree, file.originOf).problems].toSorted((a, b) =>
      a.where.localeCompare(b.where, 'en', { numeric: true }),
    ),
    ...placed
      .filter(({ isEmpty }) => isEmpty)
      .map(({ path, where }) => ({ where, path, text: 'is set but empty; give it a value or unset it' })),
    ...placed
      .filter((override) => byPath.get(pathText(override.path)) !== override && !override.isEmpty)
      .flatMap(({ path, value, where }) => checkTree(put({}, path, value), () => originAt(where)).problems),
    ...checked.problems.filter(({ path = [] }) => byPath.has(pathText(path))),
  ]
  const broken = new Set(problems.flatMap(({ path }) => (path === undefined ? [] : [pathText(path)])))
  return {
    values: checked.values,
    problems,
    originOf,
    refuse: (path, text) => void problems.push(problemAt(originOf, path, text)),
    isBroken: (path) =>
      broken.has('') || path.some((_, index) => broken.has(pathText(path.slice(0, index + 1)))),
  }
}

const checkTree = (tree: Tree, originOf: OriginOf): Pick<Layers, 'values' | 'problems'> => {
  // zod compiles a schema at its first use, which takes longer than parsing a few trees.
  const parsed = settingsSchema.safeParse(tree, { jitless: true })
  if (parsed.success) return { values: parsed.data, problems: [] }
  // A value that is no whole number may also be too small.
  const issues = parsed.error.issues.filter(
    (issue, at, all) => all.findIndex(({ path }) => String(path) === String(issue.path)) === at,
  )
  // Wrong values are removed, and rules about several settings are checked on the rest, so that all problems are reported at once.
  const rest = issues.reduce((valid, issue) => cut(valid, pathOf(issue)), tree)
  return {
    values: parse(settingsSchema, rest, 'the settings without their refused values'),
    problems: issues.map((issue) => describe(issue, tree, originOf)),
  }
}

/** A problem with the value at `path`. */
export const problemAt = (originOf: OriginOf, path: Path, text: string): Problem => {
  const { where, name } = originOf(path)
  return { where, path, text: name === '' ? text : `${name} ${text}` }
}

/** Sections in which a value may be a secret in the wrong place. */
const SECRET_SECTIONS: Path = ['accounts', 'storage', 'metrics', 'notify']

const describe = (issue: z.core.$ZodIssue, tree: Tree, originOf: OriginOf): Problem => {
  const path = pathOf(issue)
  const value = valueAt(tree, path)
  const { message } = issue
  if (value === '' && message.startsWith('must')) return problemAt(originOf, path, `is empty; it ${message}`)
  const { written, isQuotable } = originOf(path)
  if (written !== undefined && isAccepted(tree, path, written))
    return problemAt(originOf, path, `must be text, but YAML reads it as ${kindOf(value)}; put it in quotes`)
  const mayQuote = !SECRET_SECTIONS.includes(path[0] ?? '') && isQuotable && keysIn(path).length === 0
  return problemAt(originOf, path, mayQuote ? `${message}, not ${quoted(value)}` : message)
}

/** The path of an issue. Keys of the schema are texts and indexes only. */
const pathOf = ({ path }: z.core.$ZodIssue): Path =>
  path.map((step) => (typeof step === 'number' ? step : String(step)))

const isAccepted = (tree: Tree, path: Path, text: string): boolean => {
  const issues = settingsSchema.safeParse(put(tree, path, text)).error?.issues ?? []
  return issues.every((issue) => pathText(pathOf(issue)) !== pathText(path))
}
