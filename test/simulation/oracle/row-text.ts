/** Rows of answers and rows of tables as comparable texts. */
import { FIELDWORK_PROGRESS, SAMPLE_SOURCE, SURVEY } from '../../support/api/api-document.js'
import type { JsonObject } from '../../support/api/reference-api.js'
import { fieldsOf, PROGRESS_COLUMNS, progressOf } from '../../support/oracle/truth.js'
import type { Reader, Row } from '../../support/warehouse/duckdb.js'

/** A broken promise, as one line. */
export type Violation = string

/** An open database file. */
export type Queryable = Pick<Reader, 'query'>

export const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_key, cell) => (cell === undefined ? null : cell))
export const surveyText = (row: JsonObject): string => jsonText(fieldsOf(row, SURVEY))
export const sourceText = (row: JsonObject): string => jsonText(fieldsOf(row, SAMPLE_SOURCE))
export const progressText = (row: JsonObject): string => {
  try {
    const columns = progressOf({ ...blankProgress, ...row })
    return jsonText(
      Object.fromEntries(Object.keys(PROGRESS_COLUMNS).map((name) => [name, columns[name] ?? null])),
    )
  } catch {
    return 'untypable'
  }
}
const blankProgress = Object.fromEntries(Object.keys(FIELDWORK_PROGRESS).map((name) => [name, null]))

export const textOf = (row: Row, fields: object): string =>
  jsonText(Object.fromEntries(Object.keys(fields).map((name) => [name, row[name] ?? null])))
