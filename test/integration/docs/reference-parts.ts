/**
 * The generated parts of `docs/reference` and `docs/explanation`, by the name in their markers: `<!-- generated: exit codes -->`. They follow from what the
 * code declares: flags, settings, exit codes, rules and metrics.
 */
import { ERRORS, EXITS } from '../../../src/base/errors.js'
import { markdownTable } from '../../../src/base/human.js'
import type { Command } from '../../../src/commands/context.js'
import { NAMED_QUERIES, type NamedQuery, sqlToCopy } from '../../../src/commands/query/named.js'
import { COMMANDS } from '../../../src/commands/table.js'
import { OBSERVATIONS } from '../../../src/conformance/observations.js'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { ACCOUNT_METRICS, type Metric, RUN_METRICS } from '../../../src/monitoring/metrics/metrics.js'
import { sqlOf } from '../../../src/publish/report/queries/query.js'
import { ALL_QUERIES } from '../../../src/publish/report/read.js'
import { settingKeys } from '../../../src/settings/keys.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { RULES } from '../../../src/warehouse/views/needs-action-rules.js'

export const generatedParts = (): ReadonlyMap<string, string> => {
  return new Map([
    ...COMMANDS.map((command) => [`command ${command.name}`, commandPart(command)] as const),
    ['shared flags', sharedFlags()],
    ['settings', settings()],
    ['exit codes', exitCodes()],
    ['error codes', errorCodes()],
    ['conformance observations', observations()],
    ['report queries', reportQueries()],
    ['alarms', alarms()],
    ...NAMED_QUERIES.map((query) => [`query ${query.name}`, namedQuery(query)] as const),
    ['metrics of runs', metricsTable(RUN_METRICS)],
    ['metrics of accounts', metricsTable(ACCOUNT_METRICS)],
  ])
}

/** The keys of the settings file. A key that names a file with the value of another is in the row of that other. */
const settings = (): string => {
  const keys = settingKeys()
  const isKey = (name: string) => keys.some(({ path }) => path === name)
  return markdownTable(
    ['Key', 'Type', 'Default', 'Meaning'],
    keys
      .filter(({ path }) => !isKey(path.replace(/_file$/, '')) || !path.endsWith('_file'))
      .map(({ path, valueType, defaultText, meaning }) => [
        [path, `${path}_file`]
          .filter(isKey)
          .map((name) => `\`${name}\``)
          .join(', '),
        valueType,
        defaultText === null ? '' : `\`${defaultText}\``,
        meaning,
      ]),
  )
}

const metricsTable = (metrics: readonly Metric<never>[]): string =>
  markdownTable(
    ['Metric', 'Meaning'],
    metrics.map(({ name, help, labels }) => [
      labels === undefined ? `\`${name}\`` : `\`${name}{${labels.join(',')}}\``,
      help,
    ]),
  )

type Flag = Command['flags'][string]

/** Flags that several commands have in the same words, by their name and declaration. */
const SHARED_FLAGS = new Map<
  string,
  { readonly name: string; readonly flag: Flag; readonly commands: string[] }
>()
for (const { name: command, flags } of COMMANDS)
  for (const [name, flag] of Object.entries(flags)) {
    const known = SHARED_FLAGS.get(JSON.stringify([name, flag]))
    if (known === undefined)
      SHARED_FLAGS.set(JSON.stringify([name, flag]), { name, flag, commands: [command] })
    else known.commands.push(command)
  }
const isShared = ([name, flag]: readonly [string, Flag]): boolean =>
  (SHARED_FLAGS.get(JSON.stringify([name, flag]))?.commands.length ?? 0) > 1

/** `--out=…` takes a value, `--force` none. */
const flagCells = ([name, { type, default: value, describe, alias }]: readonly [
  string,
  Flag,
]): readonly string[] => [
  { argument: `\`${name}\``, boolean: `\`--${name}\``, string: `\`--${name}=…\`` }[type],
  `${alias === undefined ? '' : `Or \`--${alias}\`. `}${value === undefined ? describe : `${describe} (default: \`${value}\`)`}`,
]

const FLAG_HEAD = ['Flag', 'Meaning']

const sharedFlags = (): string =>
  markdownTable(
    FLAG_HEAD,
    [...SHARED_FLAGS.values()]
      .filter(({ commands }) => commands.length > 1)
      .map(({ name, flag, commands }) => {
        const [cell = '', meaning = ''] = flagCells([name, flag])
        return [cell, commands.length > 2 ? meaning : `${meaning} (${commands.join(', ')})`]
      }),
  )

const commandPart = ({ describe, flags: declared }: Command): string => {
  const flags = Object.entries(declared)
  const own = flags.filter((entry) => !isShared(entry))
  const shared = flags.filter(isShared).map(([name]) => `\`--${name}\``)
  return [
    `${describe}.\n`,
    ...(own.length === 0 ? [] : [markdownTable(FLAG_HEAD, own.map(flagCells))]),
    ...(shared.length === 0 ? [] : [`[Shared flags](#shared-flags): ${shared.join(', ')}.\n`]),
  ].join('\n')
}

const exitCodes = (): string =>
  markdownTable(
    ['Exit', 'Means', 'Do this'],
    Object.entries(EXITS).map(([code, { meaning, next }]) => [code, meaning, next]),
  )

/** The codes of each exit. */
const errorCodes = (): string =>
  [...new Set(ERRORS.map(({ exit }) => exit))]
    .map((code) => {
      const own = ERRORS.filter(({ exit }) => exit === code)
      return `Exit ${code}:\n\n${own.map((error) => `- \`${error.code}\`: ${error.means}\n`).join('')}`
    })
    .join('\n')

const observations = (): string => OBSERVATIONS.map(({ topic }) => `- ${topic}\n`).join('')

const reportQueries = (): string =>
  markdownTable(
    ['Query', 'Reads'],
    ALL_QUERIES.map((query) => [query.title, relationsIn(sqlOf(query)).join(', ')]),
  )

const alarms = (): string =>
  markdownTable(
    ['Urgency', 'Kind', 'Question', 'Level', 'Floor', 'Text'],
    RULES.toSorted((left, right) => left.urgency - right.urgency).map((rule) => [
      String(rule.urgency),
      `\`${rule.kind}\``,
      rule.question,
      rule.level,
      rule.floor ?? '',
      rule.example,
    ]),
  )

const RELATIONS = new Set(
  [...ALL_TABLES, ...ALL_VIEWS].map(({ schema, name }) => (schema === 'main' ? name : `${schema}.${name}`)),
)

/** The tables and views that a statement names, in its order. */
const relationsIn = (sql: string): readonly string[] => {
  const named = [...sql.matchAll(/\b(?:FROM|JOIN) ([\w.]+)/g)].map(([, name = '']) => name)
  return [...new Set(named)].filter((name) => RELATIONS.has(name)).map((name) => `\`${name}\``)
}

const namedQuery = (query: NamedQuery): string =>
  `    fieldwork-sync query ${query.name}\n\n\`\`\`sql\n${sqlToCopy(query)};\n\`\`\`\n`
