/**
 * The generated parts of `docs/reference`, by the name in their markers: `<!-- generated: exit codes -->`. They follow from what the
 * code declares: flags, settings, exit codes, rules, and the JSON that commands print.
 */
import { ERRORS, EXITS } from '../../../src/base/errors.js'
import { markdownTable } from '../../../src/base/human.js'
import type { Command } from '../../../src/commands/context.js'
import { NAMED_QUERIES, type NamedQuery, sqlToCopy } from '../../../src/commands/query/named.js'
import { COMMANDS } from '../../../src/commands/table.js'
import { OBSERVATIONS } from '../../../src/conformance/observations.js'
import { RULES } from '../../../src/conformance/run.js'
import { ACCOUNT_METRICS, type Metric, RUN_METRICS } from '../../../src/monitoring/metrics/metrics.js'
import { sqlOf } from '../../../src/publish/report/queries/query.js'
import { ALL_QUERIES } from '../../../src/publish/report/read.js'
import { CHOICES } from '../../../src/reference-server/docs/openapi.js'
import { settingKeys } from '../../../src/settings/keys.js'
import { JSON_DOCUMENTS, jsonSchemaOf } from './json-documents.js'
import type { JsonSchema } from './json-fields.js'

export const generatedParts = (): ReadonlyMap<string, string> => {
  return new Map([
    ...COMMANDS.map((command) => [`command ${command.name}`, commandPart(command)] as const),
    ['settings', settings()],
    ['exit codes', exitCodes()],
    ['error codes', errorCodes()],
    ['conformance rules', rules()],
    ['conformance observations', observations()],
    ['choices', choices()],
    ['report queries', reportQueries()],
    ...NAMED_QUERIES.map((query) => [`query ${query.name}`, namedQuery(query)] as const),
    ['metrics of runs', metricsTable(RUN_METRICS, ['warehouse', 'command'])],
    ['metrics of accounts', metricsTable(ACCOUNT_METRICS, ['warehouse', 'account'])],
    ...JSON_DOCUMENTS.map((document) => [`json ${document.name}`, fieldsOf(jsonSchemaOf(document))] as const),
  ])
}

/** The keys of the settings file. */
const settings = (): string =>
  markdownTable(
    ['Key', 'Type', 'Default', 'Meaning'],
    settingKeys().map(({ path, valueType, defaultText, meaning }) => [
      `\`${path}\``,
      valueType,
      defaultText === null ? '' : `\`${defaultText}\``,
      meaning,
    ]),
  )

const metricsTable = (metrics: readonly Metric<never>[], common: readonly string[]): string =>
  markdownTable(
    ['Metric', 'Type', 'Unit', 'Labels', 'Meaning'],
    metrics.map(({ name, help, labels = [] }) => [
      `\`${name}\``,
      'gauge',
      unitOf(name),
      [...common, ...labels].map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  )

const unitOf = (name: string): string =>
  name.endsWith('_timestamp_seconds')
    ? 'seconds since 1970'
    : (/_(seconds|bytes)$/.exec(name)?.[1] ?? (/_(info|status|code)$/.test(name) ? '' : 'number'))

const commandPart = ({ name: command, describe, flags: declared }: Command): string => {
  const flags = Object.entries(declared)
  const isArgument = flags.some(([, { type }]) => type === 'argument')
  return [
    `${describe}.\n`,
    markdownTable(
      [isArgument ? 'Argument' : 'Flag', 'Value', 'Default', 'Meaning'],
      flags.map(([name, { type, default: value, describe: meaning }]) => [
        type === 'argument' ? `\`${name}\`` : `\`--${name}\``,
        type === 'boolean' ? 'none' : 'text',
        value === undefined ? '' : `\`${value}\``,
        meaning,
      ]),
    ),
    `\`${command} --help\` shows the same.\n`,
  ].join('\n')
}

const exitCodes = (): string =>
  markdownTable(
    ['Exit', 'Means', 'Do this'],
    Object.entries(EXITS).map(([code, { meaning, next }]) => [code, meaning, next]),
  )

const errorCodes = (): string =>
  markdownTable(
    ['Code', 'Exit', 'Means'],
    ERRORS.map(({ code, exit, means }) => [`\`${code}\``, String(exit), means]),
  )

const rules = (): string => {
  const sections = [...new Set(RULES.map(({ section }) => section))]
  return sections
    .map((section) => {
      const rows = RULES.filter((rule) => rule.section === section).map(({ id, text }) => [`\`${id}\``, text])
      return `### ${section}\n\n${markdownTable(['Rule', 'What it demands'], rows)}`
    })
    .join('\n')
}

const observations = (): string =>
  markdownTable(
    ['Observation', 'Section of the API document'],
    OBSERVATIONS.map(({ topic, section }) => [topic, section]),
  )

const choices = (): string =>
  Object.entries(CHOICES)
    .map(([topic, list]) => `**${topic}**\n\n${list.map((choice) => `- ${choice}\n`).join('')}`)
    .join('\n')

const reportQueries = (): string =>
  ALL_QUERIES.map((query) => `### ${query.title}\n\n\`\`\`sql\n${sqlOf(query)};\n\`\`\`\n`).join('\n')

const namedQuery = (query: NamedQuery): string =>
  `    fieldwork-sync query ${query.name}\n\n\`\`\`sql\n${sqlToCopy(query)};\n\`\`\`\n`

const fieldsOf = (schema: JsonSchema): string =>
  markdownTable(
    ['Field', 'Type', 'Meaning'],
    fieldRows([schema], '').map(([path, type, meaning]) => [`\`${path}\``, type, meaning]),
  )

/** The fields of an object with those of the objects in it. A rule of conformance is an object of one of three forms. */
const fieldRows = (
  forms: readonly JsonSchema[],
  prefix: string,
): readonly (readonly [path: string, type: string, meaning: string])[] => {
  const names = new Set(forms.flatMap(({ properties = {} }) => Object.keys(properties)))
  return [...names].flatMap((name) => {
    const parts = forms.flatMap(({ properties }): readonly JsonSchema[] => {
      const part = properties?.[name]
      return part === undefined ? [] : [part]
    })
    const types = new Set(parts.map(typeOf))
    const description = parts[0]?.description ?? ''
    const inner = parts.flatMap(formsOf)
    const isList = inner.some(({ items }) => items !== undefined)
    const items = isList ? inner.flatMap(({ items }) => formsOf(items ?? {})) : inner
    const path = `${prefix}${name}`
    return [
      [path, [...types].join(', '), description] as const,
      ...fieldRows(items, `${path}${isList ? '[]' : ''}.`),
    ]
  })
}

const formsOf = (part: JsonSchema): readonly JsonSchema[] => part.anyOf ?? [part]

const typeOf = (part: JsonSchema): string => {
  if (part.items !== undefined) return `list of ${typeOf(part.items)}`
  if (part.anyOf !== undefined) return [...new Set(part.anyOf.map(typeOf))].join(' or ')
  if (part.enum !== undefined) return part.enum.map((value) => `\`${value}\``).join(', ')
  if (part.const !== undefined) return `\`${part.const}\``
  return part.format ?? part.type ?? 'any'
}
