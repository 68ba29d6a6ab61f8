/** Writes a result as an Excel workbook of one sheet. */
import type { Column } from '../../model/columns.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { quote } from '../../warehouse/connection/ddl.js'
import { DIGITS_MAX, selectSheetCell, sheetRowSchema } from '../text/sheet.js'
import { writeOneSheet } from '../text/workbook.js'
import { exact, isInteger, isNumber, isTimestamp } from './lines.js'
import { namedRows, ofStatement, type ResultColumn, type Statement } from './statement.js'

/** Returns the number of rows. */
export const writeWorkbook = async (
  sql: Sql,
  statement: Statement,
  file: string,
  signal: AbortSignal,
): Promise<number> => {
  const columns = statement.columns.map(sheetColumn)
  const typed = statement.columns.map(
    (column, index) => `${sheetSql(column, columns[index])} AS ${quote(column.name)}`,
  )
  const select = `SELECT ${columns.map(selectSheetCell).join(', ')} FROM (SELECT ${typed.join(', ')} FROM ${namedRows(statement)}) t`
  const batches = sql.batches(sheetRowSchema, select, statement.parameters)
  const { rows } = await ofStatement(() => writeOneSheet(file, { name: 'query', columns, batches }, signal))
  return rows
}

/** The column of a sheet, by the types that our tables have. */
const sheetColumn = (column: ResultColumn): Column => {
  const { name, type } = column
  const nullable = { name, nullable: true, comment: '' }
  if (isInteger(column) || isLongDecimal(type)) return { ...nullable, type: 'BIGINT' }
  if (isNumber(column)) return { ...nullable, type: 'DOUBLE' }
  if (isTimestamp(column)) return { ...nullable, type: 'TIMESTAMPTZ' }
  return { ...nullable, type: type === 'DATE' || type === 'BOOLEAN' || type === 'JSON' ? type : 'VARCHAR' }
}

const isLongDecimal = (type: string): boolean =>
  Number(/^DECIMAL\((\d+),\d+\)$/.exec(type)?.[1] ?? 0) > DIGITS_MAX

const sheetSql = (resultColumn: ResultColumn, column: Column | undefined): string => {
  const cell = quote(resultColumn.name)
  // As text, because DuckDB has times that JavaScript does not have.
  if (isTimestamp(resultColumn)) return exact(resultColumn)
  if (column?.type === 'DOUBLE') return `CAST(${cell} AS DOUBLE)`
  return column?.type === 'VARCHAR' ? `CAST(${cell} AS VARCHAR)` : cell
}
