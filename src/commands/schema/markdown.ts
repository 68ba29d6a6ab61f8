/** The data dictionary: a table of columns for each table and view. */
import { markdownTable } from '../../base/human.js'
import { CATALOG, type Relation } from './catalog.js'

export const schemaAsMarkdown = (): string =>
  [
    HEAD,
    ...section(
      'Tables',
      'The data of the API: current rows and their history.',
      ({ schema, kind }) => schema === 'main' && kind === 'table',
    ),
    ...section(
      'Views',
      'The same data in forms that answer common questions.',
      ({ kind }) => kind === 'view',
    ),
    ...section(
      'Bookkeeping',
      'State and history of the sync job: schema `_sync`.',
      ({ schema }) => schema === '_sync',
    ),
  ].join('\n')

const HEAD = `# Tables and views

Every table and view of the warehouse, generated from their declarations (\`fieldwork-sync schema\`). The database has the same comments:
\`SELECT table_name, column_name, comment FROM duckdb_columns()\`.

- Names of the API are kept. Every table of data begins with \`account\`. A key identifies a row: the sync keeps it unique, without a constraint.
- Times are UTC instants to the microsecond. Rates and percentages are doubles.
- Rows are never deleted: a survey or source that the API no longer shows has \`_missing_since\`. \`_extra\` has the fields that this version
  does not know, as JSON.
- Times of observation are those of the server. If its clock did not move between two versions, the second is a microsecond later.
`

const section = (
  title: string,
  about: string,
  isMember: (relation: Relation) => boolean,
): readonly string[] => {
  const relations = CATALOG.filter(isMember)
  const links = relations.map(
    (relation) => `- [\`${fullName(relation)}\`](#${anchor(relation)}): ${relation.comment}\n`,
  )
  return [`## ${title}\n\n${about}\n\n${links.join('')}`, ...relations.map(relationSection)]
}

const fullName = ({ schema, name }: Pick<Relation, 'schema' | 'name'>): string =>
  schema === 'main' ? name : `${schema}.${name}`

const anchor = (relation: Relation): string => fullName(relation).replaceAll('.', '')

const relationSection = (relation: Relation): string =>
  `### ${fullName(relation)}

${relation.comment}.${relation.key.length === 0 ? '' : ` Key: ${names(relation.key)}.`}${(
    relation.references ?? []
  )
    .map(({ columns, table, to }) => ` Belongs to \`${table}\`: ${names(columns)} = ${names(to)}.`)
    .join('')}

${markdownTable(
  ['Column', 'Type', 'Null', 'Meaning'],
  relation.columns.map(({ name, type, nullable, comment }) => [
    `\`${name}\``,
    type,
    nullable ? 'yes' : 'no',
    comment,
  ]),
)}`

const names = (columns: readonly string[]): string => columns.map((name) => `\`${name}\``).join(', ')
