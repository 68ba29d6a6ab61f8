/** Writes a settings file from the keys that the schema declares. */
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { settingKeys } from './keys.js'

/** The schema in this package, which the first line of a settings file names. */
const SCHEMA_FILE = fileURLToPath(new URL('../../config/settings.schema.json', import.meta.url))

const HEAD = `Settings of fieldwork-sync. A line such as "#overlap: 5m" shows a setting with its default: remove the # to change it. The environment overrides this file, and flags override both.
\${NAME} is the environment variable NAME; $\${ is a plain \${. Durations have a unit: 250ms, 30s, 5m, 2h, 7d.`

const COLUMNS_MAX = 110

/**
 * A settings file: the given values, and every other key as a comment (`#overlap: 5m`) with its default.
 * `values` are by the path of their key, such as `accounts[].base_url`, with the first key of each item of a list.
 */
export const settingsText = (values: ReadonlyMap<string, string | number>): string => {
  const lines = [
    `# yaml-language-server: $schema=${SCHEMA_FILE}`,
    ...HEAD.split('\n').flatMap((text) => comment(text, 0)),
  ]
  let previous = ''
  for (const { path, valueType, defaultText, meaning } of settingKeys()) {
    const sections = path.split('.')
    const key = sections.pop() ?? ''
    // Whether the previous key is in the same section down to this depth. A section without a given key counts as absent.
    const isOpen = (depth: number) => previous.startsWith(`${sections.slice(0, depth).join('.')}.`)
    if (!isOpen(1)) lines.push('')
    for (const [depth, section] of sections.entries())
      if (!isOpen(depth + 1))
        lines.push(`${blanks(indentOf(sections.slice(0, depth)))}${section.replace('[]', '')}:`)
    const isFirstOfItem = sections.at(-1)?.endsWith('[]') === true && !isOpen(sections.length)
    const indent = indentOf(sections)
    const margin = isFirstOfItem ? `${blanks(indent - 2)}- ` : blanks(indent)
    const value = values.get(path)
    lines.push(
      ...comment(meaning, indent),
      value === undefined
        ? `${blanks(indent)}#${key}: ${defaultText ?? `<${valueType}>`}`
        : `${margin}${key}: ${scalar(value)}`,
    )
    previous = path
  }
  return `${lines.join('\n')}\n`
}

const blanks = (count: number): string => ' '.repeat(count)

/** Keys of a section are indented by two columns, and keys of list items by four. */
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

/** A value on one line, quoted if YAML needs it. A plain `${` is not a variable of the environment. */
const scalar = (value: string | number): string =>
  stringify(typeof value === 'number' ? value : value.replaceAll('${', () => '$${'), {
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  }).trimEnd()
