/**
 * Settings before they are typed: plain values in sections and lists, under the keys of the settings file. The values of
 * environment and flags are put into the tree of the file.
 */
export type Tree = string | number | boolean | undefined | readonly Tree[] | { readonly [key: string]: Tree }
export type Path = readonly (string | number)[]

export const isList = (tree: Tree): tree is readonly Tree[] => Array.isArray(tree)

export const isSection = (tree: Tree): tree is { readonly [key: string]: Tree } =>
  typeof tree === 'object' && !isList(tree)

/** `accounts[0].base_url` */
export const pathText = (path: Path): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('')

export const valueAt = (tree: Tree, path: Path): Tree =>
  path.reduce<Tree>((node, step) => {
    if (isList(node)) return typeof step === 'number' ? node[step] : undefined
    return isSection(node) && typeof step === 'string' ? node[step] : undefined
  }, tree)

/** The tree with `value` at `path`; `undefined` counts as absent. */
export const put = (tree: Tree, path: Path, value: Tree): Tree => {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (typeof step === 'string') {
    const section = isSection(tree) ? tree : {}
    return { ...section, [step]: put(section[step], rest, value) }
  }
  const list = isList(tree) ? tree : []
  const length = Math.max(list.length, step + 1)
  return Array.from({ length }, (_, index) =>
    index === step ? put(list[index], rest, value) : (list[index] ?? {}),
  )
}

/** The tree without the value at `path`. In a list, an empty section replaces it, so that the other items keep their index. */
export const cut = (tree: Tree, path: Path): Tree =>
  put(tree, path, typeof path.at(-1) === 'string' ? undefined : {})
