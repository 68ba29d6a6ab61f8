/**
 * Checks the rules that the views must satisfy after every run. Keys are unique, and only nullable columns have nulls.
 * No row is valid before it was read, at the same time as the next one, or for longer than its survey is known.
 */
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'

/** `sql` selects the rows that violate the rule. */
export const viewChecks = (): { readonly what: string; readonly sql: string }[] => [
  ...ALL_VIEWS.flatMap(({ name, key, columns }) => [
    {
      what: `${name} has rows with the same key`,
      sql: `SELECT ${list(key)}, count(*) AS rows FROM main.${name} GROUP BY ALL HAVING count(*) > 1`,
    },
    {
      what: `${name} has a null in a column that is declared not null`,
      sql: `SELECT ${list(key)} FROM main.${name} WHERE ${columns
        .filter(({ nullable }) => !nullable)
        .map((column) => `"${column.name}" IS NULL`)
        .join(' OR ')}`,
    },
  ]),
  ...PERIODS.flatMap(({ view, record, from, to }) => [
    {
      what: `${view} has rows that are confirmed before their start or after their end, or that end before they start`,
      sql: `SELECT * FROM main.${view} WHERE confirmed_until < "${from}" OR confirmed_until > "${to}" OR "${to}" < "${from}"`,
    },
    {
      what: `${view} has rows that overlap the next one`,
      sql: `SELECT * FROM (SELECT *, lead("${from}") OVER (PARTITION BY ${record} ORDER BY "${from}") AS next_at FROM main.${view})
        WHERE "${to}" > next_at OR ("${to}" IS NULL AND next_at IS NOT NULL)`,
    },
  ]),
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

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

const PERIODS = [
  { view: 'survey_periods', record: 'account, id', from: 'valid_from', to: 'valid_to' },
  { view: 'sample_source_periods', record: 'account, survey_id, id', from: 'valid_from', to: 'valid_to' },
  { view: 'survey_progress_periods', record: 'account, survey_id', from: 'observed_at', to: 'ended_at' },
  {
    view: 'sample_source_progress_periods',
    record: 'account, survey_id, sample_source_id',
    from: 'observed_at',
    to: 'ended_at',
  },
] as const
