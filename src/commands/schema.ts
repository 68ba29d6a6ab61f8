/** What `schema` prints: all tables and views with their declared columns and comments, as SQL, JSON, Markdown and dbt sources. */
import { Document } from 'yaml'
import { markdownTable } from '../base/human.js'
import type { Column, Reference, TableDeclaration } from '../model/columns.js'
import { ALL_TABLES, SCHEMA_VERSION, tableName } from '../model/sync-tables.js'
import { sampleSourceProgress, sampleSources, surveyProgress, surveys } from '../model/tables.js'
import { commentsOn, createTable } from '../warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../warehouse/views/all.js'
import { createView } from '../warehouse/views/view-declaration.js'

interface CatalogEntry extends TableDeclaration {
  readonly kind: 'table' | 'view'
}

const TABLES = ALL_TABLES.map((table): CatalogEntry => ({ kind: 'table', references: [], ...table }))
const VIEWS = ALL_VIEWS.map(
  ({ sql: _, ...view }): CatalogEntry => ({ kind: 'view', references: [], ...view }),
)

/** The order in which analysts need them: tables, views, then the bookkeeping of the job. */
const SECTIONS = [
  {
    title: 'Tables',
    about: 'The data of the API: current rows and their history.',
    relations: TABLES.filter(({ schema }) => schema === 'main'),
  },
  { title: 'Views', about: 'The same data in forms that answer common questions.', relations: VIEWS },
  {
    title: 'Bookkeeping',
    about: 'State and history of the sync job: schema `_sync`.',
    relations: TABLES.filter(({ schema }) => schema === '_sync'),
  },
]

const CATALOG = SECTIONS.flatMap(({ relations }) => relations)

/** The statements that create an empty warehouse, as also the work database is created. */
export const schemaAsSql = (): string =>
  [
    ['CREATE SCHEMA _sync'],
    ...ALL_TABLES.map((table) => [createTable(table), ...commentsOn(table)]),
    ...ALL_VIEWS.map(createView),
  ]
    .map((statements) => statements.map((statement) => `${statement};\n`).join(''))
    .join('\n')

/** All declared facts except the SQL of views, with names in snake_case. */
export const schemaAsJson = (): string =>
  `${JSON.stringify({ schema_version: SCHEMA_VERSION, relations: CATALOG.map(relationToJson) }, null, 2)}\n`

const relationToJson = ({ columns, sortedBy: _, ...relation }: CatalogEntry) => ({
  ...relation,
  columns: columns.map((column) => ({ ...column, values: column.values ?? null })),
})

/** Most people read these relations, so each lists all of its columns. */
const LISTED_IN_FULL: readonly string[] = [
  ...[surveys, surveyProgress, sampleSources, sampleSourceProgress].map(({ name }) => name),
  ...['surveys_today', 'survey_pace', 'source_overview', 'needs_action', 'progress_daily'],
]

/**
 * The data dictionary: the columns of each table and view. A column of several relations is described in the first one, unless a relation
 * lists all of its columns.
 */
export const schemaAsMarkdown = (): string =>
  [HEAD, ...SECTIONS.flatMap(({ title, about, relations }) => section(title, about, relations))].join('\n')

const HEAD = `# Tables and views

Every table and view of the warehouse, as \`fieldwork-sync schema\` prints them. The comments in the database say the same:
\`SELECT table_name, column_name, comment FROM duckdb_columns()\`.

- Names of the API are kept. A key identifies a row: the sync keeps it unique, without a constraint.
- A type with \`?\` may be null. Times are TIMESTAMPTZ: UTC instants to the microsecond. Rates and percentages are doubles.
- Rows are never deleted: a survey or source that the API no longer shows has \`_missing_since\`.
- Times of observation are those of the server. If its clock did not move between two versions, the second is a microsecond later.
- Tables and views that most people read list all of their columns. For the others, the keys \`account\`, \`id\`, \`survey_id\` and
  \`sample_source_id\` are described in [\`surveys\`](#surveys), [\`sample_sources\`](#sample_sources) and
  [\`sample_source_progress\`](#sample_source_progress). Their further columns are "as in" the place that describes them; "to" includes all
  between, in the order of that place.
- A row belongs to the survey or source whose keys it has.
`

const section = (title: string, about: string, relations: readonly CatalogEntry[]): readonly string[] => [
  `## ${title}\n\n${about}\n\n${relations.map(linkTo).join(', ')}\n`,
  ...relations.map(relationSection),
]

const linkTo = (relation: CatalogEntry): string =>
  `[${names([tableName(relation)])}](#${tableName(relation).replaceAll('.', '')})`

const relationSection = (relation: CatalogEntry): string => {
  const { key, references = [] } = relation
  const belongs = references.map(({ table }) => ` Belongs to \`${table}\`.`)
  const parts = LISTED_IN_FULL.includes(relation.name)
    ? [tableOf(relation.columns)]
    : [ownColumns(relation), otherColumns(relation)].filter((part) => part !== '')
  return `### ${tableName(relation)}

${relation.comment}.${key.length === 0 ? '' : ` Key: ${names(key)}.`}${belongs.join('')}

${parts.join('\n')}`
}

/** The first relation with each column. Columns are the same if their declarations are equal, comments included. */
const FIRST = new Map<string, CatalogEntry>()
for (const relation of CATALOG)
  for (const column of relation.columns) {
    const declared = JSON.stringify(column)
    if (!FIRST.has(declared)) FIRST.set(declared, relation)
  }

const firstWith = (column: Column): CatalogEntry | undefined => FIRST.get(JSON.stringify(column))

/** The columns that the relation describes. */
const ownColumns = (relation: CatalogEntry): string =>
  tableOf(relation.columns.filter((column) => firstWith(column) === relation))

/** A row for each column. Columns that differ only in the status of their name share a row. */
const tableOf = (columns: readonly Column[]): string => {
  const rows = new Map<string, [name: string, type: string, meaning: string]>()
  for (const column of columns) {
    const name = names([column.name])
    const type = `${column.type}${column.nullable ? '?' : ''}`
    const meaning = column.comment.replace(` status ${column.name.replace(/_[a-z]+$/, '')}`, ' this status')
    const row = rows.get(`${type} ${meaning}`)
    if (row === undefined) rows.set(`${type} ${meaning}`, [name, type, meaning])
    else row[0] += `, ${name}`
  }
  return rows.size === 0 ? '' : markdownTable(['Column', 'Type', 'Meaning'], [...rows.values()])
}

const IDENTIFIERS = ['account', 'id', 'survey_id', 'sample_source_id']

/**
 * The columns that another relation describes, grouped by that relation. The identifiers in the key are left out, unless null has a
 * meaning.
 */
const otherColumns = (relation: CatalogEntry): string => {
  const { columns, key } = relation
  const others = columns.filter(
    ({ name, nullable }) => nullable || !(IDENTIFIERS.includes(name) && key.includes(name)),
  )
  const references = CATALOG.flatMap((described) => {
    const there = others.filter((column) => described !== relation && firstWith(column) === described)
    return there.length === 0 ? [] : [`as in ${linkTo(described)}: ${ranges(there, described)}`]
  })
  return references.length === 0 ? '' : `${references.join('; ').replace('as', 'As')}.\n`
}

/** The names. Four or more that also follow each other in `described` become the first and the last. */
const ranges = (columns: readonly Column[], described: CatalogEntry): string => {
  const indexOf = (name: string) => described.columns.findIndex((column) => column.name === name)
  const runs: string[][] = []
  for (const { name } of columns) {
    const run = runs.at(-1)
    if (run !== undefined && indexOf(run.at(-1) ?? '') + 1 === indexOf(name)) run.push(name)
    else runs.push([name])
  }
  return runs
    .map((run) => (run.length < 4 ? names(run) : `${names(run.slice(0, 1))} to ${names(run.slice(-1))}`))
    .join(', ')
}

const names = (columns: readonly string[]): string => columns.map((name) => `\`${name}\``).join(', ')

/**
 * dbt sources with descriptions and tests. They need dbt-core 1.10.8 or newer and dbt-duckdb, and no dbt packages. dbt's own
 * `unique` and `relationships` test one column; they accept an expression, so we pass one over all columns of the key.
 */
export const schemaAsDbt = (): string => {
  const document = new Document({ version: 2, sources: SOURCES.map(source) })
  document.commentBefore = DBT_HEAD
  return document.toString({ lineWidth: 0 })
}

const DBT_HEAD = ` dbt sources of a fieldwork-sync warehouse: fieldwork-sync schema --format dbt
 Attach the published file in profiles.yml, read-only and under the alias fieldwork. Without read_only: true, dbt locks out
 all other readers:
   type: duckdb
   path: analytics.duckdb
   attach: [{path: /data/fieldwork/fieldwork.duckdb, alias: fieldwork, read_only: true}]
 Needs dbt-core 1.10.8 or newer and dbt-duckdb, and no dbt packages. With 1.10.5 to 1.10.7, set
 require_generic_test_arguments_property: true below flags: in dbt_project.yml. Freshness assumes a run every night.`

const SOURCES = [
  {
    name: 'fieldwork',
    schema: 'main',
    description: 'Surveys, sample sources and fieldwork progress: current rows and their history',
  },
  { name: 'fieldwork_sync', schema: '_sync', description: 'State and history of the sync job' },
] as const

const source = ({ name, schema, description }: (typeof SOURCES)[number]) => ({
  name,
  description,
  database: 'fieldwork',
  schema,
  tables: CATALOG.filter((relation) => relation.schema === schema).map(sourceTable),
})

const sourceTable = (relation: CatalogEntry) => ({
  name: relation.name,
  description: relation.comment,
  ...freshnessOf(relation),
  ...tests([...uniqueKey(relation), ...relationships(relation)]),
  columns: relation.columns.map((column) => ({
    name: column.name,
    description: column.comment,
    data_type: column.type,
    ...tests([...(column.nullable ? [] : ['not_null']), ...acceptedValues(column)]),
  })),
})

const tests = (list: readonly unknown[]) => (list.length === 0 ? {} : { data_tests: list })

/** The end of the last run shows whether the job works. An old `refreshed_at` only warns: quiet surveys are not read. */
const freshnessOf = ({ schema, name }: CatalogEntry) => {
  const hours = (count: number) => ({ count, period: 'hour' })
  if (schema === 'main' && name === 'freshness')
    return { config: { loaded_at_field: 'refreshed_at', freshness: { warn_after: hours(36) } } }
  if (schema === '_sync' && name === 'runs')
    return {
      config: {
        loaded_at_field: 'ended_at',
        freshness: { warn_after: hours(36), error_after: hours(72), filter: NIGHTS },
      },
    }
  return {}
}

const NIGHTS = "coalesce(command, 'sync') = 'sync'"

const uniqueKey = (relation: CatalogEntry) => {
  const { name, key } = relation
  if (key.length === 0) return []
  const column_name = expression(relation, key)
  return [{ unique: { name: `fieldwork_${name}_key_is_unique`, arguments: { column_name } } }]
}

const relationships = (relation: CatalogEntry) =>
  (relation.references ?? []).map((reference) => ({
    relationships: {
      name: `fieldwork_${relation.name}_belong_to_${reference.table}`,
      arguments: {
        column_name: expression(relation, reference.columns),
        to: `source('fieldwork', '${reference.table}')`,
        field: expression(referenced(reference), reference.to),
      },
    },
  }))

const acceptedValues = ({ values }: Column) =>
  values === undefined ? [] : [{ accepted_values: { arguments: { values }, config: { severity: 'warn' } } }]

const referenced = ({ table }: Reference): CatalogEntry => {
  const relation = CATALOG.find(({ schema, name }) => schema === 'main' && name === table)
  if (relation === undefined) throw new TypeError(`there is no table ${table} to reference`)
  return relation
}

/** One column is its name. Several columns are one text, with instants as epoch microseconds, which are equal in every time zone. */
const expression = ({ name, columns }: CatalogEntry, key: readonly string[]): string => {
  const parts = key.map((part) => {
    const column = columns.find((declared) => declared.name === part)
    if (column === undefined) throw new TypeError(`${name} has no column ${part}`)
    const value = column.type === 'TIMESTAMPTZ' ? `epoch_us(${column.name})` : column.name
    return column.nullable ? `coalesce(cast(${value} as varchar), '')` : value
  })
  return parts.length === 1 ? key.join('') : `concat_ws('|', ${parts.join(', ')})`
}
