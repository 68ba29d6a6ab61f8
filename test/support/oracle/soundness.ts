/**
 * Checks the rules that a warehouse must satisfy after every run: the rules of `verify` about keys, parents, histories and views, of which
 * its tests show that a change breaks each, and rules between views that would take `verify` too long.
 */
import {
  HISTORY_RULES,
  PERIOD_RULES,
  type Rule,
  TABLE_RULES,
  VIEW_RULES,
} from '../../../src/verify/local/rules/rows.js'
import { openReader, type Reader } from '../warehouse/duckdb.js'

/** One line per violated rule; none for a sound warehouse. Checks of the views take longer than those of all tables. */
export const unsoundness = async (file: string, withViews = process.env.SLOW === '1'): Promise<string[]> => {
  using reader = await openReader(file)
  return await unsoundnessIn(reader, withViews)
}

export const unsoundnessIn = async (reader: Pick<Reader, 'query'>, withViews = true): Promise<string[]> => {
  const found: string[] = []
  for (const { what, sql } of withViews ? [...TABLES, ...VIEWS] : TABLES) {
    const rows = await reader.query(sql)
    if (rows.length > 0) found.push(`${what}: ${rows.length} rows, the first ${JSON.stringify(rows[0])}`)
  }
  return found
}

interface Check {
  readonly what: string
  /** Selects the rows that violate the rule. */
  readonly sql: string
}

const checkOf = ({ where, says, sql }: Rule): Check => ({ what: `${where}: ${says}`, sql })

const TABLES: readonly Check[] = [
  // DuckDB itself keeps the columns of tables filled.
  ...[...TABLE_RULES.filter(({ rule }) => rule !== 'columns_are_filled'), ...HISTORY_RULES].map(checkOf),
  {
    // A request that fails after its allowance was taken and before it is sent still counts as made.
    what: 'runs have requests that _sync.requests does not count',
    sql: `SELECT r.run_id, r.requests, sum(q.made) AS made FROM _sync.runs r JOIN _sync.requests q USING (run_id, account)
      GROUP BY ALL HAVING made < r.requests`,
  },
  {
    what: 'runs end before they start',
    sql: 'SELECT run_id, started_at, ended_at FROM _sync.runs WHERE ended_at < started_at',
  },
]

const VIEWS: readonly Check[] = [
  ...[...VIEW_RULES, ...PERIOD_RULES].map(checkOf),
  {
    what: 'the last day of progress_daily is not the last observation',
    sql: `SELECT p.account, p.survey_id FROM main.survey_progress p
      LEFT JOIN (SELECT account, survey_id, max_by(observed_at, "day") AS observed_at FROM main.progress_daily GROUP BY ALL) d USING (account, survey_id)
      WHERE d.observed_at IS DISTINCT FROM p._observed_at`,
  },
  {
    what: 'survey_pace expects a day outside of its interval, or has an interval without it',
    sql: `SELECT * FROM main.survey_pace WHERE expected_from > expected_on OR expected_to < expected_on
      OR (expected_on IS NULL AND expected_from IS NOT NULL) OR (expected_from IS NULL AND expected_to IS NOT NULL)`,
  },
  {
    what: 'survey_pace has another gain than progress_daily',
    sql: `SELECT p.account, p.survey_id FROM main.survey_pace p LEFT JOIN (
        SELECT account, survey_id, last(interviews_count ORDER BY "day") - first(interviews_count ORDER BY "day") AS gained,
          nullif(max("day") - min("day"), 0) AS pace_days
        FROM (SELECT *, max("day") OVER (PARTITION BY account, survey_id) AS as_of FROM main.progress_daily)
        WHERE interviews_count IS NOT NULL AND "day" >= as_of - 7 GROUP BY ALL) d USING (account, survey_id)
      WHERE p.pace_days IS DISTINCT FROM d.pace_days OR (p.pace_days > 0 AND p.gained <> d.gained)`,
  },
  {
    what: 'progress_daily confirms days after the last reading, or before the observation',
    sql: `SELECT d.account, d.survey_id, d."day" FROM main.progress_daily d
      JOIN main.survey_progress p USING (account, survey_id) JOIN main.freshness f USING (account, survey_id)
      WHERE d.confirmed_until > greatest(p._observed_at, f.refreshed_at, p._missing_since) OR d.confirmed_until < d.observed_at`,
  },
]
