/**
 * The history that a warehouse must hold after a service's answers, night by night: every version and observation with its
 * time, and when each record went missing. It is kept in plain maps by the test server that answers the requests.
 */
import { SAMPLE_SOURCE, SURVEY } from '../api/api-document.js'
import { asObject, type JsonObject } from '../api/reference-api.js'
import { columnsSql, fieldsOf, groupByKey, PROGRESS_COLUMNS, progressOf } from '../oracle/truth.js'
import type { Reader, Row } from '../warehouse/duckdb.js'

interface Version {
  readonly row: Row
  readonly from: string
  /** The time of the next version, or the time at which the record was found missing. */
  to: string | null
  /** The last time at which this row was read. */
  readAt: string
}

/** The versions of each record, in order of time. A record whose last version has ended is missing. */
class Versions {
  readonly records = new Map<string, Version[]>()

  /** The versions of each record in the form of the stored ones. */
  as(form: (version: Version) => Row): Record<string, readonly Row[]> {
    return Object.fromEntries([...this.records].map(([key, versions]) => [key, versions.map(form)]))
  }

  missing(): Row {
    const ends = [...this.records].map(([key, versions]) => [key, versions.at(-1)?.to ?? null] as const)
    return Object.fromEntries(ends.filter(([, to]) => to !== null))
  }

  put(key: string, row: Row, at: string): void {
    const versions = this.records.get(key) ?? []
    this.records.set(key, versions)
    const last = versions.at(-1)
    if (last?.to === null) {
      if (JSON.stringify(last.row) === JSON.stringify(row)) {
        last.readAt = at
        return
      }
      last.to = at
    }
    versions.push({ row, from: at, to: null, readAt: at })
  }

  miss(isGone: (key: string) => boolean, at: string): void {
    for (const [key, versions] of this.records) {
      const last = versions.at(-1)
      if (last !== undefined && isGone(key)) last.to ??= at
    }
  }
}

/** The circumstances under which a night's answers are read. */
export interface Reading {
  readonly at: string
  readonly timeZone: string
  /** The first day that is not final. */
  readonly openFrom: string
}

export class ExpectedHistory {
  readonly surveys = new Versions()
  readonly sources = new Versions()
  readonly progress = new Versions()
  readonly sourceProgress = new Versions()
  /** The latest answer for each day, by `survey/source/day`; the source is empty for the whole survey. */
  readonly days = new Versions()

  /** Takes the rows of a full or an incremental listing. */
  listing(rows: readonly JsonObject[], isFull: boolean, { at }: Reading): void {
    for (const row of rows) this.surveys.put(String(row.id), fieldsOf(row, SURVEY), at)
    if (!isFull) return
    const ids = new Set(rows.map(({ id }) => String(id)))
    const isGone = (key: string) => !ids.has(key.split('/')[0] ?? '')
    for (const table of [this.surveys, this.sources, this.progress, this.sourceProgress, this.days])
      table.miss(isGone, at)
  }

  sourcesOf(surveyId: number, rows: readonly JsonObject[], { at }: Reading): void {
    for (const row of rows) this.sources.put(`${surveyId}/${row.id}`, fieldsOf(row, SAMPLE_SOURCE), at)
    const ids = new Set(rows.map(({ id }) => String(id)))
    const isGone = (key: string) => {
      const [survey, source = ''] = key.split('/')
      return survey === String(surveyId) && source !== '' && !ids.has(source)
    }
    for (const table of [this.sources, this.sourceProgress, this.days]) table.miss(isGone, at)
  }

  progressOf(surveyId: number, sourceId: number | null, progress: JsonObject, { at }: Reading): void {
    const row = progressRow(progress)
    if (sourceId === null) this.progress.put(String(surveyId), row, at)
    else this.sourceProgress.put(`${surveyId}/${sourceId}`, row, at)
  }

  dayOf(
    surveyId: number,
    sourceId: number | null,
    day: string,
    progress: JsonObject,
    { at, timeZone, openFrom }: Reading,
  ): void {
    const row = { time_zone: timeZone, is_final: day < openFrom, ...progressRow(progress) }
    this.days.put(`${surveyId}/${sourceId ?? ''}/${day}`, row, at)
  }
}

/** An omitted field is null. */
export const progressRow = (progress: JsonObject): Row =>
  Object.fromEntries(
    Object.entries(progressOf(asObject(progress))).map(([name, value]) => [name, value ?? null]),
  )

/** The stored and the expected history. They are equal unless the sync lost something. */
export const bothHistories = async (reader: Reader, expected: ExpectedHistory) => {
  const { surveys, sources, progress, sourceProgress, days } = expected
  const rows = async (key: string, columns: string, table: string, order: string) =>
    groupByKey(await reader.query(`SELECT ${key} AS key, ${columns} FROM ${table} ORDER BY ${order}`))
  const versions = `valid_from AS "from", valid_to AS "to"`
  const observed = `${columnsSql(PROGRESS_COLUMNS)}, observed_at AS "from"`
  const missing = async (table: string, key: string): Promise<Row> => {
    const found = await reader.query(
      `SELECT ${key} AS key, _missing_since AS since FROM ${table} WHERE _missing_since IS NOT NULL`,
    )
    return Object.fromEntries(found.map((row) => [String(row.key), row.since]))
  }
  const version = ({ row, from, to }: Version) => ({ ...row, from, to })
  const observation = ({ row, from }: Version) => ({ ...row, from })
  const latest = Object.entries(days.as(observation)).map(([key, all]) => [key, all.slice(-1)])
  return {
    stored: {
      surveys: await rows(
        SURVEY_KEY.id,
        `${columnsSql(SURVEY)}, ${versions}`,
        'surveys_history',
        'valid_from',
      ),
      sources: await rows(
        SOURCE_KEY.id,
        `${columnsSql(SAMPLE_SOURCE)}, ${versions}`,
        'sample_sources_history',
        'valid_from',
      ),
      progress: await rows(SURVEY_KEY.of, observed, 'survey_progress_history', 'observed_at'),
      sourceProgress: await rows(SOURCE_KEY.of, observed, 'sample_source_progress_history', 'observed_at'),
      missing: {
        surveys: await missing('surveys', SURVEY_KEY.id),
        sources: await missing('sample_sources', SOURCE_KEY.id),
        progress: await missing('survey_progress', SURVEY_KEY.of),
        sourceProgress: await missing('sample_source_progress', SOURCE_KEY.of),
        days: await missing('survey_progress_by_day', DAY_KEY),
      },
      days: await rows(
        DAY_KEY,
        `time_zone, is_final, ${columnsSql(PROGRESS_COLUMNS)}, _observed_at AS "from"`,
        'survey_progress_by_day',
        'key',
      ),
    },
    expected: {
      surveys: surveys.as(version),
      sources: sources.as(version),
      progress: progress.as(observation),
      sourceProgress: sourceProgress.as(observation),
      missing: {
        surveys: surveys.missing(),
        sources: sources.missing(),
        progress: progress.missing(),
        sourceProgress: sourceProgress.missing(),
        days: days.missing(),
      },
      days: Object.fromEntries(latest),
    },
  }
}

/** Keys of the expected history: in the table of the records, and in tables about them. */
const SURVEY_KEY = { id: "id || ''", of: "survey_id || ''" }
const SOURCE_KEY = { id: "survey_id || '/' || id", of: "survey_id || '/' || sample_source_id" }
const DAY_KEY = "survey_id || '/' || coalesce(sample_source_id || '', '') || '/' || day::VARCHAR"
