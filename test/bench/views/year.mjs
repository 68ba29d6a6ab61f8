/** A work database with a year of daily history: every survey and source has an observation a day. */
import { systemClock } from '../../../build/base/clock.js'
import { DATA_TABLES, freshness, HISTORY_TABLES } from '../../../build/model/tables.js'
import { qualified, quote } from '../../../build/warehouse/connection/ddl.js'
import { openWarehouse } from '../../../build/warehouse/lifecycle/open.js'

const DAYS = 365
const FIRST_NIGHT_US = Date.parse('2025-11-20T02:00:00Z') * 1_000
const VERSIONS = { surveys_history: 12, sample_sources_history: 3 }

const silent = () => undefined
const log = { debug: silent, info: silent, warn: console.warn, error: console.error }

/** Returns the open database. */
export const openYear = async (directory, { surveys, sources }) => {
  const database = await openWarehouse({ directory, clock: systemClock, log, command: 'bench' })
  await database.exclusively(async (sql) => {
    for (const table of [...DATA_TABLES, ...HISTORY_TABLES, freshness]) {
      const names = table.columns.map(({ name }) => quote(name))
      const cells = table.columns.map((column) => cell(table, column))
      const nights = table.name.endsWith('progress_history') ? DAYS : (VERSIONS[table.name] ?? 1)
      const owners = isOfSources(table) ? sources : 1
      await sql.run(`INSERT INTO ${qualified(table)} (${names.join(', ')}) SELECT ${cells.join(', ')}
        FROM (SELECT i // ${surveys * owners} AS night, i % ${surveys * owners} // ${owners} + 1 AS survey, i % ${owners} AS place
          FROM range(${nights * surveys * owners}) AS r(i))`)
    }
  })
  return database
}

const isOfSources = ({ name }) => name.startsWith('sample_source')

const nightAt = (night) => `make_timestamptz(${FIRST_NIGHT_US} + (${night}) * 86400000000)`

/** About ten complete interviews a day. Every twentieth survey gets none in the last hundred days, and some lose one. */
const complete = (table, night) => {
  const day = `CASE WHEN survey % 20 = 0 THEN least(${night}, ${DAYS - 100}) ELSE ${night} END`
  return isOfSources(table)
    ? `2 * (${day}) + hash(survey, place, ${day}) % 3`
    : `10 * (${day}) + hash(survey, ${day}) % 12`
}

function cell(table, { name, type, nullable }) {
  const night = table.name.endsWith('_history') ? 'night' : `${DAYS - 1}`
  const named = byName(table, night)[name]
  if (named !== undefined) return named
  if (type === 'JSON' || ['_missing_since', 'last_error'].includes(name)) return nullable ? 'NULL' : `'{}'`
  if (name.endsWith('_individuals')) return `${night} + hash(survey, '${name}') % 50`
  return byType(name, night)[type]
}

const byName = (table, night) => {
  const versions = VERSIONS[table.name] ?? 1
  const nightsEach = Math.floor(DAYS / versions)
  const source = 'survey * 100 + place'
  return {
    account: `'default'`,
    survey_id: 'survey',
    sample_source_id: source,
    id: isOfSources(table) ? source : 'survey',
    observed_at: nightAt(night),
    valid_from: nightAt(`night * ${nightsEach}`),
    valid_to: `CASE WHEN night < ${versions - 1} THEN ${nightAt(`(night + 1) * ${nightsEach}`)} END`,
    status: `CASE WHEN survey % 3 = 0 THEN 'complete' ELSE 'fieldwork' END`,
    sample_size: isOfSources(table) ? '800' : '4000',
    interviews_count: complete(table, night),
    complete_individuals: complete(table, night),
    title: `'Survey ' || survey || ', version ' || ${night}`,
  }
}

const byType = (name, night) => ({
  BOOLEAN: 'survey % 2 = 0',
  TIMESTAMPTZ: nightAt(DAYS - 1),
  DOUBLE: `(hash(survey, place, ${night}, '${name}') % 10000) / 10000.0`,
  BIGINT: `(hash(survey, '${name}') % 100)::BIGINT`,
  VARCHAR: `'${name} ' || survey`,
})
