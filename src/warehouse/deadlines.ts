/** The due dates of the file that people edit. Each sync replaces all of them. */
import type { Deadline } from '../model/tables.js'
import { deadlines } from '../model/tables.js'
import { countOf, type Database } from './connection/database.js'
import { qualified } from './connection/ddl.js'

const TABLE = qualified(deadlines)

/**
 * Replaces the stored due dates by `rows`, or keeps them if `rows` is null. Counts the due dates of surveys and projects that the API does
 * not show.
 */
export const storeDeadlines = (
  database: Database,
  rows: readonly Deadline[] | null,
): Promise<{ readonly stored: number; readonly unknown: number }> =>
  database.transaction(async (sql) => {
    if (rows !== null) {
      await sql.run(`DELETE FROM ${TABLE}`)
      await sql.insert(deadlines, rows)
    }
    const stored = await countOf(sql, `SELECT count(*) AS "Count" FROM ${TABLE}`)
    const unknown = await countOf(
      sql,
      `SELECT count(*) AS "Count" FROM ${TABLE} d ANTI JOIN (FROM main.surveys WHERE _missing_since IS NULL) s
        ON s.account = d.account AND (s.id = d.survey_id OR s.project_id = d.project_id)`,
    )
    return { stored, unknown }
  })
