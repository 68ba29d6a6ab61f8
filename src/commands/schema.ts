/** What `schema` prints, by format. It reads no settings and no warehouse. */
import { schemaAsJson, schemaAsMarkdown, schemaAsSql } from './schema/catalog.js'
import { schemaAsDbt } from './schema/dbt.js'

export const schemaAs = { sql: schemaAsSql, markdown: schemaAsMarkdown, json: schemaAsJson, dbt: schemaAsDbt }
