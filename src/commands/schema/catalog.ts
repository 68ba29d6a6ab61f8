/** All tables and views with their declared columns and comments, and how `schema` prints them: SQL, JSON, Markdown. */
import { markdownTable } from '../../base/human.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import { ALL_TABLES, SCHEMA_VERSION } from '../../model/sync-tables.js'
import { commentsOn, createTable } from '../../warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { createView } from '../../warehouse/views/view-declaration.js'

export interface CatalogEntry
  extends Pick<TableDeclaration, 'schema' | 'name' | 'comment' | 'key' | 'references'> {
  readonly kind: 'table' | 'view'
  readonly columns: readonly Column[]
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

export const CATALOG = SECTIONS.flatMap(({ relations }) => relations)

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

/** The data dictionary: a table of columns for each table and view. */
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
`

const section = (title: string, about: string, relations: readonly CatalogEntry[]): readonly string[] => {
  const links = relations.map(
    (relation) => `- [\`${fullName(relation)}\`](#${anchor(relation)}): ${relation.comment}\n`,
  )
  return [`## ${title}\n\n${about}\n\n${links.join('')}`, ...relations.map(relationSection)]
}

const fullName = ({ schema, name }: Pick<CatalogEntry, 'schema' | 'name'>): string =>
  schema === 'main' ? name : `${schema}.${name}`

const anchor = (relation: CatalogEntry): string => fullName(relation).replaceAll('.', '')

const relationSection = (relation: CatalogEntry): string => {
  const { key, references = [], columns } = relation
  const belongs = references.map(
    ({ columns, table, to }) => ` Belongs to \`${table}\`: ${names(columns)} = ${names(to)}.`,
  )
  const rows = columns.map((column) => [
    names([column.name]),
    column.type,
    column.nullable ? 'yes' : 'no',
    column.comment,
  ])
  return `### ${fullName(relation)}

${relation.comment}.${key.length === 0 ? '' : ` Key: ${names(key)}.`}${belongs.join('')}

${markdownTable(['Column', 'Type', 'Null', 'Meaning'], rows)}`
}

const names = (columns: readonly string[]): string => columns.map((name) => `\`${name}\``).join(', ')
