/** Keys of the settings file that are no settings, each with the one that was probably meant. */
import { nearest } from '../base/suggest.js'
import { type KeyNode, SETTINGS, settingKeys } from './keys.js'
import type { Problem } from './problems.js'
import { isList, isSection, type Path, pathText, type Tree } from './tree.js'

/** The tree without unknown keys, and a problem for each. `where` is `file:line` of a path. */
export const withoutUnknownKeys = (
  tree: Tree,
  where: (path: Path) => string,
): { readonly tree: Tree; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = []
  const walk = (part: Tree, node: KeyNode, path: Path): Tree => {
    if (isList(part) && node.isList)
      return part.map((item, index) => walk(item, { ...node, isList: false }, [...path, index]))
    if (!isSection(part) || node.isList || node.children.size === 0) return part
    return Object.fromEntries(
      Object.entries(part).flatMap(([key, value]) => {
        const child = node.children.get(key)
        const at = [...path, key]
        if (child !== undefined && child.settings.length > 0) return [[key, walk(value, child, at)]]
        problems.push({ where: where(at), ...describe(key, node, path) })
        return []
      }),
    )
  }
  return { tree: walk(tree, SETTINGS, []), problems }
}

/** `{token:abc}` is a key in YAML, and what is printed of a key must not be a token. */
const PRINTABLE_KEY = /^[A-Za-z_-]{1,40}$/

/** Suggests the nearest key beside it, else a key of that very name elsewhere. */
const describe = (key: string, { children }: KeyNode, parent: Path): Pick<Problem, 'text' | 'path'> => {
  if (!PRINTABLE_KEY.test(key)) {
    const section = parent.length === 0 ? 'the file' : pathText(parent)
    return { text: `${section} has a key here that is not a setting; is there a blank behind its colon?` }
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
