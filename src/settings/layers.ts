/**
 * Merges the values of environment and command line into the settings file, and parses the result. Each value keeps its origin.
 * Wrong values of the file were reported and removed before. A variable is checked even if a flag overrides it.
 */
import { type Given, TOKEN_KEYS } from './command-source.js'
import type { Problem } from './problems.js'
import type { SettingsValues } from './schema.js'
import type { SettingsFile } from './settings-file.js'
import { checkTree, type Origin, type OriginOf } from './source.js'
import { cut, type Path, pathText, put } from './tree.js'

export interface Layers {
  readonly values: SettingsValues
  readonly problems: readonly Problem[]
  readonly originOf: OriginOf
  /** Whether the value at `path` was given, but wrong or misspelt, so that it must not be reported as missing. */
  isBroken(path: Path): boolean
}

/** `account` is the index of the account that the account settings in `given` describe; null if they describe none. */
export const layered = (
  file: SettingsFile,
  given: readonly Given[],
  account: number | null,
  directory: string,
): Layers => {
  const placed = given.flatMap((one) => {
    if (!one.ofAccount) return [one]
    return account === null ? [] : [{ ...one, path: ['accounts', account, ...one.path] }]
  })
  const originAt = (where: string): Origin => ({ where, name: '', isQuotable: true, directory })
  const byPath = new Map(placed.map((one) => [pathText(one.path), one]))
  const originOf: OriginOf = (path) => {
    const one = byPath.get(pathText(path))
    return one === undefined ? file.originOf(path) : originAt(one.where)
  }
  const below = placed.some(({ path }) => isTokenPath(path))
    ? TOKEN_KEYS.reduce((tree, key) => cut(tree, ['accounts', account ?? 0, key]), file.tree)
    : file.tree
  const checked = checkTree(
    placed.reduce((tree, { path, value, isEmpty }) => put(tree, path, isEmpty ? undefined : value), below),
    originOf,
  )
  const replaced = placed.filter((one) => byPath.get(pathText(one.path)) !== one && !one.isEmpty)
  const problems = [
    ...file.problems,
    ...placed
      .filter(({ isEmpty }) => isEmpty)
      .map(({ path, where }) => ({ where, path, text: 'is set but empty; give it a value or unset it' })),
    ...replaced.flatMap(
      ({ path, value, where }) => checkTree(put({}, path, value), () => originAt(where)).problems,
    ),
    ...checked.problems,
  ]
  const broken = new Set(problems.flatMap(({ path }) => (path === undefined ? [] : [pathText(path)])))
  return {
    values: checked.values,
    problems,
    originOf,
    isBroken: (path) =>
      broken.has('') || path.some((_, index) => broken.has(pathText(path.slice(0, index + 1)))),
  }
}

const isTokenPath = (path: Path): boolean => TOKEN_KEYS.includes(String(path.at(-1)))
