/** The tables and views for programs: all declared facts except the SQL of views, with names in snake_case. */
import { SCHEMA_VERSION } from '../../model/sync-tables.js'
import { CATALOG, type Relation } from './catalog.js'

export const schemaAsJson = (): string =>
  `${JSON.stringify({ schema_version: SCHEMA_VERSION, relations: CATALOG.map(relationToJson) }, null, 2)}\n`

const relationToJson = ({ columns, ...relation }: Relation) => ({
  ...relation,
  columns: columns.map((column) => ({ ...column, values: column.values ?? null })),
})
