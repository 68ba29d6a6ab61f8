/** Finds keys of the settings file that are not settings, and suggests the key that was probably meant. */
import { nearest } from '../base/suggest.js'
import { type KeyNode, renameKeys, settingKeys } from './keys.js'
import type { Problem } from './problems.js'
import { type Path, pathText, type Tree } from './tree.js'

/** The tree without unknown keys, and a problem for each of them. `where` returns `file:line` of a path. */
export const withoutUnknownKeys = (
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
