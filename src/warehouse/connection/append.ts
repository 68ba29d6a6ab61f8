/** Writes rows with DuckDB's appender, which fills the columns in the order of the table. */
import { setImmediate as eventsHandled } from 'node:timers/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import { parse } from '../../base/parse.js'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import { APPENDED_TYPES, appendedValue } from './cells.js'
import { literal, qualified } from './ddl.js'
import { DuckDBDataChunk } from './duckdb.js'

interface Target {
  readonly catalog?: string
  readonly schema: string
  readonly name: string
}

/** `columns` are all columns of the table, in its order. A missing cell becomes null. */
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
        for (const [index, column] of columns.entries())
          appender.appendValue(appendedValue(column, row[column.name]), types[index])
        appender.endRow()
      }
    else
      for (let from = 0; from < rows.length; from += CHUNK_ROWS_MAX) {
        // A chunk of wide rows takes 10 ms, as does closing. The appender is synchronous, so events are handled here.
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

/**
 * From this many rows on, a chunk is faster than single cells: making a chunk takes half a millisecond, and single cells of 150 rows of 36
 * columns take four times as long.
 */
const CHUNK_ROWS_MIN = 16
/** DuckDB's limit. */
const CHUNK_ROWS_MAX = 2_048

/**
 * The declared columns of a table in the order of the file, where columns that were added later come last. A column of a newer version is
 * not declared, and stays null. The order is read once, because no table changes after its migration.
 */
export const storedColumnsOf = (connection: DuckDBConnection) => {
  const stored = new Map<TableDeclaration, readonly Column[]>()
  return async (table: TableDeclaration): Promise<readonly Column[]> => {
    const known = stored.get(table)
    if (known !== undefined) return known
    const declared = new Map(table.columns.map((column) => [column.name, column]))
    const columns = (await readColumnNames(connection, table)).map(
      (name): Column => declared.get(name) ?? { name, type: 'VARCHAR', nullable: true, comment: '' },
    )
    stored.set(table, columns)
    return columns
  }
}

const readColumnNames = async (connection: DuckDBConnection, table: TableDeclaration) => {
  // Not from `duckdb_columns()`, which plans every view, and takes 7 ms instead of 0.3 ms.
  const result = await connection.runAndReadAll(
    `SELECT name FROM pragma_table_info(${literal(qualified(table))}) ORDER BY cid ASC`,
  )
  return result.getRows().map(([name]) => parse(z.string(), name, 'a name of the catalog'))
}
