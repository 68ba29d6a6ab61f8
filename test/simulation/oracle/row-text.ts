/** Rows of answers and rows of tables, brought to one form: a text. */
import { FIELDWORK_PROGRESS, SAMPLE_SOURCE, SURVEY } from '../../support/api/api-document.js'
import { fieldsOf, PROGRESS_COLUMNS, progressOf } from '../../support/oracle/truth.js'
import type { Reader, Row } from '../../support/warehouse/duckdb.js'
import type { JsonObject } from '../world.js'

/** A promise that was broken, as one line. */
export type Broken = string

/** A file that is open. */
export type Open = Pick<Reader, 'query'>

export const one = (value: unknown): string =>
  JSON.stringify(value, (_key, cell) => (cell === undefined ? null : cell))
export const surveyText = (row: JsonObject): string => one(fieldsOf(row, SURVEY))
export const sourceText = (row: JsonObject): string => one(fieldsOf(row, SAMPLE_SOURCE))
export const progressText = (row: JsonObject): string => {
  try {
    const columns = progressOf({ ...blankProgress, ...row })
    return one(Object.fromEntries(Object.keys(PROGRESS_COLUMNS).map((name) => [name, columns[name] ?? null])))
  } catch {
    return 'untypable'
  }
}
const blankProgress = Object.fromEntries(Object.keys(FIELDWORK_PROGRESS).map((name) => [name, null]))

export const columnsSql = (fields: Readonly<Record<string, { readonly type: string }>>, table = ''): string =>
  Object.entries(fields)
    .map(([name, { type }]) =>
      type === 'timestamp' ? `epoch_us(${table}"${name}") AS "${name}"` : `${table}"${name}"`,
    )
    .join(', ')

export const textOf = (row: Row, fields: object): string =>
  one(Object.fromEntries(Object.keys(fields).map((name) => [name, row[name] ?? null])))

/** What of a published state is held to what was committed. */
export const COMPARED: readonly string[] = [
  'main.surveys',
  'main.sample_sources',
  'main.survey_progress',
  'main.freshness',
  '_sync.runs',
  '_sync.tasks',
]
