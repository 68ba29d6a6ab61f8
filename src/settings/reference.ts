/**
 * What can be set, as documentation: derived from the schema of the file and the list of environment variables,
 * so that the README cannot promise a key or a default that does not exist.
 */
import { z } from 'zod'
import { ENVIRONMENT_VARIABLES } from './environment.js'
import { fileSchema } from './file-schema.js'
import { PROXY_VARIABLES } from './proxies.js'

export interface SettingKey {
  /** `refresh.settle_for`; keys of a list's items as `accounts[].name`. */
  readonly path: string
  readonly valueType: string
  /** As it would be written in the file; null when there is none. */
  readonly defaultText: string | null
  readonly meaning: string
}

const described = z.object({
  valueType: z.string(),
  description: z.string(),
  default: z.unknown().optional(),
})
const withProperties = z.object({ properties: z.record(z.string(), z.unknown()) })
const withItems = z.object({ items: z.unknown() })

/** Every key of the settings file, in the order of the schema. */
export const settingKeys = (): readonly SettingKey[] =>
  keysOf(z.toJSONSchema(fileSchema, { io: 'input', unrepresentable: 'any' }), '')

const keysOf = (schema: unknown, path: string): readonly SettingKey[] => {
  const leaf = described.safeParse(schema)
  if (leaf.success) {
    const { valueType, description, default: value } = leaf.data
    return [
      { path, valueType, defaultText: value === undefined ? null : yamlText(value), meaning: description },
    ]
  }
  const list = withItems.safeParse(schema)
  if (list.success) return keysOf(list.data.items, `${path}[]`)
  const { properties } = withProperties.parse(schema)
  return Object.entries(properties).flatMap(([name, child]) =>
    keysOf(child, path === '' ? name : `${path}.${name}`),
  )
}

const yamlText = (value: unknown): string => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value))

/** The settings reference in Markdown: a table of the keys of the file, a table of environment variables. */
export const settingsReference = (): string =>
  [
    table(
      ['Key', 'Type', 'Default', 'Meaning'],
      settingKeys().map(({ path, valueType, defaultText, meaning }) => [
        `\`${path}\``,
        valueType,
        defaultText === null ? '' : `\`${defaultText}\``,
        meaning,
      ]),
    ),
    table(
      ['Environment variable', 'Sets', 'Meaning'],
      [...ENVIRONMENT_VARIABLES, ...PROXY_VARIABLES].map(({ name, sets, meaning }) => [
        `\`${name}\``,
        sets,
        meaning,
      ]),
    ),
  ].join('\n')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
