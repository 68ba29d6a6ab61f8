/** The rows of a query as a Parquet file. */
import { published } from '../../publish/parquet/sql.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { quote } from '../../warehouse/connection/ddl.js'
import { copyRows, PARQUET } from '../text/copy-rows.js'
import { namedRows, ofStatement, type Statement } from './statement.js'

/** Returns the number of rows. */
export const writeParquet = (sql: Sql, statement: Statement, file: string): Promise<number> => {
  const cells = statement.columns.map((column) => `${published(column)} AS ${quote(column.name)}`)
  const select = `SELECT ${cells.join(', ')} FROM ${namedRows(statement)}`
  return ofStatement(() => copyRows(sql, select, file, PARQUET, statement.parameters))
}
