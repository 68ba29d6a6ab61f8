/** What `schema` prints: all tables and views with their declared columns and comments, as SQL, JSON, Markdown and dbt sources. */
import { Document } from 'yaml'
import { markdownTable } from '../base/human.js'
import type { Column, Reference, TableDeclaration } from '../model/columns.js'
import { ALL_TABLES, SCHEMA_VERSION, tableName } from '../model/sync-tables.js'
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

/** What analysts need most comes first: the tables, the views, then the bookkeeping of the job. */
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

/** The statements that create an empty warehouse. The work database is created with the same ones. */
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

const relationToJson = ({ columns, ...relation }: CatalogEntry) => ({
  ...relation,
  columns: columns.map((column) => ({ ...column, values: column.values ?? null })),
})

/** The data dictionary: a table of columns for each table and view. A column is described where it stands first. */
export const schemaAsMarkdown = (): string =>
  [HEAD, ...SECTIONS.flatMap(({ title, about, relations }) => section(title, about, relations))].join('\n')

const HEAD = `# Tables and views

Every table and view of the warehouse, generated from their declarations (\`fieldwork-sync schema\`). The database has the same comments:
\`SELECT table_name, column_name, comment FROM duckdb_columns()\`.

- Names of the API are kept. Every table of data begins with \`account\`. A key identifies a row: the sync keeps it unique, without a constraint.
- Times are UTC instants to the microsecond. Rates and percentages are doubles.
- Rows are never deleted: a survey or source that the API no longer shows has \`_missing_since\`. \`_extra\` has the fields that this version
  does not know, as JSON.
- Times of observation are those of the server. If its clock did not move between two versions, the second is a microsecond later.
- A column is described where it stands first. Other tables and views name that place.
`

const section = (title: string, about: string, relations: readonly CatalogEntry[]): readonly string[] => {
  const links = relations.map(
    (relation) => `- [\`${tableName(relation)}\`](#${anchor(relation)}): ${relation.comment}\n`,
  )
  return [`## ${title}\n\n${about}\n\n${links.join('')}`, ...relations.map(relationSection)]
}

const anchor = (relation: CatalogEntry): string => tableName(relation).replaceAll('.', '')

const relationSection = (relation: CatalogEntry): string => {
  const { key, references = [] } = relation
  const belongs = references.map(
    ({ columns, table, to }) => ` Belongs to \`${table}\`: ${names(columns)} = ${names(to)}.`,
  )
  return `### ${tableName(relation)}

${relation.comment}.${key.length === 0 ? '' : ` Key: ${names(key)}.`}${belongs.join('')}

${columnTable(relation)}`
}

/** The first relation with each column, to the word of its comment. */
const FIRST = new Map<string, CatalogEntry>()
for (const relation of CATALOG)
  for (const column of relation.columns) {
    const declared = JSON.stringify(column)
    if (!FIRST.has(declared)) FIRST.set(declared, relation)
  }

/** A row per column, and one for neighbours that another relation describes. */
const columnTable = (relation: CatalogEntry): string => {
  const rows: string[][] = []
  for (const column of relation.columns) {
    const name = names([column.name])
    const first = FIRST.get(JSON.stringify(column)) ?? relation
    const elsewhere = `As in [${names([tableName(first)])}](#${anchor(first)})`
    const last = rows.at(-1)
    if (first === relation) rows.push([name, column.type, column.nullable ? 'yes' : 'no', column.comment])
    else if (last?.[3] === elsewhere) last[0] += `, ${name}`
    else rows.push([name, '', '', elsewhere])
  }
  return markdownTable(['Column', 'Type', 'Null', 'Meaning'], rows)
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
        freshness: { warn_after: hours(36), error_after: hours(72), filter: NO_REPLAY },
      },
    }
  return {}
}

const NO_REPLAY = "command is distinct from 'replay'"

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

/** One column by its name, or several as one text. Instants become epoch microseconds, which are equal in every time zone. */
const expression = ({ name, columns }: CatalogEntry, key: readonly string[]): string => {
  const parts = key.map((part) => {
    const column = columns.find((declared) => declared.name === part)
    if (column === undefined) throw new TypeError(`${name} has no column ${part}`)
    const value = column.type === 'TIMESTAMPTZ' ? `epoch_us(${column.name})` : column.name
    return column.nullable ? `coalesce(cast(${value} as varchar), '')` : value
  })
  return parts.length === 1 ? key.join('') : `concat_ws('|', ${parts.join(', ')})`
}
