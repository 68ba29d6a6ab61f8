/** Compares published tables with `GET /_reference/truth` field by field, without code of `src`. */
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api'

/**
 * Returns the number of compared fields, and a line for each field that differs or is missing on either side. `truths` is the
 * API's data after each sync, the oldest first. A sync reads a list of sources again only when something shows a change, so each
 * list is compared with the data at its last reading. `lists` counts the lists that are older than the last sync.
 */
export const differencesFromTruth = async (published, truths) => {
  const { rows: actual, listedAt } = await readPublished(published)
  const asOf = (key) => truths.findLast(({ at }) => at <= (listedAt.get(key) ?? 0n)) ?? truths.at(-1)
  const expected = new Map(truths.at(-1).truth.accounts.flatMap((account) => expectedRows(account, asOf)))
  const lists = [...listedAt.values()].filter((at) => at < truths.at(-1).at).length
  const differences = [...actual.keys()]
    .filter((key) => !expected.has(key))
    .map((key) => `${key}: not in the API`)
  let fields = 0
  for (const [key, row] of expected) {
    const found = actual.get(key)
    if (found === undefined) differences.push(`${key}: not in the tables`)
    for (const [name, value] of found === undefined ? [] : Object.entries(row)) {
      fields += 1
      if (found[name] !== value)
        differences.push(`${key}.${name}: ${found[name]} in the table, ${value} in the API`)
    }
  }
  return { fields, lists, differences }
}

/** The expected rows of the tables, each with its table and key. */
const expectedRows = ({ name: account, surveys }, asOf) =>
  surveys.flatMap(({ sample_sources, fieldwork_progress, sample_source_progress, ...survey }) => [
    [`surveys ${account} ${survey.id}`, withMoments(survey)],
    [`survey_progress ${account} ${survey.id}`, flat(fieldwork_progress)],
    ...sourcesIn(asOf(`${account} ${survey.id}`).truth, account, survey.id, sample_sources).map((source) => [
      `sample_sources ${account} ${survey.id} ${source.id}`,
      withMoments(source),
    ]),
    ...Object.entries(sample_source_progress).map(([id, progress]) => [
      `sample_source_progress ${account} ${survey.id} ${id}`,
      flat(progress),
    ]),
  ])

const sourcesIn = ({ accounts }, account, id, fallback) =>
  accounts.find(({ name }) => name === account)?.surveys.find((survey) => survey.id === id)?.sample_sources ??
  fallback

const withMoments = (row) => ({
  ...row,
  created_at: micros(row.created_at),
  updated_at: micros(row.updated_at),
})

/** Microseconds since 1970 of an ISO 8601 text. */
export const micros = (text) => {
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? []
  const wholeSeconds = BigInt(Date.parse(text.replace(/\.\d+/, ''))) * 1000n
  return wholeSeconds + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
}

const flat = ({ interview_count_by_status, ...indicators }) => ({
  ...indicators,
  ...Object.fromEntries(
    Object.entries(interview_count_by_status).flatMap(([status, { individuals, percentage }]) => [
      [`${status}_individuals`, individuals],
      [`${status}_percentage`, percentage],
    ]),
  ),
})

const KEYS = {
  surveys: ['account', 'id'],
  sample_sources: ['account', 'survey_id', 'id'],
  survey_progress: ['account', 'survey_id'],
  sample_source_progress: ['account', 'survey_id', 'sample_source_id'],
}

const readPublished = async (published) => {
  const instance = await DuckDBInstance.create(published, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const rows = new Map()
  for (const [table, key] of Object.entries(KEYS)) {
    const found = await connection.runAndReadAll(`SELECT * FROM ${table} WHERE _missing_since IS NULL`)
    for (const row of found.getRowObjects()) {
      rows.set([table, ...key.map((name) => row[name])].join(' '), plainRow(row))
    }
  }
  const freshness = await connection.runAndReadAll(
    'SELECT account, survey_id, epoch_us(sources_read_at) AS at FROM freshness WHERE sources_read_at IS NOT NULL',
  )
  const listedAt = new Map(
    freshness.getRowObjects().map((row) => [`${row.account} ${row.survey_id}`, row.at]),
  )
  connection.closeSync()
  instance.closeSync()
  return { rows, listedAt }
}

/** Times stay whole microseconds, so that the comparison is exact. */
const plainRow = (row) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (value instanceof DuckDBTimestampTZValue) return [name, value.micros]
      return [name, typeof value === 'bigint' ? Number(value) : value]
    }),
  )
