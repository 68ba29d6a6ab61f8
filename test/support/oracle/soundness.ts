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
import { INTERVIEW_STATUSES } from '../api/api-document.js'
import { ALL_CASES } from '../suite/cases.js'
import { openReader, type Reader } from '../warehouse/duckdb.js'

/** One line per violated rule; none for a sound warehouse. Checks of the views take longer than those of all tables. */
export const unsoundness = async (file: string, withViews = ALL_CASES): Promise<string[]> => {
  using reader = await openReader(file)
  return await unsoundnessIn(reader, withViews)
}

export const unsoundnessIn = async (
  reader: Pick<Reader, 'query'>,
  withViews = ALL_CASES,
): Promise<string[]> => {
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

const INTERVIEWS = INTERVIEW_STATUSES.map((status) => `coalesce(${status}_individuals, 0)`).join(' + ')

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
      OR (expected_on IS NULL AND expected_from IS NOT NULL) OR (expected_from IS NULL AND expected_to IS NOT NULL)
      OR (expected_on > due_on AND deadline NOT IN ('late', 'reached')) OR (expected_on <= due_on AND needed_per_day > per_day)`,
  },
  {
    what: 'survey_pace has another gain than progress_daily on the days in fieldwork',
    // progress_daily ends with a closed survey, and the pace with its last reading. A clock that was ahead has reconstructed days after it.
    // With several runs a day, the first reading after a version of a survey says whether the version is of its own day. progress_daily also
    // has days that only daily_windows know, between two readings.
    sql: `WITH read_days AS (
        SELECT account, survey_id, "day", interviews_count, progress_day FROM main.progress_daily d
          JOIN main.freshness USING (account, survey_id) WHERE "day" <= progress_day
          AND NOT EXISTS (FROM main.survey_progress_history n WHERE n.account = d.account AND n.survey_id = d.survey_id
            AND n.observed_at > d.observed_at AND n."day" > d."day" AND n.day_before < d."day")
        UNION ALL
        SELECT account, survey_id, last_day + CAST(unnest(range(1, progress_day - last_day + 1)) AS INTEGER), last_count, progress_day FROM (
          SELECT account, survey_id, max("day") AS last_day, arg_max_null(interviews_count, "day") AS last_count FROM main.progress_daily
            JOIN main.surveys s USING (account) WHERE s.id = survey_id AND s._missing_since IS NULL GROUP BY ALL)
          JOIN main.freshness USING (account, survey_id)
      ), known AS (
        SELECT account, survey_id, "day", interviews_count, false AS is_open FROM read_days
        UNION ALL
        SELECT account, survey_id, "day", interviews_count, as_of >= modified_at OR ${INTERVIEWS} > 0
        FROM main.survey_progress_reconstructed
        JOIN (SELECT account, id AS survey_id, min(updated_at) AS modified_at FROM main.surveys_history GROUP BY ALL) USING (account, survey_id)
        JOIN (SELECT account, survey_id, count(*) AS observed_days, max("day") AS last_day FROM read_days GROUP BY ALL) USING (account, survey_id)
        WHERE observed_days <= 7 AND "day" <= last_day
      ), days AS (
        SELECT account, survey_id, "day", lag("day") OVER w AS day_before, lag(is_open) OVER w AS was_open, interviews_count - lag(interviews_count) OVER w AS gain
        FROM known WHERE interviews_count IS NOT NULL WINDOW w AS (PARTITION BY account, survey_id ORDER BY "day")
      ), versions AS (
        SELECT account, id AS survey_id, status, valid_from, valid_to, timezone('UTC', valid_from)
          + to_microseconds(coalesce((SELECT arg_max(ahead_us, since) FROM _sync.clock_changes WHERE since <= valid_from), 0)) AS local_from
        FROM main.surveys_history
      ), statuses AS (
        SELECT v.*,
          coalesce((SELECT arg_min("day", observed_at) FROM main.survey_progress_history o
            WHERE o.account = v.account AND o.survey_id = v.survey_id AND observed_at >= valid_from
              AND observed_at <= to_timestamp(epoch(valid_from) + 43200) AND (valid_to IS NULL OR observed_at < valid_to)),
            DATE '-infinity') = CAST(local_from AS DATE) AS is_of_its_day
        FROM versions v
      ), status_days AS (
        SELECT account, survey_id, status,
          CAST(local_from - CASE WHEN is_of_its_day THEN INTERVAL 0 HOURS ELSE INTERVAL 12 HOURS END AS DATE) AS from_day,
          lead(from_day) OVER (PARTITION BY account, survey_id ORDER BY valid_from) AS until_day
        FROM statuses
      ), in_field AS (
        SELECT account, survey_id, "day", "day" - day_before AS days, gain FROM days d
        WHERE day_before >= (SELECT max("day") - 28 FROM read_days a WHERE a.account = d.account AND a.survey_id = d.survey_id)
          AND (was_open OR EXISTS (FROM status_days s WHERE s.account = d.account AND s.survey_id = d.survey_id AND from_day <= day_before))
          AND NOT EXISTS (FROM status_days s WHERE s.account = d.account AND s.survey_id = d.survey_id AND status <> 'fieldwork'
            AND from_day <= "day" AND coalesce(until_day > day_before, true))
      ), paces AS (
        SELECT account, survey_id, sum(gain) AS gained, sum(days) AS pace_days
        FROM (SELECT *, sum(days) OVER (PARTITION BY account, survey_id ORDER BY "day" DESC) AS used FROM in_field)
        WHERE used - days < 7 GROUP BY ALL
      )
      SELECT p.account, p.survey_id FROM main.survey_pace p LEFT JOIN paces d USING (account, survey_id)
      WHERE p.pace_days IS DISTINCT FROM d.pace_days OR p.gained IS DISTINCT FROM d.gained`,
  },
  {
    what: 'progress_daily has days after the last reading',
    sql: `SELECT d.account, d.survey_id, d."day" FROM main.progress_daily d JOIN main.freshness f USING (account, survey_id)
      WHERE d."day" > f.progress_day + 1`,
  },
  {
    what: 'the views of days go on after the end of a survey, without a change',
    sql: `SELECT account, survey_id, max("day") AS last_day, changed_on
      FROM (SELECT account, survey_id, "day" FROM main.progress_daily UNION SELECT account, survey_id, "day" FROM main.source_progress_daily)
      JOIN (SELECT account, survey_id, max("day") AS changed_on FROM (
          SELECT account, survey_id, "day" FROM main.survey_progress_history
          UNION ALL SELECT account, survey_id, "day" FROM main.sample_source_progress_history
          UNION ALL SELECT account, id, CAST(updated_at AS DATE) + 1 FROM main.surveys) GROUP BY ALL) USING (account, survey_id)
      JOIN main.surveys s USING (account)
      WHERE s.id = survey_id AND s.status IN ('complete', 'draft', 'user_demo') GROUP BY ALL HAVING last_day > changed_on`,
  },
]
