/** Reads the settings file into a tree of its valid values, and a problem for every other value. */
import { dirname } from 'node:path'
import { nearest } from '../base/suggest.js'
import type { Environment } from './environment.js'
import { type KeyNode, renameKeys, settingKeys } from './keys.js'
import type { Problem } from './problems.js'
import { type Checked, checkTree, type Origin, type OriginOf } from './source.js'
import { type ReadFile, readText } from './text-file.js'
import { cut, isSection, type Path, pathText, type Tree, valueAt } from './tree.js'
import { readYaml } from './yaml-tree.js'

export interface SettingsFile extends Checked {
  readonly originOf: OriginOf
}

export interface SettingsFileRequest {
  /** The name of the file in problems. */
  readonly name: string
  /** Absolute path. */
  readonly path: string
  readonly env: Environment
  /** Sections that are neither checked nor returned, such as `accounts`. */
  readonly unused: readonly string[]
  readonly readFile: ReadFile
}

/** The settings of a command without a settings file. Problems name its defaults by their keys. */
export const absentSettingsFile = (workingDirectory: string): SettingsFile => {
  const originOf = (path: Path): Origin => ({
    where: pathText(path),
    name: '',
    isQuotable: true,
    directory: workingDirectory,
  })
  return { ...checkTree({}, originOf), originOf }
}

export const openSettingsFile = async (request: SettingsFileRequest): Promise<SettingsFile> => {
  const { name, path, env, unused } = request
  const text = await readText(request.readFile, path)
  if (!text.ok) {
    const problem = `the settings file ${text.problem}; see --config and FIELDWORK_SYNC_CONFIG`
    return { ...absentSettingsFile(dirname(path)), problems: [{ where: name, path: [], text: problem }] }
  }
  const yaml = readYaml(text.value, env)
  const where = (at: Path): string => `${name}:${yaml.lineOf(at)}`
  const originOf = (at: Path): Origin => ({
    where: where(at),
    name: at.length === 0 ? 'the file' : pathText(at),
    isQuotable: !yaml.isFromEnvironment(at),
    written: yaml.writtenAt(at),
    directory: dirname(path),
  })
  const known = withoutUnknownKeys(yaml.tree ?? {}, where)
  const checked = checkTree(withoutUnused(known.tree, unused), originOf)
  const notYaml = yaml.problems.map((problem) => ({ ...problem, where: `${name}:${problem.line}` }))
  const problems: readonly Problem[] = [...notYaml, ...known.problems, ...checked.problems]
  return {
    ...checked,
    problems: problems
      .filter(({ path: at }) => !unused.includes(String(at?.[0])))
      .toSorted((a, b) => a.where.localeCompare(b.where, 'en', { numeric: true })),
    originOf,
  }
}

/** Without this section the feature is off; `daily_windows: false` means the same. */
const MAY_BE_FALSE: Path = ['refresh', 'daily_windows']

const withoutUnused = (tree: Tree, unused: readonly string[]): Tree => {
  const rest = valueAt(tree, MAY_BE_FALSE) === false ? cut(tree, MAY_BE_FALSE) : tree
  return isSection(rest) ? unused.reduce<Tree>((left, section) => cut(left, [section]), rest) : rest
}

// Finds keys of the settings file that are not settings, and suggests the key that was probably meant.

/** The tree without unknown keys, and a problem for each of them. `where` returns `file:line` of a path. */
const withoutUnknownKeys = (
  tree: Tree,
  where: (path: Path) => string,
): { readonly tree: Tree; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = []
  const known = renameKeys(tree, (key, node, section, path) => {
    if (node !== undefined && node.settings.length > 0) return key
    problems.push({ where: where([...path, key]), ...describe(key, section, path) })
    return null
  })
  return { tree: known, problems }
}

/** `{token:abc}` is a key in YAML. A printed key must not be a token. */
const PRINTABLE_KEY = /^[A-Za-z_-]{1,40}$/

/** Suggests the nearest key of the same section, otherwise a key of the same name in another section. */
const describe = (key: string, { children }: KeyNode, parent: Path): Pick<Problem, 'text' | 'path'> => {
  if (!PRINTABLE_KEY.test(key)) {
    const section = parent.length === 0 ? 'the file' : pathText(parent)
    return { text: `${section} has a key here that is not a setting; check that a space follows its colon` }
  }
  const siblings = [...children].flatMap(([name, { settings }]) => (settings.length > 0 ? [name] : []))
  const sibling = nearest(key, siblings)
  const elsewhere = settingKeys().find(({ path }) => path.split('.').at(-1) === key)
  const meant = sibling === null ? elsewhere?.path : pathText([...parent, sibling])
  const advice = meant === undefined ? 'remove it' : `did you mean ${meant}?`
  return {
    text: `${pathText([...parent, key])} is not a setting; ${advice}`,
    path: [...parent, sibling ?? key],
  }
}
