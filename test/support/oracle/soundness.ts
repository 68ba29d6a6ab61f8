/**
 * Checks the rules that a warehouse must satisfy after every run: keys are unique, the last version in history equals the
 * row, versions do not overlap. The checks are plain SQL, generated from the declarations.
 */
import type { TableDeclaration } from '../../../src/model/columns.js'
import { ALL_TABLES } from '../../../src/model/sync-tables.js'
import { DATA_TABLES } from '../../../src/model/tables.js'
import { ALL_VIEWS } from '../../../src/warehouse/views/all.js'
import { openReader, type Reader } from '../warehouse/duckdb.js'

/** One line per violated rule; none for a sound warehouse. Checks of the views take longer than those of all tables. */
export const unsoundness = async (file: string, withViews = process.env.SLOW === '1'): Promise<string[]> => {
  using reader = await openReader(file)
  return await unsoundnessIn(reader, withViews)
}

export const unsoundnessIn = async (reader: Pick<Reader, 'query'>, withViews = true): Promise<string[]> => {
  const found: string[] = []
  const checks = [
    ...uniqueKeys(),
    ...histories(),
    ...references(),
    ...RUNS,
    ...(withViews ? viewChecks() : []),
  ]
  for (const { what, sql } of checks) {
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

const uniqueKeys = (): Check[] =>
  ALL_TABLES.filter(({ key }) => key.length > 0).map(({ schema, name, key }) => ({
    what: `${schema}.${name} has rows with the same key`,
    sql: `SELECT ${columns(key)}, count(*) AS rows FROM ${schema}.${name} GROUP BY ALL HAVING count(*) > 1`,
  }))

const histories = (): Check[] =>
  DATA_TABLES.flatMap((table) => {
    const values = valuesOf(table)
    return table.columns.some(({ name }) => name === '_synced_at')
      ? versions(table, values)
      : observations(table, values)
  })

const versions = ({ name, key }: TableDeclaration, values: readonly string[]): Check[] => {
  const inOrder = `SELECT *, lead(valid_from) OVER w AS next_from,
      row(${columns(values)}) IS NOT DISTINCT FROM lead(row(${columns(values)})) OVER w AS same_as_next
    FROM main.${name}_history WINDOW w AS (PARTITION BY ${columns(key)} ORDER BY valid_from)`
  return [
    {
      what: `${name}_history has versions that end before they begin`,
      sql: `SELECT ${columns(key)} FROM main.${name}_history WHERE valid_to <= valid_from`,
    },
    {
      what: `${name}_history has versions that overlap`,
      sql: `SELECT ${columns(key)} FROM (${inOrder}) WHERE next_from IS NOT NULL AND (valid_to IS NULL OR valid_to > next_from)`,
    },
    {
      what: `${name}_history has two equal versions in a row`,
      sql: `SELECT ${columns(key)} FROM (${inOrder}) WHERE next_from = valid_to AND same_as_next`,
    },
    {
      what: `the last version in ${name}_history is not the row in ${name}`,
      sql: `SELECT ${columns(key)} FROM main.${name} t FULL JOIN
          (SELECT * FROM (${inOrder}) WHERE next_from IS NULL) h USING (${columns(key)})
        WHERE t._synced_at IS DISTINCT FROM h.valid_from OR t._missing_since IS DISTINCT FROM h.valid_to
          OR ${differ(values)} OR t._first_seen_at > t._synced_at`,
    },
  ]
}

const observations = ({ name, key }: TableDeclaration, values: readonly string[]): Check[] => {
  const inOrder = `SELECT *, lead(observed_at) OVER w AS next_at FROM main.${name}_history
    WINDOW w AS (PARTITION BY ${columns(key)} ORDER BY observed_at)`
  return [
    {
      what: `the last observation in ${name}_history is not the row in ${name}`,
      sql: `SELECT ${columns(key)} FROM main.${name} t FULL JOIN
          (SELECT * FROM (${inOrder}) WHERE next_at IS NULL) h USING (${columns(key)})
        WHERE t._observed_at IS DISTINCT FROM h.observed_at OR ${differ(values)} OR t._first_seen_at > t._observed_at`,
    },
  ]
}

/** Every source and every progress row belongs to a parent row. */
const references = (): Check[] =>
  [
    { child: 'sample_sources', parent: 'surveys', on: 'c.survey_id = p.id' },
    { child: 'survey_progress', parent: 'surveys', on: 'c.survey_id = p.id' },
    { child: 'survey_progress_by_day', parent: 'surveys', on: 'c.survey_id = p.id' },
    {
      child: 'sample_source_progress',
      parent: 'sample_sources',
      on: 'c.survey_id = p.survey_id AND c.sample_source_id = p.id',
    },
  ].map(({ child, parent, on }) => ({
    what: `${child} has rows without their row in ${parent}`,
    sql: `SELECT c.* FROM main.${child} c ANTI JOIN main.${parent} p ON c.account = p.account AND ${on}`,
  }))

const RUNS: readonly Check[] = [
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

const valuesOf = ({ columns: declared, key }: TableDeclaration): string[] =>
  declared
    .map(({ name }) => name)
    .filter((name) => !key.includes(name) && (name === '_extra' || !name.startsWith('_')))

const columns = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

const differ = (names: readonly string[]): string =>
  names.map((name) => `t."${name}" IS DISTINCT FROM h."${name}"`).join(' OR ')

/**
 * Rules of the views: keys are unique, only nullable columns have nulls, and no row is valid before it was read, at the same time as the
 * next one, or for longer than its survey is known.
 */
const viewChecks = (): Check[] => [
  ...ALL_VIEWS.flatMap(({ name, key, columns: declared }) => [
    {
      what: `${name} has rows with the same key`,
      sql: `SELECT ${columns(key)}, count(*) AS rows FROM main.${name} GROUP BY ALL HAVING count(*) > 1`,
    },
    {
      what: `${name} has a null in a column that is declared not null`,
      sql: `SELECT ${columns(key)} FROM main.${name} WHERE ${declared
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
