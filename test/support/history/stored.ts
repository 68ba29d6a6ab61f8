/** Reads the history that a published file holds, in the form of the expected history (`expected.ts`). */
import { type DocumentedFields, SAMPLE_SOURCE, SURVEY } from '../api/api-document.js'
import { PROGRESS_COLUMNS } from '../oracle/truth.js'
import type { Reader, Row } from '../warehouse/duckdb.js'
import type { ExpectedHistory, Version, Versions } from './expected.js'

/** The stored and the expected history. They are equal unless the sync lost something. */
export const bothHistories = async (reader: Reader, expected: ExpectedHistory) => ({
  stored: {
    surveys: await versions(reader, 'surveys_history', SURVEY, "id || ''"),
    sources: await versions(reader, 'sample_sources_history', SAMPLE_SOURCE, "survey_id || '/' || id"),
    progress: await observations(reader, 'survey_progress_history', "survey_id || ''"),
    sourceProgress: await observations(reader, 'sample_source_progress_history', SOURCE_KEY),
    missing: {
      surveys: await missing(reader, 'surveys', "id || ''"),
      sources: await missing(reader, 'sample_sources', "survey_id || '/' || id"),
      progress: await missing(reader, 'survey_progress', "survey_id || ''"),
      sourceProgress: await missing(reader, 'sample_source_progress', SOURCE_KEY),
      days: await missing(reader, 'survey_progress_by_day', DAY_KEY),
    },
    days: await days(reader),
  },
  expected: {
    surveys: all(expected.surveys, ({ row, from, to }) => ({ ...row, from, to })),
    sources: all(expected.sources, ({ row, from, to }) => ({ ...row, from, to })),
    progress: all(expected.progress, ({ row, from }) => ({ ...row, from })),
    sourceProgress: all(expected.sourceProgress, ({ row, from }) => ({ ...row, from })),
    missing: {
      surveys: gone(expected.surveys),
      sources: gone(expected.sources),
      progress: gone(expected.progress),
      sourceProgress: gone(expected.sourceProgress),
      days: gone(expected.days),
    },
    days: latest(expected.days),
  },
})

const SOURCE_KEY = "survey_id || '/' || sample_source_id"
const DAY_KEY = "survey_id || '/' || coalesce(sample_source_id || '', '') || '/' || day::VARCHAR"

const columns = (fields: DocumentedFields): string =>
  Object.entries(fields)
    .map(([name, { type }]) => (type === 'timestamp' ? `epoch_us("${name}") AS "${name}"` : `"${name}"`))
    .join(', ')

type ByKey = Record<string, readonly Row[]>

const grouped = (rows: readonly Row[]): ByKey => {
  const groups: Record<string, Row[]> = {}
  for (const { key, ...row } of rows) {
    groups[String(key)] ??= []
    groups[String(key)]?.push(row)
  }
  return groups
}

const versions = async (reader: Reader, table: string, fields: DocumentedFields, key: string) =>
  grouped(
    await reader.query(
      `SELECT ${key} AS key, ${columns(fields)}, valid_from AS "from", valid_to AS "to" FROM ${table} ORDER BY valid_from`,
    ),
  )

const observations = async (reader: Reader, table: string, key: string) =>
  grouped(
    await reader.query(
      `SELECT ${key} AS key, ${columns(PROGRESS_COLUMNS)}, observed_at AS "from" FROM ${table} ORDER BY observed_at`,
    ),
  )

const days = async (reader: Reader) =>
  grouped(
    await reader.query(
      `SELECT ${DAY_KEY} AS key, time_zone, is_final, ${columns(PROGRESS_COLUMNS)}, _observed_at AS "from" FROM survey_progress_by_day`,
    ),
  )

const missing = async (reader: Reader, table: string, key: string): Promise<Row> =>
  Object.fromEntries(
    (
      await reader.query(
        `SELECT ${key} AS key, _missing_since AS since FROM ${table} WHERE _missing_since IS NOT NULL`,
      )
    ).map(({ key, since }) => [String(key), since]),
  )

const all = ({ records }: Versions, form: (version: Version) => Row): ByKey =>
  Object.fromEntries([...records].map(([key, list]) => [key, list.map(form)]))

const latest = ({ records }: Versions): ByKey =>
  Object.fromEntries(
    [...records].map(([key, list]) => [key, list.slice(-1).map(({ row, from }) => ({ ...row, from }))]),
  )

const gone = ({ records }: Versions): Row =>
  Object.fromEntries(
    [...records].flatMap(([key, list]) => {
      const to = list.at(-1)?.to ?? null
      return to === null ? [] : [[key, to]]
    }),
  )
