/**
 * dbt sources with descriptions and tests. They need dbt-core 1.10.8 or newer and dbt-duckdb, and no dbt packages. dbt's own
 * `unique` and `relationships` test one column; they accept an expression, so we pass one over all columns of the key.
 */
import { Document } from 'yaml'
import type { Column, Reference } from '../../model/columns.js'
import { CATALOG, type CatalogEntry } from './catalog.js'

export const schemaAsDbt = (): string => {
  const document = new Document({ version: 2, sources: SOURCES.map(source) })
  document.commentBefore = HEAD
  return document.toString({ lineWidth: 0 })
}

const HEAD = ` dbt sources of a fieldwork-sync warehouse: fieldwork-sync schema --format dbt
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

const uniqueKey = (relation: CatalogEntry) =>
  (relation.key.length === 0 ? [] : [relation.key]).map((key) => ({
    unique: {
      name: `fieldwork_${relation.name}_key_is_unique`,
      arguments: { column_name: expression(relation, key) },
    },
  }))

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
