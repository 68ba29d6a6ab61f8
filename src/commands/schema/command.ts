/** `fieldwork-sync schema` prints the declared tables and views. It reads no settings and no warehouse. */
import type { Command } from '../context.js'
import type { FlagsOf } from '../flags.js'
import { SCHEMA_FORMATS, schemaOptions } from '../options.js'
import { choiceOf, usageError } from '../usage.js'

export const schemaCommand: Command<typeof schemaOptions> = {
  name: 'schema',
  describe:
    'Describe the tables and views of every warehouse as SQL, a data dictionary, JSON, or dbt sources with tests',
  flags: schemaOptions,
  run: async (context, flags) => {
    const format = formatOf(flags)
    const write = await WRITERS[format]()
    await context.print(write())
  },
}

type Format = (typeof SCHEMA_FORMATS)[number]

/** Each writer is loaded only when it is needed, so wrong usage is reported at once. */
const WRITERS: Readonly<Record<Format, () => Promise<() => string>>> = {
  sql: async () => (await import('./sql.js')).schemaAsSql,
  markdown: async () => (await import('./markdown.js')).schemaAsMarkdown,
  json: async () => (await import('./json.js')).schemaAsJson,
  dbt: async () => (await import('./dbt.js')).schemaAsDbt,
}

const formatOf = ({ format: text, json }: FlagsOf<typeof schemaOptions>): Format => {
  const name = text ?? (json === true ? 'json' : 'markdown')
  const format = choiceOf(name, SCHEMA_FORMATS, {
    command: 'schema',
    problem: `--format must be one of ${SCHEMA_FORMATS.join(', ')}`,
  })
  if (json === true && format !== 'json')
    throw usageError(`--json and --format ${format} exclude each other`, 'schema')
  return format
}
