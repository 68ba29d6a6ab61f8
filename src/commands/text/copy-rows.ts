/** DuckDB writes the rows into a file itself, so a million rows need no memory of ours. */
import { z } from 'zod'
import { bigintCell } from '../../warehouse/connection/cells.js'
import type { NamedParameters, Sql } from '../../warehouse/connection/database.js'
import { literal } from '../../warehouse/connection/ddl.js'

/** Options of COPY. A whole row group is in memory while it is written, and these commands have little memory. */
export const PARQUET = 'FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 30720'

/** Writes the rows of `select` into `file`. Returns their number. */
export const copyRows = async (
  sql: Sql,
  select: string,
  file: string,
  options: string,
  parameters: NamedParameters = {},
): Promise<number> => {
  const [copied] = await sql.rows(
    z.object({ Count: bigintCell }),
    `COPY (${select}) TO ${literal(file)} (${options}, USE_TMP_FILE false)`,
    parameters,
  )
  return copied?.Count ?? 0
}
