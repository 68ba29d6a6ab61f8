/** `fieldwork-sync schema` prints the declared tables and views. It reads no settings and no warehouse. */
import type { Command } from '../context.js'
import { choiceOf, type FlagsOf, usageError } from '../flags.js'
import { text } from '../options.js'

const FORMATS = ['sql', 'markdown', 'json', 'dbt'] as const
type Format = (typeof FORMATS)[number]

const flags = {
  format: {
    ...text(`Output format: ${FORMATS.join(', ')} (default: markdown)`),
    values: FORMATS,
  },
  json: { type: 'boolean', describe: 'The same as --format json' },
} as const

export const schemaCommand: Command<typeof flags> = {
  name: 'schema',
  describe:
    'Describe the tables and views of every warehouse as SQL, a data dictionary, JSON, or dbt sources with tests',
  flags,
  run: async (context, given) => {
    const write = await WRITERS[formatOf(given)]()
    await context.print(write())
  },
}

/** Each writer is loaded only when it is needed, so wrong usage is reported at once. */
const WRITERS: Readonly<Record<Format, () => Promise<() => string>>> = {
  sql: async () => (await import('./catalog.js')).schemaAsSql,
  markdown: async () => (await import('./catalog.js')).schemaAsMarkdown,
  json: async () => (await import('./catalog.js')).schemaAsJson,
  dbt: async () => (await import('./dbt.js')).schemaAsDbt,
}

const formatOf = ({ format: name, json }: FlagsOf<typeof flags>): Format => {
  const format = choiceOf(name ?? (json === true ? 'json' : 'markdown'), FORMATS, {
    command: 'schema',
    problem: `--format must be one of ${FORMATS.join(', ')}`,
  })
  if (json === true && format !== 'json')
    throw usageError(`--json and --format ${format} exclude each other`, 'schema')
  return format
}
