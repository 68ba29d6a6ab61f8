/** Writes rows with DuckDB's appender, which fills the columns in the order of the table. */
import { setImmediate as eventsHandled } from 'node:timers/promises'
import { type DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api'
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import { APPENDED_TYPES, appendedValue } from './cells.js'

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
  const types = columns.map(({ type }) => APPENDED_TYPES[type])
  try {
    if (rows.length < CHUNK_ROWS_MIN)
      for (const row of rows) {
        for (const [place, column] of columns.entries())
          appender.appendValue(appendedValue(column, row[column.name]), types[place])
        appender.endRow()
      }
    else
      for (let from = 0; from < rows.length; from += CHUNK_ROWS_MAX) {
        // A chunk of wide rows takes 10 ms, as does closing. The appender has no asynchronous calls.
        await eventsHandled()
        const part = rows.slice(from, from + CHUNK_ROWS_MAX)
        const chunk = DuckDBDataChunk.create(types, part.length)
        chunk.setColumns(columns.map((column) => part.map((row) => appendedValue(column, row[column.name]))))
        appender.appendDataChunk(chunk)
        await eventsHandled()
      }
  } finally {
    appender.closeSync()
  }
}

/** Making a chunk takes half a millisecond. From here on, single cells take longer: four times as long for 150 rows of 36 columns. */
const CHUNK_ROWS_MIN = 16
/** DuckDB's limit. */
const CHUNK_ROWS_MAX = 2_048

/**
 * The declared columns of a table in the order of the file, where columns that were added later come last. A column that a newer
 * version added is not declared, and stays null. The order is read once, because no table changes after its migration.
 */
export const storedColumnsOf = (connection: DuckDBConnection) => {
  let namesByTable: ReadonlyMap<string, readonly string[]> | null = null
  return async ({ schema, name: table, columns }: TableDeclaration): Promise<readonly Column[]> => {
    namesByTable ??= await readColumnNames(connection)
    const declared = new Map(columns.map((column) => [column.name, column]))
    const names = namesByTable.get(`${schema}.${table}`) ?? []
    return names.map((name) => declared.get(name) ?? { name, type: 'VARCHAR', nullable: true, comment: '' })
  }
}

const tableRow = z.object({ table: z.string(), columns: z.object({ items: z.array(z.string()) }) })

const readColumnNames = async (connection: DuckDBConnection) => {
  const result = await connection.runAndReadAll(
    `SELECT schema_name || '.' || table_name AS "table", list(column_name ORDER BY column_index) AS columns
      FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal GROUP BY ALL`,
  )
  const tables = result.getRowObjects().map((row) => parse(tableRow, row, 'a row of the catalog'))
  return new Map(tables.map(({ table, columns }) => [table, columns.items]))
}
