/**
 * The settings file, from text to values. One wrong key must not hide the next: what is wrong is noted and taken
 * out, and the rest is read again with its defaults, so that later checks see all that can be seen.
 */
import type { z } from 'zod'
import { nearest } from '../base/suggest.js'
import { type FileSettings, fileSchema } from './file-schema.js'
import type { Environment } from './interpolate.js'
import { type Outcome, type Problem, quoted } from './problems.js'
import { settingKeys } from './reference.js'
import { type Path, pathText, readYaml, type Tree, type YamlProblem, type YamlTree } from './yaml-tree.js'

export interface SettingsFile {
  readonly settings: FileSettings
  /** Whether the value at `path` is there but wrong or misspelt, so that nobody complains that it is missing. */
  isBroken(path: Path): boolean
  /** `file:line` of `path`. */
  where(path: Path): string
}

export interface SettingsFileRequest {
  readonly text: string
  /** As problems should call it. */
  readonly name: string
  readonly env: Environment
  /** When not, accounts are neither checked nor returned. */
  readonly withAccounts: boolean
}

/** What a command runs on that was given no settings file. */
export const absentSettingsFile = (): SettingsFile => ({
  settings: fileSchema.parse({}),
  isBroken: () => false,
  where: pathText,
})

export const readSettingsFile = (request: SettingsFileRequest): Outcome<SettingsFile> => {
  const yaml = readYaml(request.text, request.env)
  const tree = withoutWhatIsOff(yaml.tree ?? {})
  const first = fileSchema.safeParse(tree)
  const issues = first.success ? [] : first.error.issues
  const problems = [...yaml.problems, ...issues.flatMap((issue) => describe(issue, yaml))].filter(
    ({ path }) => request.withAccounts || path[0] !== 'accounts',
  )
  const salvaged = first.success ? first.data : fileSchema.parse(issues.reduce(without, tree))
  const broken = new Set(problems.map(({ path }) => pathText(path)))
  const where = (line: number): string => `${request.name}:${line}`
  return {
    values: {
      settings: request.withAccounts ? salvaged : { ...salvaged, accounts: [] },
      isBroken: (path) =>
        path.some((_, index) => broken.has(pathText(path.slice(0, index + 1)))) || broken.has(''),
      where: (path) => where(yaml.lineOf(path)),
    },
    problems: problems.map(({ line, text }): Problem => ({ where: where(line), text })),
  }
}

type Issue = z.core.$ZodIssue

const stepsOf = (issue: Issue): Path =>
  issue.path.map((step) => (typeof step === 'number' ? step : String(step)))

const describe = (issue: Issue, yaml: YamlTree): readonly YamlProblem[] => {
  const path = stepsOf(issue)
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key, yaml))
  if (path.length === 0) return [{ line: 1, path, text: `the file ${issue.message}` }]
  const value = valueAt(yaml.tree, path)
  const mayQuote = path[0] !== 'accounts' && !yaml.isFromEnvironment(path) && issue.code === 'custom'
  const text = mayQuote ? `${issue.message}, not ${quoted(value)}` : issue.message
  return [{ line: yaml.lineOf(path), path, text: `${pathText(path)} ${text}` }]
}

/** `{token:abc}` is a key in YAML, and what is printed of a key must not be a token. */
const PRINTABLE_KEY = /^[A-Za-z_-]{1,40}$/

/** Suggests the nearest key beside it, else a key of that very name elsewhere. */
const unknownKey = (parent: Path, key: string, yaml: YamlTree): YamlProblem => {
  const path = [...parent, key]
  const line = yaml.lineOf(path)
  if (!PRINTABLE_KEY.test(key)) {
    const where = parent.length === 0 ? 'the file' : pathText(parent)
    return {
      line,
      path,
      text: `${where} has a key here that is not a setting; is there a blank behind its colon?`,
    }
  }
  const known = settingKeys().map((setting) => setting.path)
  const prefix = parent.length === 0 ? '' : `${pathText(parent).replaceAll(/\[\d+\]/g, '[]')}.`
  const siblings = known
    .filter((setting) => setting.startsWith(prefix))
    .map((setting) => setting.slice(prefix.length).split(/[.[]/)[0] ?? '')
  const sibling = nearest(key, [...new Set(siblings)])
  const elsewhere = known.find((setting) => setting.split('.').at(-1) === key)
  const meant = sibling === null ? elsewhere : pathText([...parent, sibling])
  const advice = meant === undefined ? 'remove it' : `did you mean ${meant}?`
  return {
    line,
    path: sibling === null ? path : [...parent, sibling],
    text: `${pathText(path)} is not a setting; ${advice}`,
  }
}

const valueAt = (tree: Tree, path: Path): Tree =>
  path.reduce<Tree>((node, step) => {
    if (isList(node)) return typeof step === 'number' ? node[step] : undefined
    return isSection(node) && typeof step === 'string' ? node[step] : undefined
  }, tree)

/** Sections that are off when they are left out, and may say so. */
const MAY_BE_FALSE: readonly Path[] = [['refresh', 'daily_windows']]

const withoutWhatIsOff = (tree: Tree): Tree =>
  MAY_BE_FALSE.reduce((rest, path) => (valueAt(rest, path) === false ? cut(rest, path) : rest), tree)

/** The tree without what an issue is about. */
const without = (tree: Tree, issue: Issue): Tree => {
  const path = stepsOf(issue)
  if (issue.code !== 'unrecognized_keys') return cut(tree, path)
  return issue.keys.reduce((rest, key) => cut(rest, [...path, key]), tree)
}

const cut = (tree: Tree, path: Path): Tree => {
  const [step, ...rest] = path
  if (step === undefined) return {}
  if (isList(tree)) return tree.map((item, index) => (index === step ? cut(item, rest) : item))
  if (!isSection(tree)) return tree
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]) => {
      if (key !== step) return [[key, value]]
      return rest.length === 0 ? [] : [[key, cut(value, rest)]]
    }),
  )
}

const isList = (tree: Tree): tree is readonly Tree[] => Array.isArray(tree)
const isSection = (tree: Tree): tree is { readonly [key: string]: Tree } =>
  typeof tree === 'object' && !isList(tree)
