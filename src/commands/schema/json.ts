/** The tables and views for programs: names in snake_case, nothing left out but the SQL of views. */
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import { CATALOG, type Relation } from './catalog.js'

export const schemaAsJson = (): string =>
  `${JSON.stringify({ schema_version: SCHEMA_VERSION, relations: CATALOG.map(relationToJson) }, null, 2)}\n`

const relationToJson = ({ columns, ...relation }: Relation) => ({
  ...relation,
  columns: columns.map((column) => ({ ...column, values: column.values ?? null })),
})
