/**
 * The surveys that the settings keep from being read. Listings still show them, and their tasks and changed rows wait, so that they come
 * back whole (docs/decisions/queue-and-refresh.md#0085-some-surveys-now-and-some-not-at-all).
 */
import type { ExcludeRules } from '../../model/run.js'
import type { AccountSql } from '../connection/database.js'
import { literal } from '../connection/ddl.js'

/** Those that the last sync found excluded; empty for a state of a version that knew none. */
export const EXCLUDED = `(SELECT account, survey_id, excluded_by FROM (
    FROM main.freshness UNION ALL BY NAME SELECT NULL::VARCHAR AS excluded_by WHERE false) WHERE excluded_by IS NOT NULL)`

/** The tasks that runs work on. One that says `missing` is among them: no rule hides that a survey is gone. */
export const WORKED_ON = `(FROM _sync.tasks q WHERE q.reason = 'missing' OR NOT EXISTS (
    FROM ${EXCLUDED} x WHERE x.account = q.account AND x.survey_id = q.survey_id))`

/**
 * The first rule that excludes the survey `s` with its pending row `w`, in SQL; null if none does. A status or project must exclude both:
 * a survey that closes is read once more, and one that opens again is read.
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

/** Marks them in `freshness`. Without rules none is. */
export const storeExclusions = (
  sql: AccountSql,
  rules: ExcludeRules = { status: [], surveys: [], projects: [] },
): Promise<void> =>
  sql.run(
    `UPDATE main.freshness f SET excluded_by = e.excluded_by
      FROM (SELECT s.id, ${excludedBy(rules)} AS excluded_by FROM main.surveys s
        LEFT JOIN _sync.pending_surveys w ON w.account = s.account AND w.id = s.id WHERE s.account = $1) e
      WHERE f.account = $1 AND f.survey_id = e.id AND f.excluded_by IS DISTINCT FROM e.excluded_by`,
    [sql.account],
  )
