/** The plan of the file that people edit. Each sync replaces all of its lines. */
import { z } from 'zod'
import type { PlanLine } from '../model/tables.js'
import { plan } from '../model/tables.js'
import { bigintCell } from './connection/cells.js'
import { countOf, type Database, type Sql } from './connection/database.js'
import { qualified } from './connection/ddl.js'
import { sourceLinesSteps } from './views/plan.js'

const TABLE = qualified(plan)

/** Replaces the stored lines by `rows`, or keeps them if `rows` is null. Counts the lines about what the API does not show. */
export const storePlan = (
  database: Database,
  rows: readonly PlanLine[] | null,
): Promise<{ readonly stored: number; readonly unknown: number }> =>
  database.transaction(async (sql) => {
    if (rows !== null) {
      await sql.run(`DELETE FROM ${TABLE}`)
      await sql.insert(plan, rows)
    }
    const stored = await countOf(sql, `SELECT count(*) AS "Count" FROM ${TABLE}`)
    const unknown = await countOf(sql, `SELECT count(*) AS "Count" FROM (WITH ${unknownLines(TABLE)})`)
    return { stored, unknown }
  })

/** The lines of `rows` about surveys, projects and sources that the API does not show, by their numbers. */
export const unknownLinesOf = async (sql: Sql, rows: readonly PlanLine[]): Promise<ReadonlySet<number>> => {
  const type = JSON.stringify([Object.fromEntries(plan.columns.map(({ name, type }) => [name, type]))])
  const unknown = await sql.rows(
    z.object({ line: bigintCell }),
    `WITH lines AS (SELECT unnest(from_json(CAST($1 AS JSON), '${type}'), recursive := true)), ${unknownLines('lines')}`,
    [JSON.stringify(rows)],
  )
  return new Set(unknown.map(({ line }) => line))
}

/** Steps and a SELECT, over a table of lines. */
const unknownLines = (lines: string): string => `${sourceLinesSteps(lines)},
shown_surveys AS (
  SELECT account, id AS survey_id, project_id FROM main.surveys WHERE _missing_since IS NULL
),
shown_sources AS (
  SELECT a.account, a.survey_id, a.id AS sample_source_id
  FROM main.sample_sources a
  SEMI JOIN shown_surveys s ON s.account = a.account AND s.survey_id = a.survey_id
  WHERE a._missing_since IS NULL
),
known_lines AS (
  SELECT p.line
  FROM ${lines} p
  SEMI JOIN shown_surveys s ON s.account = p.account AND s.survey_id = p.survey_id
  WHERE p.sample_source_id IS NULL AND p.source IS NULL
  UNION ALL
  SELECT p.line
  FROM ${lines} p
  SEMI JOIN shown_surveys s ON s.account = p.account AND s.project_id = p.project_id
  WHERE p.source IS NULL
  UNION ALL
  SELECT l.line
  FROM source_lines l
  SEMI JOIN shown_sources s USING (account, survey_id, sample_source_id)
)
SELECT p.line FROM ${lines} p ANTI JOIN known_lines k ON k.line = p.line`
