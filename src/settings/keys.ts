/** The keys of the settings file, as the schema declares them. */
import { z } from 'zod'
import { settingsSchema } from './schema.js'
import { isList, isSection, type Path, pathText, type Tree } from './tree.js'

interface SettingKey {
  /** `refresh.settle_for`, or `accounts[].name` for a key of the items of a list. */
  readonly path: string
  readonly valueType: string
  /** The default as the file would write it; null without a default. */
  readonly defaultText: string | null
  readonly meaning: string
}

type JsonSchema = z.core.JSONSchema._JSONSchema

/** The settings at or below a path of the schema. Settings without a `valueType` cannot be in the file. */
const keysBelow = (schema: JsonSchema, path: string): readonly SettingKey[] => {
  if (typeof schema === 'boolean') return []
  const { valueType, description: meaning = '', default: value, items, properties = {} } = schema
  if (typeof valueType === 'string') {
    const defaultText = Array.isArray(value) ? `[${value.join(', ')}]` : String(value)
    return [{ path, valueType, defaultText: value === undefined ? null : defaultText, meaning }]
  }
  if (items !== undefined) return [items].flat().flatMap((item) => keysBelow(item, `${path}[]`))
  return Object.entries(properties).flatMap(([key, part]) =>
    keysBelow(part, path === '' ? key : `${path}.${key}`),
  )
}

const jsonSchema = () => z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' })

let known: readonly SettingKey[] | null = null

/** Every key of the settings file, in the order of the schema. A function, because a run without a file needs no keys, and saves 11 ms. */
export const settingKeys = (): readonly SettingKey[] => {
  known ??= keysBelow(jsonSchema(), '')
  return known
}

/** The JSON schema of the settings file, by which editors complete and check it: `config/settings.schema.json`. */
export const settingsFileSchema = (): EditorSchema => {
  const { $schema, ...sections } = jsonSchema()
  return { $schema, ...forEditors(sections, '') }
}

type EditorSchema = Readonly<Record<string, unknown>>

/** Null for a part of the schema that cannot be in the file. A setting may be a variable of the environment, and a section may be empty. */
const forEditors = (schema: JsonSchema, path: string): EditorSchema | null => {
  if (typeof schema === 'boolean') return null
  const { valueType, description, default: byDefault, items, properties = {}, ...own } = schema
  if (typeof valueType === 'string') {
    const value = items === undefined ? own : { ...own, items }
    const isAnyText = own.type === 'string' && own.enum === undefined && own.pattern === undefined
    const type = isAnyText ? value : { anyOf: [value, { type: 'string', pattern: '\\$\\{' }] }
    return { description, ...type, ...(byDefault !== undefined && { default: byDefault }) }
  }
  if (items !== undefined)
    return { ...own, items: [items].flat().map((item) => forEditors(item, `${path}[]`))[0] }
  const inFile = Object.entries(properties).flatMap(([key, part]) => {
    const keyPath = path === '' ? key : `${path}.${key}`
    const section = forEditors(part, keyPath)
    return section === null ? [] : [[key, section] as const]
  })
  if (inFile.length === 0) return null
  const keys = Object.fromEntries(inFile)
  const section = { type: ['object', 'null'], properties: keys, additionalProperties: false }
  return path === 'publish' ? { anyOf: [keys.formats, section] } : section
}

/** The keys of a section. A setting has none, nor has a list, whose items are sections. */
export const keysIn = (section: Path): readonly string[] => {
  const path = pathText(section).replaceAll(/\[\d+\]/g, '[]')
  const prefix = path === '' ? '' : `${path}.`
  const keys = settingKeys().flatMap((key) =>
    key.path.startsWith(prefix) ? key.path.slice(prefix.length).replace(/[.[].*/, '') : [],
  )
  return [...new Set(keys)]
}

/** The tree without unknown keys. `onUnknown` gets each unknown key with its section. */
export const withKnownKeys = (tree: Tree, onUnknown: (key: string, section: Path) => void): Tree => {
  const walk = (part: Tree, path: Path): Tree => {
    if (isList(part) && keysIn([...path, 0]).length > 0)
      return part.map((item, index) => walk(item, [...path, index]))
    const keys = keysIn(path)
    if (!isSection(part) || keys.length === 0) return part
    return Object.fromEntries(
      Object.entries(part).flatMap(([key, value]) => {
        if (keys.includes(key)) return [[key, walk(value, [...path, key])]]
        onUnknown(key, path)
        return []
      }),
    )
  }
  return walk(tree, [])
}
