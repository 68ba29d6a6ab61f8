/**
 * A work database with a history, made by SQL in the real schema. Every value follows from the number of its survey, source and night.
 * Each survey and source has an observation a night, and the current rows are those of the last one.
 */
import { systemClock } from '../../../dist/base/clock.js'
import { DATA_TABLES, freshness, HISTORY_TABLES } from '../../../dist/model/tables.js'
import { qualified, quote } from '../../../dist/warehouse/connection/ddl.js'
import { storeTimeZone } from '../../../dist/warehouse/history/time-zone.js'
import { openWarehouse } from '../../../dist/warehouse/lifecycle/open.js'

const silent = () => undefined
export const log = { debug: silent, info: silent, warn: console.warn, error: console.error }

/** Columns that are null while nothing is wrong with a survey. */
const ABSENT = /^_missing_since$|^unlisted|^sources_left_out$|^last_error$|^excluded_by$|days/

const DEFAULTS = {
  /** Observations of each survey and source. */
  nights: 365,
  /** Nights in which the surveys begin, one after the other, so that the last ones have had fewer observations; else all begin in the first. */
  begunIn: undefined,
  /** Days from one observation to the next. */
  apart: 1,
  /** Versions of each survey and of each source. */
  versions: [12, 3],
  /** Days before the first night in which the surveys were created, one after the other. */
  createdOver: 365,
  /** SQL: the individuals of a status after a night. */
  individuals: (night, status) => `${night} + hash(survey, '${status}') % 50`,
  /** Different values of a rate. */
  rates: 10_000,
  /** Complete interviews that a survey and a source are to have. */
  targets: [4_000, 800],
  /** Runs that are recorded. */
  runs: 30,
  /** SQL: the time of the last observation, and the status of a survey. */
  newest: "TIMESTAMPTZ '2026-11-20 02:00:00Z'",
  status: `CASE WHEN survey % 3 = 0 THEN 'complete' ELSE 'fieldwork' END`,
}

/** Returns the open database of `surveys` with `sources` sources each. The options are those of `DEFAULTS`. */
export const openHistory = async (directory, options) => {
  const world = { ...DEFAULTS, ...options }
  const { surveys, sources, newest, listedAt = newest } = world
  const database = await openWarehouse({ directory, clock: systemClock, log, command: 'bench' })
  await storeTimeZone(database, 'UTC', Date.now())
  await database.transaction(async (sql) => {
    for (const table of [...DATA_TABLES, ...HISTORY_TABLES, freshness]) {
      const names = table.columns.map(({ name }) => quote(name))
      const cells = table.columns.map((column) => cell(world, table, column))
      const each = isOfSources(table) ? sources : 1
      await sql.run(`INSERT INTO ${qualified(table)} (${names.join(', ')}) SELECT ${cells.join(', ')}
        FROM (SELECT i // ${surveys * each} AS night, i % ${surveys * each} // ${each} + 1 AS survey, i % ${each} AS place
          FROM range(${rowsEach(world, table) * surveys * each}) AS r(i)
          WHERE ${begun(world)} + night < ${ended(world)} ORDER BY ${begun(world)} + night, i)`)
    }
    await sql.run(`INSERT INTO _sync.cursors (account, updated_since, full_listed_at, moved_at, full_listing_due)
      VALUES ('default', ${listedAt}, ${listedAt}, ${listedAt}, false)`)
    await sql.run(`INSERT INTO _sync.runs BY NAME SELECT 'run-' || d AS run_id, 'default' AS account, '0.1.0' AS version, 'sync' AS command,
      ${newest} - to_days(CAST(d AS INTEGER)) AS started_at, started_at + INTERVAL 13 MINUTES AS ended_at, 'complete' AS status, 0 AS exit_code,
      780 AS requests, 0 AS retries, 0 AS rate_limited, ${surveys} AS surveys_refreshed, 0 AS left_over, 0 AS rejected_rows,
      ${world.runs} - d AS run_number FROM range(${world.runs}) r(d)`)
  })
  return database
}

const isOfSources = ({ name }) => name.startsWith('sample_source')
const versionsOf = ({ versions }, table) => versions[isOfSources(table) ? 1 : 0]

const rowsEach = (world, table) => {
  if (!table.name.endsWith('_history')) return 1
  return table.name.endsWith('progress_history') ? world.nights : versionsOf(world, table)
}

/** SQL: the night in which a survey begins. */
export const begun = ({ begunIn, surveys }) =>
  begunIn === undefined ? '0' : `((survey - 1) * ${begunIn} // ${surveys})`
/** The number of nights. */
export const ended = ({ begunIn, nights }) => begunIn ?? nights

const at = (world, night) =>
  `${world.newest} - to_hours(CAST(${24 * world.apart} * (${ended(world) - 1} - ${begun(world)} - (${night})) AS INTEGER))`

/** The day of fieldwork of a night's observation. */
const day = (world, night) => `CAST(${at(world, night)} - INTERVAL 12 HOURS AS DATE)`

/** About ten complete interviews a night. Every twentieth survey gets none in the last hundred nights. */
const complete = ({ nights }, table, night) => {
  const until = `CASE WHEN survey % 20 = 0 THEN least(${night}, ${Math.max(0, nights - 100)}) ELSE ${night} END`
  return isOfSources(table)
    ? `2 * (${until}) + hash(survey, place, ${until}) % 3`
    : `10 * (${until}) + hash(survey, ${until}) % 12`
}

function cell(world, table, { name, type, nullable }) {
  const night = table.name.endsWith('_history')
    ? 'night'
    : `least(${rowsEach(world, { name: `${table.name}_history` }) - 1}, ${ended(world) - 1} - ${begun(world)})`
  const named = byName(world, table, night)[name]
  if (named !== undefined) return named
  if (type === 'JSON' || ABSENT.test(name)) return nullable ? 'NULL' : `'{}'`
  if (name.endsWith('_individuals')) return world.individuals(night, name)
  return {
    BOOLEAN: 'survey % 2 = 0',
    TIMESTAMPTZ: table.name === 'freshness' ? (world.readAt ?? world.newest) : world.newest,
    DOUBLE: `(hash(survey, place, ${night}, '${name}') % ${world.rates}) / ${world.rates}.0`,
    BIGINT: `(hash(survey, '${name}') % 100)::BIGINT`,
    VARCHAR: `'${name} ' || survey`,
  }[type]
}

const byName = (world, table, night) => {
  const versions = versionsOf(world, table)
  const version = (place) => at(world, `(${place}) * ${Math.max(1, Math.floor(world.nights / versions))}`)
  const source = 'survey * 100 + place'
  return {
    account: `'default'`,
    survey_id: 'survey',
    sample_source_id: source,
    id: isOfSources(table) ? source : 'survey',
    observed_at: at(world, night),
    _observed_at: at(world, night),
    _first_seen_at: at(world, 0),
    day: day(world, night),
    day_before: `CASE WHEN ${night} > 0 THEN ${day(world, `${night} - 1`)} END`,
    progress_day: `CAST(${world.readAt ?? world.newest} - INTERVAL 12 HOURS AS DATE)`,
    created_at: `${at(world, 0)} - to_seconds(CAST((${world.surveys} - survey) * ${world.createdOver} * 86400.0 // ${world.surveys} AS BIGINT))`,
    updated_at: version(table.name.endsWith('_history') ? 'night' : versions - 1),
    valid_from: version('night'),
    valid_to: `CASE WHEN night < ${versions - 1} THEN ${version('night + 1')} END`,
    _synced_at: version(versions - 1),
    status: world.status,
    provider: `'panel'`,
    country_code: `['FR', 'DE', 'GB', 'ES', 'IT'][1 + survey % 5]`,
    transition_style: `'single_page'`,
    sample_size: String(world.targets[isOfSources(table) ? 1 : 0]),
    interviews_count: complete(world, table, night),
    complete_individuals: complete(world, table, night),
    title: `'Survey ' || survey || ', version ' || ${night}`,
  }
}
