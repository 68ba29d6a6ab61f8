/** Writes rows with DuckDB's appender, which fills the columns in the order of the table. */

import { setImmediate as eventsHandled } from 'node:timers/promises'
import { type DuckDBAppender, type DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api'
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import { appendCell, chunkType, chunkValue } from './cells.js'

interface Target {
  readonly catalog?: string
  readonly schema: string
  readonly name: string
}

/** `columns` are all columns of the table, in its order. A cell that is missing in a row becomes null. */
export const appendTo = async (
  connection: DuckDBConnection,
  { catalog, schema, name }: Target,
  columns: readonly Column[],
  rows: readonly CellRow[],
): Promise<void> => {
  const appender = await connection.createAppender(name, schema, catalog)
  try {
    if (rows.length < CHUNK_ROWS_MIN) appendRows(appender, columns, rows)
    else
      for (let from = 0; from < rows.length; from += CHUNK_ROWS_MAX) {
        // A chunk of wide rows takes 10 ms, as does closing. The appender has no asynchronous calls.
        await eventsHandled()
        appendChunk(appender, columns, rows.slice(from, from + CHUNK_ROWS_MAX))
        await eventsHandled()
      }
  } finally {
    appender.closeSync()
  }
}

/** Making a chunk takes half a millisecond. From here on it takes less time than single cells: half for 2,000 rows. */
const CHUNK_ROWS_MIN = 256
/** DuckDB's limit. */
const CHUNK_ROWS_MAX = 2_048

const appendRows = (appender: DuckDBAppender, columns: readonly Column[], rows: readonly CellRow[]): void => {
  for (const row of rows) {
    for (const column of columns) appendCell(appender, column, row[column.name])
    appender.endRow()
  }
}

const appendChunk = (
  appender: DuckDBAppender,
  columns: readonly Column[],
  rows: readonly CellRow[],
): void => {
  const chunk = DuckDBDataChunk.create(columns.map(chunkType), rows.length)
  chunk.setColumns(columns.map((column) => rows.map((row) => chunkValue(column, row[column.name]))))
  appender.appendDataChunk(chunk)
}

/**
 * The declared columns of a table in the order of the file, where columns that were added later come last. A column that a newer
 * version added is not declared, and stays null. The order is read once, because no table changes after its migration.
 */
export const storedColumnsOf = (connection: DuckDBConnection) => {
  let namesByTable: ReadonlyMap<string, readonly string[]> | null = null
  return async (table: TableDeclaration): Promise<readonly Column[]> => {
    namesByTable ??= await readColumnNames(connection)
    const declared = new Map(table.columns.map((column) => [column.name, column]))
    const names = namesByTable.get(`${table.schema}.${table.name}`) ?? []
    return names.map((name) => declared.get(name) ?? undeclared(name))
  }
}

const undeclared = (name: string): Column => ({ name, type: 'VARCHAR', nullable: true, comment: '' })

const tableRow = z.object({ table: z.string(), columns: z.object({ items: z.array(z.string()) }) })

const readColumnNames = async (connection: DuckDBConnection) => {
  const result = await connection.runAndReadAll(
    `SELECT schema_name || '.' || table_name AS "table", list(column_name ORDER BY column_index) AS columns
      FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal GROUP BY ALL`,
  )
  const tables = result.getRowObjects().map((row) => parse(tableRow, row, 'a row of the catalog'))
  return new Map(tables.map(({ table, columns }) => [table, columns.items]))
}
