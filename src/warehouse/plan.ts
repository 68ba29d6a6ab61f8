/** The plan of the file that people edit. Each sync replaces all of its lines. */
import type { PlanLine } from '../model/tables.js'
import { plan } from '../model/tables.js'
import { countOf, type Database } from './connection/database.js'
import { qualified } from './connection/ddl.js'

const TABLE = qualified(plan)

/**
 * Replaces the stored lines by `rows`, or keeps them if `rows` is null. Counts the lines about what the API does not show.
 */
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
    const unknown = await countOf(
      sql,
      `SELECT count(*) AS "Count" FROM ${TABLE} d ANTI JOIN (FROM main.surveys WHERE _missing_since IS NULL) s
        ON s.account = d.account AND (s.id = d.survey_id OR s.project_id = d.project_id)`,
    )
    return { stored, unknown }
  })
