/** The tables and views for programs: names in snake_case, nothing left out but the SQL of views. */
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import { CATALOG } from './catalog.js'

export const schemaAsJson = (): string =>
  `${JSON.stringify({ schema_version: SCHEMA_VERSION, relations: CATALOG.map(relationToJson) }, null, 2)}\n`

const relationToJson = ({
  kind,
  schema,
  name,
  comment,
  key,
  references,
  columns,
}: (typeof CATALOG)[number]) => ({
  schema,
  name,
  kind,
  comment,
  key,
  references,
  columns: columns.map((column) => ({
    name: column.name,
    type: column.type,
    nullable: column.nullable,
    comment: column.comment,
    values: column.values ?? null,
  })),
})
