/**
 * Counts the rows of a warehouse that differ from the truth of the reference server. Every field that the API shows is compared,
 * for every tool in the same way. Nothing here is derived from the code that is measured.
 */
import {
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
} from '@duckdb/node-api'
import { parseIsoTime } from '../../../dist/reference-server/time.js'

export const TABLES = ['surveys', 'sample_sources', 'survey_progress', 'source_progress']
const TIMES = new Set(['created_at', 'updated_at'])

/** The rows of each table by key. The key of a survey and its progress is its id, that of a source is `<survey>/<source>`. */
export const rowsOfTruth = ({ accounts }) => {
  const tables = emptyTables()
  for (const { sample_sources, fieldwork_progress, sample_source_progress, ...survey } of accounts[0]
    .surveys) {
    tables.surveys.set(String(survey.id), flat(survey))
    if (fieldwork_progress !== undefined)
      tables.survey_progress.set(String(survey.id), flat(fieldwork_progress))
    for (const source of sample_sources ?? []) {
      tables.sample_sources.set(`${survey.id}/${source.id}`, flat(source))
      tables.source_progress.set(`${survey.id}/${source.id}`, flat(sample_source_progress[source.id]))
    }
  }
  return tables
}

/**
 * The rows of some tables of a DuckDB file. `queries` has a SELECT for each table. Its column `key` is the key of the row, the others are
 * fields of the API. Fields inside of an object are named `interview_count_by_status.complete.individuals`, or are in JSON.
 */
export const rowsOfFile = async (file, queries, tables = TABLES) => {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  try {
    const rows = emptyTables()
    for (const table of tables) {
      const result = await connection.runAndReadAll(queries[table])
      for (const { key, ...row } of result.getRowObjects()) rows[table].set(String(key), flat(row))
    }
    return rows
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Counts rows that are missing, rows that the API no longer shows, and rows with another value than in the truth. */
export const differences = (truth, stored) => {
  const found = { missing: 0, gone: 0, different: 0, examples: [] }
  for (const table of TABLES) {
    for (const [key, expected] of truth[table]) {
      const actual = stored[table].get(key)
      if (actual === undefined) {
        found.missing += 1
        found.examples.push(`${table} ${key} is missing`)
        continue
      }
      const [field] = differingFields(expected, actual)
      if (field === undefined) continue
      found.different += 1
      found.examples.push(`${table} ${key} ${field}: ${actual[field]} instead of ${expected[field]}`)
    }
    for (const key of stored[table].keys()) {
      if (truth[table].has(key)) continue
      found.gone += 1
      found.examples.push(`${table} ${key} is no longer shown`)
    }
  }
  return { ...found, rows: found.missing + found.gone + found.different }
}

const emptyTables = () => Object.fromEntries(TABLES.map((table) => [table, new Map()]))

const differingFields = (expected, actual) =>
  Object.keys(expected).filter((field) => !isEqual(expected[field], actual[field] ?? null))

/** Some tools store rates as decimals with nine digits, or through a text that changes the last digit. That does not count. */
const isEqual = (expected, actual) =>
  expected === actual ||
  (typeof expected === 'number' &&
    typeof actual === 'number' &&
    !Number.isInteger(expected) &&
    Math.abs(expected - actual) < RATE_DIFFERENCE_MIN)
const RATE_DIFFERENCE_MIN = 1e-9

/** One level: times as microseconds since 1970, integers as numbers. */
const flat = (row, prefix = '') => {
  const fields = {}
  for (const [name, value] of Object.entries(row)) {
    const path = `${prefix}${name}`
    const parsed =
      typeof value === 'string' && value.startsWith('{') && isCounts(path) ? JSON.parse(value) : value
    if (isPlainObject(parsed)) Object.assign(fields, flat(parsed, `${path}.`))
    else fields[path] = TIMES.has(name) ? microsOf(parsed) : numberOf(parsed)
  }
  return fields
}

const numberOf = (value) => {
  if (typeof value === 'bigint') return Number(value)
  return value instanceof DuckDBDecimalValue ? value.toDouble() : value
}

const isCounts = (path) => path === 'interview_count_by_status'

const isPlainObject = (value) => value !== null && Object.getPrototypeOf(value) === Object.prototype

const microsOf = (value) => {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue)
    return Number(value.micros)
  return value === null ? null : parseIsoTime(String(value))
}
