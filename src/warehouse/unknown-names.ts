/** Names in the settings that fit no survey or project. Most are typing errors, or surveys that are gone. */
import { z } from 'zod'
import type { ExcludeRules } from '../model/run.js'
import { bigintCell, varcharCell } from './connection/cells.js'
import type { Sql } from './connection/database.js'

/** A survey or a project of an account. */
interface Named {
  readonly account: string
  readonly survey: number | null
  readonly project: string | null
}

/** The surveys and projects that rules exclude. */
export const namedBy = (account: string, { surveys, projects }: ExcludeRules): readonly Named[] => [
  ...surveys.map((survey) => ({ account, survey, project: null })),
  ...projects.map((project) => ({ account, survey: null, project })),
]

/** The names that the API does not show, in words: `survey 99`, `project "P-2"`. */
export const unknownNames = async (sql: Sql, names: readonly Named[]): Promise<readonly string[]> => {
  if (names.length === 0) return []
  const rows = await sql.rows(
    z.object({ survey: bigintCell.nullable(), project: varcharCell.nullable() }),
    `WITH shown AS (FROM main.surveys WHERE _missing_since IS NULL), n AS (
        SELECT unnest(from_json(CAST($1 AS JSON), '[{"account": "VARCHAR", "survey": "BIGINT", "project": "VARCHAR"}]'), recursive := true))
      SELECT DISTINCT n.survey, n.project FROM n
      ANTI JOIN shown s ON s.account = n.account AND s.id = n.survey
      ANTI JOIN shown p ON p.account = n.account AND p.project_id = n.project
      ORDER BY ALL`,
    [JSON.stringify(names)],
  )
  return rows.map(({ survey, project }) =>
    survey === null ? `project ${JSON.stringify(project)}` : `survey ${survey}`,
  )
}
