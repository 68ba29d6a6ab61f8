/**
 * dbt sources with descriptions and tests. Plain dbt-core 1.11 or newer with dbt-duckdb reads them, without packages:
 * dbt's own `unique` and `relationships` test one column, and take an expression for it, here of the whole key.
 */
import { Document } from 'yaml'
import type { Column, Reference } from '../../model/columns.js'
import { CATALOG, type Relation } from './catalog.js'

export const schemaAsDbt = (): string => {
  const document = new Document({ version: 2, sources: SOURCES.map(source) })
  document.commentBefore = HEAD
  return document.toString({ lineWidth: 0 })
}

const HEAD = ` dbt sources of a fieldwork-sync warehouse: fieldwork-sync schema --format dbt
 The published file is attached read-only, in profiles.yml, under the alias fieldwork. Without read_only: true dbt locks out
 all other readers:
   type: duckdb
   path: analytics.duckdb
   attach: [{path: /data/fieldwork/fieldwork.duckdb, alias: fieldwork, read_only: true}]
 Needs dbt-core 1.11 or newer and dbt-duckdb, and no packages; from dbt-core 1.10.5 on with the flag
 require_generic_test_arguments_property: true in dbt_project.yml. Freshness assumes a run every night.`

const SOURCES = [
  {
    name: 'fieldwork',
    schema: 'main',
    description: 'Surveys, sample sources and fieldwork progress, now and then',
  },
  { name: 'fieldwork_sync', schema: '_sync', description: 'How the job that reads them is doing' },
] as const

const source = ({ name, schema, description }: (typeof SOURCES)[number]) => ({
  name,
  description,
  database: 'fieldwork',
  schema,
  tables: CATALOG.filter((relation) => relation.schema === schema).map(sourceTable),
})

const sourceTable = (relation: Relation) => ({
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

/** The end of runs tells whether the job is alive; in an organization where nothing happens, nothing is refreshed. */
const freshnessOf = ({ schema, name }: Relation) => {
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

const uniqueKey = (relation: Relation) =>
  relation.key.length === 0
    ? []
    : [
        {
          unique: {
            name: `fieldwork_${relation.name}_key_is_unique`,
            arguments: { column_name: expression(relation, relation.key) },
          },
        },
      ]

const relationships = (relation: Relation) =>
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

const referenced = ({ table }: Reference): Relation => {
  const relation = CATALOG.find(({ schema, name }) => schema === 'main' && name === table)
  if (relation === undefined) throw new TypeError(`there is no table ${table} to belong to`)
  return relation
}

/** Several columns as one text, or the only one by its name. A moment is written in microseconds: the same in any time zone. */
const expression = ({ name, columns }: Relation, of: readonly string[]): string => {
  const parts = of.map((wanted) => {
    const column = columns.find((declared) => declared.name === wanted)
    if (column === undefined) throw new TypeError(`${name} has no column ${wanted}`)
    const value = column.type === 'TIMESTAMPTZ' ? `epoch_us(${column.name})` : column.name
    return column.nullable ? `coalesce(cast(${value} as varchar), '')` : value
  })
  return parts.length === 1 ? of.join('') : `concat_ws('|', ${parts.join(', ')})`
}
