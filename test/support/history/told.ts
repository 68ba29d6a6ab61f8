/**
 * What a service has told, night by night, and what of it a warehouse must hold: every version and every observation with
 * its time, what went missing and when. A plain account in maps, kept by whoever answers the requests.
 */
import { SAMPLE_SOURCE, SURVEY } from '../api/api-document.js'
import { asObject, type JsonObject } from '../api/reference-api.js'
import { fieldsOf, progressOf } from '../oracle/truth.js'
import type { Row } from '../warehouse/duckdb.js'

export interface Version {
  readonly row: Row
  readonly from: string
  /** When another followed, or the record was found missing. */
  to: string | null
}

/** By record, in order of time. A record whose last version has ended is missing. */
export class Versions {
  readonly records = new Map<string, Version[]>()

  put(key: string, row: Row, at: string): void {
    const versions = this.records.get(key) ?? []
    this.records.set(key, versions)
    const last = versions.at(-1)
    if (last?.to === null) {
      if (JSON.stringify(last.row) === JSON.stringify(row)) return
      last.to = at
    }
    versions.push({ row, from: at, to: null })
  }

  miss(isGone: (key: string) => boolean, at: string): void {
    for (const [key, versions] of this.records) {
      const last = versions.at(-1)
      if (last !== undefined && isGone(key)) last.to ??= at
    }
  }
}

/** Of a night: when it is, server time, and whose days it asks for. */
export interface TellingNight {
  readonly at: string
  readonly timeZone: string
  /** The first day that is not final. */
  readonly openFrom: string
}

export class Told {
  readonly surveys = new Versions()
  readonly sources = new Versions()
  readonly progress = new Versions()
  readonly sourceProgress = new Versions()
  /** The latest telling of each day, `survey/source/day`; the source is empty for the whole survey. */
  readonly days = new Versions()

  /** All surveys, or those that have changed. */
  listing(rows: readonly JsonObject[], isFull: boolean, { at }: TellingNight): void {
    for (const row of rows) this.surveys.put(String(row.id), fieldsOf(row, SURVEY), at)
    if (!isFull) return
    const ids = new Set(rows.map(({ id }) => String(id)))
    const isGone = (key: string) => !ids.has(key.split('/')[0] ?? '')
    for (const table of [this.surveys, this.sources, this.progress, this.sourceProgress, this.days])
      table.miss(isGone, at)
  }

  sourcesOf(surveyId: number, rows: readonly JsonObject[], { at }: TellingNight): void {
    for (const row of rows) this.sources.put(`${surveyId}/${row.id}`, fieldsOf(row, SAMPLE_SOURCE), at)
    const ids = new Set(rows.map(({ id }) => String(id)))
    const isGone = (key: string) => {
      const [survey, source = ''] = key.split('/')
      return survey === String(surveyId) && source !== '' && !ids.has(source)
    }
    for (const table of [this.sources, this.sourceProgress, this.days]) table.miss(isGone, at)
  }

  progressOf(surveyId: number, sourceId: number | null, progress: JsonObject, { at }: TellingNight): void {
    const row = toldProgress(progress)
    if (sourceId === null) this.progress.put(String(surveyId), row, at)
    else this.sourceProgress.put(`${surveyId}/${sourceId}`, row, at)
  }

  dayOf(
    surveyId: number,
    sourceId: number | null,
    day: string,
    progress: JsonObject,
    { at, timeZone, openFrom }: TellingNight,
  ): void {
    const row = { time_zone: timeZone, is_final: day < openFrom, ...toldProgress(progress) }
    this.days.put(`${surveyId}/${sourceId ?? ''}/${day}`, row, at)
  }
}

/** What is left out is null. */
export const toldProgress = (progress: JsonObject): Row =>
  Object.fromEntries(
    Object.entries(progressOf(asObject(progress))).map(([name, value]) => [name, value ?? null]),
  )
