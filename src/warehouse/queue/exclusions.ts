/**
 * The surveys that the settings exclude from reading. Listings still show them, and their tasks and changed rows wait, so that nothing is
 * lost when they are included again (docs/decisions/queue-and-refresh.md#0085-some-surveys-now-and-some-not-at-all).
 */
import type { ExcludeRules } from '../../model/run.js'
import type { AccountSql } from '../connection/database.js'
import { literal } from '../connection/ddl.js'
import { namedBy, unknownNames } from '../unknown-names.js'

/**
 * The first rule that excludes the survey `s` with its pending row `w`, in SQL; null if no rule excludes it. A rule by status or project
 * must exclude both rows: a survey that closes is read once more, and a survey that opens again is read.
 */
export const excludedBy = ({ status, surveys, projects }: ExcludeRules): string => {
  const isIn = (value: string, list: readonly string[]) => `${value} IN (${['NULL', ...list].join(', ')})`
  const areIn = (column: string, texts: readonly string[]) => {
    const list = texts.map(literal)
    return `${isIn(`s.${column}`, list)} AND (w.id IS NULL OR ${isIn(`w.${column}`, list)})`
  }
  return `CASE WHEN ${isIn('s.id', surveys.map(String))} THEN 'id' WHEN ${areIn('status', status)} THEN 'status'
    WHEN ${areIn('project_id', projects)} THEN 'project' END`
}

/** Marks the excluded surveys in `freshness`; without rules, none. Returns the names in the rules that fit no survey. */
export const storeExclusions = async (
  sql: AccountSql,
  rules: ExcludeRules = { status: [], surveys: [], projects: [] },
): Promise<readonly string[]> => {
  await sql.run(
    `UPDATE main.freshness f SET excluded_by = e.excluded_by
      FROM (SELECT s.id, ${excludedBy(rules)} AS excluded_by FROM main.surveys s
        LEFT JOIN _sync.pending_surveys w ON w.account = s.account AND w.id = s.id WHERE s.account = $1) e
      WHERE f.account = $1 AND f.survey_id = e.id AND f.excluded_by IS DISTINCT FROM e.excluded_by`,
    [sql.account],
  )
  return await unknownNames(sql, namedBy(sql.account, rules))
}
