/** The rows of a query as a Parquet file. */
import { z } from 'zod'
import { bigintCell } from '../../warehouse/connection/cells.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { literal, quote } from '../../warehouse/connection/ddl.js'
import { namedRows, ofStatement, type Statement } from './statement.js'

/** DuckDB writes the file, so a million rows need no memory of ours. Returns the number of rows. */
export const writeParquet = async (sql: Sql, statement: Statement, file: string): Promise<number> => {
  // polars reads Parquet's JSON type as bytes.
  const cells = statement.columns.map(({ name, type }) =>
    type === 'JSON' ? `CAST(${quote(name)} AS VARCHAR) AS ${quote(name)}` : quote(name),
  )
  const [copied] = await ofStatement(() =>
    sql.rows(
      z.object({ Count: bigintCell }),
      `COPY (SELECT ${cells.join(', ')} FROM ${namedRows(statement)})
      TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 30720, USE_TMP_FILE false)`,
      statement.parameters,
    ),
  )
  return copied?.Count ?? 0
}
