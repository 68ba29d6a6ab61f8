/**
 * The history that a warehouse must hold after a service's answers, night by night: every version and observation with its
 * time, and when each record went missing. It is kept in plain maps by the test server that answers the requests.
 */
import { SAMPLE_SOURCE, SURVEY } from '../api/api-document.js'
import { asObject, type JsonObject } from '../api/reference-api.js'
import { fieldsOf, progressOf } from '../oracle/truth.js'
import type { Row } from '../warehouse/duckdb.js'

export interface Version {
  readonly row: Row
  readonly from: string
  /** The time of the next version, or the time at which the record was found missing. */
  to: string | null
  /** The last time at which this row was read. */
  readAt: string
}

/** The versions of each record, in order of time. A record whose last version has ended is missing. */
export class Versions {
  readonly records = new Map<string, Version[]>()

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
  /** Server time of the night. */
  readonly at: string
  /** The zone of the requested days. */
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
