/** Divides the surveys of a state into parts, so that the memory for its views does not grow with the number of surveys. */
import { z } from 'zod'
import { isPartitioned, PUBLISHED_TABLES } from '../../publish/parquet/tables.js'
import { bigintCell, varcharCell } from '../../warehouse/connection/cells.js'
import type { Sql } from '../../warehouse/connection/database.js'
import { qualified, quote } from '../../warehouse/connection/ddl.js'

/** A table of which a view shows the surveys of one part. A temporary view of the same name hides the table. */
interface TableOfPart {
  readonly name: string
  readonly sql: string
}

/** The tables of each part. A survey is in one part with all of its rows. */
export const surveyParts = async (sql: Sql): Promise<readonly (readonly TableOfPart[])[]> => {
  const [row] = await sql.rows(z.object({ database: varcharCell }), 'SELECT current_database() AS database')
  const firsts = await sql.rows(z.object({ first: bigintCell }), FIRST_SURVEYS)
  const bounds = [null, ...firsts.slice(1).map(({ first }) => first), null]
  return bounds.slice(1).map((end, index) => {
    const begin = bounds[index] ?? null
    return PUBLISHED_TABLES.filter(isPartitioned).map(({ declaration, surveyId }) => {
      const id = quote(surveyId)
      const conditions = [
        ...(begin === null ? [] : [`${id} >= ${begin}`]),
        ...(end === null ? [] : [`${id} < ${end}`]),
      ]
      const rows = `FROM ${quote(row?.database ?? '')}.${qualified(declaration)}`
      return {
        name: declaration.name,
        sql: conditions.length === 0 ? rows : `${rows} WHERE ${conditions.join(' AND ')}`,
      }
    })
  })
}

/** Of the longest history. The joins of a part fit into the memory of `verify`. */
const ROWS_OF_PART = 1_000_000

const FIRST_SURVEYS = `SELECT min(survey_id) AS first FROM (
    SELECT survey_id, (sum(readings) OVER (ORDER BY survey_id ASC) - readings) // ${ROWS_OF_PART} AS part
    FROM (SELECT survey_id, count(*) AS readings FROM main.sample_source_progress_history GROUP BY ALL))
  GROUP BY part ORDER BY first ASC`
