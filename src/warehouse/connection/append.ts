/** Writes rows with DuckDB's appender, which fills the columns in the order of the table. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { z } from 'zod'
import type { Column, TableDeclaration } from '../../model/columns.js'
import type { CellRow } from '../../model/warehouse.js'
import { appendCell } from './cells.js'

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
    for (const row of rows) {
      for (const column of columns) appendCell(appender, column, row[column.name])
      appender.endRow()
    }
  } finally {
    appender.closeSync()
  }
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
  const tables = result.getRowObjects().map((row) => tableRow.parse(row))
  return new Map(tables.map(({ table, columns }) => [table, columns.items]))
}
