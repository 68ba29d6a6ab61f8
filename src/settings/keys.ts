/** The keys of the settings file, as the schema declares them, and a file that is written from them. */
import { stringify } from 'yaml'
import { z } from 'zod'
import { settingsSchema } from './schema.js'
import { isList, isSection, type Path, type Tree } from './tree.js'

interface SettingKey {
  /** `refresh.settle_for`, or `accounts[].name` for a key of the items of a list. */
  readonly path: string
  readonly valueType: string
  /** The default as the file would write it; null without a default. */
  readonly defaultText: string | null
  readonly meaning: string
}

/** A node of the settings: a section, a list of sections, or a setting. */
export interface KeyNode {
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

const nodeOf = (schema: unknown, path: string): KeyNode => {
  const leaf = described.safeParse(schema)
  if (leaf.success) {
    const { valueType, description: meaning, default: value } = leaf.data
    const defaultText = value === undefined ? null : yamlText(value)
    return { ...BARE, settings: [{ path, valueType, defaultText, meaning }] }
  }
  const list = withItems.safeParse(schema)
  if (list.success) return { ...nodeOf(list.data.items, `${path}[]`), isList: true }
  const { data } = withProperties.safeParse(schema)
  const children = Object.entries(data?.properties ?? {}).map(([key, child]): [string, KeyNode] => [
    key,
    nodeOf(child, path === '' ? key : `${path}.${key}`),
  ])
  const settings = children.flatMap(([, child]) => child.settings)
  return { ...BARE, children: new Map(children), settings }
}

const BARE = { children: new Map<string, KeyNode>(), isList: false }

const yamlText = (value: unknown): string => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value))

const SETTINGS: KeyNode = nodeOf(z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }), '')

/** Every key of the settings file, in the order of the schema. */
export const settingKeys = (): readonly SettingKey[] => SETTINGS.settings

/** The tree without unknown keys, each of which `onUnknown` gets with its section. */
export const withKnownKeys = (
  tree: Tree,
  onUnknown: (key: string, section: KeyNode, path: Path) => void,
): Tree => {
  const walk = (part: Tree, node: KeyNode, path: Path): Tree => {
    if (isList(part) && node.isList)
      return part.map((item, index) => walk(item, { ...node, isList: false }, [...path, index]))
    if (!isSection(part) || node.isList || node.children.size === 0) return part
    return Object.fromEntries(
      Object.entries(part).flatMap(([key, value]) => {
        const child = node.children.get(key)
        if (child !== undefined && child.settings.length > 0)
          return [[key, walk(value, child, [...path, key])]]
        onUnknown(key, node, path)
        return []
      }),
    )
  }
  return walk(tree, SETTINGS, [])
}

const HEAD = `Settings of fieldwork-sync. A line such as "#overlap: 5m" shows a setting with its default: remove the # to change it. The environment overrides this file, and flags override both.
\${NAME} is the environment variable NAME; $\${ is a plain \${. Durations have a unit: 250ms, 30s, 5m, 2h, 7d.`

const COLUMNS_MAX = 110

/**
 * A settings file: the given values, and every other key as a comment (`#overlap: 5m`) with its default.
 * `given` has values by the path of their key, such as `accounts[].base_url`. It has the first key of each item of a list.
 */
export const settingsText = (given: ReadonlyMap<string, string | number>): string => {
  const lines = HEAD.split('\n').flatMap((text) => comment(text, 0))
  let previous: readonly string[] = []
  for (const { path, valueType, defaultText, meaning } of settingKeys()) {
    const steps = path.split('.')
    const sections = steps.slice(0, -1)
    const depth = sections.findIndex((section, index) => section !== previous[index])
    if (steps[0] !== previous[0]) lines.push('')
    if (depth !== -1) lines.push(...headings(sections, depth))
    const isFirstOfItem = depth !== -1 && sections.at(-1)?.endsWith('[]') === true
    const indent = indentOf(sections)
    const margin = isFirstOfItem ? `${blanks(indent - 2)}- ` : blanks(indent)
    const value = given.get(path)
    const key = steps.at(-1) ?? ''
    lines.push(
      ...comment(meaning, indent),
      value === undefined
        ? `${blanks(indent)}#${key}: ${defaultText ?? `<${valueType}>`}`
        : `${margin}${key}: ${scalar(value)}`,
    )
    previous = steps
  }
  return `${lines.join('\n')}\n`
}

/** The lines that open the sections from `depth` on. A section without a given key counts as absent. */
const headings = (sections: readonly string[], depth: number): readonly string[] =>
  sections
    .slice(depth)
    .map(
      (section, index) =>
        `${blanks(indentOf(sections.slice(0, depth + index)))}${section.replace('[]', '')}:`,
    )

const blanks = (count: number): string => ' '.repeat(count)

/** Keys of a section are indented by two columns, those of the items of a list by four. */
const indentOf = (sections: readonly string[]): number =>
  sections.reduce((indent, section) => indent + (section.endsWith('[]') ? 4 : 2), 0)

const comment = (text: string, indent: number): readonly string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && `${last} ${word}`.length <= COLUMNS_MAX)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`${blanks(indent)}# ${word}`)
  }
  return lines
}

/** On one line, quoted where YAML needs it. A plain `${` is not a variable of the environment. */
const scalar = (value: string | number): string =>
  stringify(typeof value === 'number' ? value : value.replaceAll('${', () => '$${'), {
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  }).trimEnd()
