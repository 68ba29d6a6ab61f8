/**
 * Derives the keys of the settings file from the properties of the schema. A key is the property in snake_case, without the unit
 * of a duration, because the value in the file has the unit: `settleForMs` is `settle_for: 1d`.
 */
import { z } from 'zod'
import { settingsSchema } from './schema.js'
import { isList, isSection, type Path, type Tree } from './tree.js'

export interface SettingKey {
  /** `refresh.settle_for`, or `accounts[].name` for a key of the items of a list. */
  readonly path: string
  readonly valueType: string
  /** The default as the file would write it; null without a default. */
  readonly defaultText: string | null
  readonly meaning: string
}

/** Keys that do not follow from their property. */
const EXCEPTIONS: Readonly<Record<string, string>> = { attemptsMax: 'attempts' }

const keyOf = (property: string): string =>
  EXCEPTIONS[property] ??
  property.replace(/Ms$/, '').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Turns a path of the schema into a path of the file. */
export const filePath = (path: readonly PropertyKey[]): Path =>
  path.map((step) => (typeof step === 'number' ? step : keyOf(String(step))))

/** A node of the settings: a section, a list of sections, or a setting. */
export interface KeyNode {
  readonly property: string
  /** Its keys, or the keys of the items of a list. */
  readonly children: ReadonlyMap<string, KeyNode>
  readonly isList: boolean
  /** Every setting of the file at or below this node; empty if only environment and flags can give it. */
  readonly settings: readonly SettingKey[]
}

const described = z.object({
  valueType: z.string(),
  description: z.string(),
  default: z.unknown().optional(),
})
const withProperties = z.object({ properties: z.record(z.string(), z.unknown()) })
const withItems = z.object({ items: z.unknown() })

const nodeOf = (property: string, schema: unknown, path: string): KeyNode => {
  const leaf = described.safeParse(schema)
  if (leaf.success) {
    const { valueType, description: meaning, default: value } = leaf.data
    const defaultText = value === undefined ? null : yamlText(value)
    return { ...BARE, property, settings: [{ path, valueType, defaultText, meaning }] }
  }
  const list = withItems.safeParse(schema)
  if (list.success) return { ...nodeOf(property, list.data.items, `${path}[]`), isList: true }
  const { data } = withProperties.safeParse(schema)
  const children = Object.entries(data?.properties ?? {}).map(([name, child]): [string, KeyNode] => {
    const key = keyOf(name)
    return [key, nodeOf(name, child, path === '' ? key : `${path}.${key}`)]
  })
  const settings = children.flatMap(([, child]) => child.settings)
  return { ...BARE, property, children: new Map(children), settings }
}

const BARE = { children: new Map<string, KeyNode>(), isList: false }

const yamlText = (value: unknown): string => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value))

const SETTINGS: KeyNode = nodeOf(
  '',
  z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }),
  '',
)

/** Every key of the settings file, in the order of the schema. */
export const settingKeys = (): readonly SettingKey[] => SETTINGS.settings

/** The tree with every key replaced by `rename`, or removed if that returns null. `node` is undefined for an unknown key. */
export const renameKeys = (
  tree: Tree,
  rename: (key: string, node: KeyNode | undefined, section: KeyNode, path: Path) => string | null,
): Tree => {
  const walk = (part: Tree, node: KeyNode, path: Path): Tree => {
    if (isList(part) && node.isList)
      return part.map((item, index) => walk(item, { ...node, isList: false }, [...path, index]))
    if (!isSection(part) || node.isList || node.children.size === 0) return part
    return Object.fromEntries(
      Object.entries(part).flatMap(([key, value]) => {
        const child = node.children.get(key)
        const name = rename(key, child, node, path)
        return name === null ? [] : [[name, child === undefined ? value : walk(value, child, [...path, key])]]
      }),
    )
  }
  return walk(tree, SETTINGS, [])
}

/** The tree with properties of the schema as keys, without unknown keys. */
export const inProperties = (tree: Tree): Tree => renameKeys(tree, (_, node) => node?.property ?? null)
