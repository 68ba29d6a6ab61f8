/** The statements that create an empty warehouse. The work database is created with the same ones. */
import { ALL_TABLES } from '../../model/sync-tables.js'
import { commentsOn, createTable } from '../../warehouse/connection/ddl.js'
import { ALL_VIEWS } from '../../warehouse/views/all.js'
import { createView } from '../../warehouse/views/view-declaration.js'

export const schemaAsSql = (): string =>
  [
    ['CREATE SCHEMA _sync'],
    ...ALL_TABLES.map((table) => [createTable(table), ...commentsOn(table)]),
    ...ALL_VIEWS.map(createView),
  ]
    .map((statements) => statements.map((statement) => `${statement};\n`).join(''))
    .join('\n')
