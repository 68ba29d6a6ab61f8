/**
 * The oracle of the end-to-end tests. It brings the truth of the reference server and the published tables to one form.
 * The fields were copied from the API document by hand; the server's own reader parses the times of the truth.
 * Nothing here is derived from the code under test.
 */

import type { ReferenceServer } from '../../../src/reference-server/server.js'
import { parseIsoTime } from '../../../src/reference-server/time.js'
import {
  type DocumentedFields,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  SAMPLE_SOURCE,
  SURVEY,
} from '../api/api-document.js'
import { asObject, asObjects, type JsonObject } from '../api/reference-api.js'
import { openReader, type Reader, type Row } from '../warehouse/duckdb.js'

/** All rows of one survey; times are microseconds since 1970. */
export interface SurveyRows {
  readonly survey: Row
  readonly sources: readonly Row[]
  readonly progress: Row
  /** In the order of `sources`. */
  readonly sourceProgress: readonly Row[]
}

/** The surveys by `<account>/<survey id>`, in the order of these keys. */
export type WorldRows = ReadonlyMap<string, SurveyRows>

export const truthRows = async (server: ReferenceServer): Promise<WorldRows> => {
  const response = await fetch(`${server.origin}/_reference/truth`)
  const surveys = asObjects(asObject(await response.json()).accounts).flatMap((account) =>
    asObjects(account.surveys).map((survey) => ({ account: String(account.name), survey })),
  )
  return sorted(
    surveys.map(({ account, survey }) => [`${account}/${survey.id}`, rowsOfSurvey(survey)] as const),
  )
}

export const rowsOfSurvey = (survey: JsonObject): SurveyRows => {
  const sources = asObjects(survey.sample_sources).toSorted((a, b) => Number(a.id) - Number(b.id))
  const progress = asObject(survey.sample_source_progress)
  return {
    survey: fieldsOf(survey, SURVEY),
    sources: sources.map((source) => fieldsOf(source, SAMPLE_SOURCE)),
    progress: progressOf(asObject(survey.fieldwork_progress)),
    sourceProgress: sources.map(({ id }) => progressOf(asObject(progress[String(id)]))),
  }
}

export const fieldsOf = (object: JsonObject, fields: DocumentedFields): Row =>
  Object.fromEntries(
    Object.entries(fields).map(([name, { type }]) => [
      name,
      type === 'timestamp' ? parseIsoTime(String(object[name])) : object[name],
    ]),
  )

export const progressOf = (progress: JsonObject): Row => {
  const { interview_count_by_status, ...indicators } = fieldsOf(progress, FIELDWORK_PROGRESS)
  const counts = asObject(interview_count_by_status)
  return {
    ...indicators,
    ...Object.fromEntries(
      INTERVIEW_STATUSES.flatMap((status) => {
        const { individuals, percentage } = asObject(counts[status])
        return [
          [`${status}_individuals`, individuals],
          [`${status}_percentage`, percentage],
        ]
      }),
    ),
  }
}

const { interview_count_by_status: _counts, ...INDICATORS } = FIELDWORK_PROGRESS
export const PROGRESS_COLUMNS: DocumentedFields = {
  ...INDICATORS,
  ...Object.fromEntries(
    INTERVIEW_STATUSES.flatMap((status) => [
      [`${status}_individuals`, { type: 'integer' as const }],
      [`${status}_percentage`, { type: 'float' as const }],
    ]),
  ),
}

/** Columns of a table for these fields; times as microseconds since 1970. */
export const columnsSql = (fields: DocumentedFields, table = ''): string =>
  Object.entries(fields)
    .map(([name, { type }]) =>
      type === 'timestamp' ? `epoch_us(${table}"${name}") AS "${name}"` : `${table}"${name}"`,
    )
    .join(', ')

/** The rows of a published file, without missing rows and rows with unknown fields, which the truth does not have. */
export const warehouseRows = async (file: string): Promise<WorldRows> => {
  using reader = await openReader(file)
  return await warehouseRowsIn(reader)
}

export const warehouseRowsIn = async (reader: Pick<Reader, 'query'>): Promise<WorldRows> => {
  const rows = async (table: string, surveyId: string, fields: DocumentedFields, order: string) =>
    groupByKey(
      await reader.query(`SELECT account || '/' || ${surveyId} AS key, ${columnsSql(fields)}
        FROM main.${table} WHERE _missing_since IS NULL AND _extra IS NULL ORDER BY ${order}`),
    )
  const surveys = await rows('surveys', 'id', SURVEY, 'id')
  const sources = await rows('sample_sources', 'survey_id', SAMPLE_SOURCE, 'id')
  const progress = await rows('survey_progress', 'survey_id', PROGRESS_COLUMNS, 'survey_id')
  const sourceProgress = await rows(
    'sample_source_progress',
    'survey_id',
    PROGRESS_COLUMNS,
    'sample_source_id',
  )
  return sorted(
    Object.entries(surveys).map(([key, [survey = {}]]) => [
      key,
      {
        survey,
        sources: sources[key] ?? [],
        progress: progress[key]?.[0] ?? {},
        sourceProgress: sourceProgress[key] ?? [],
      },
    ]),
  )
}

/** Rows by their column `key`, without that column. */
export const groupByKey = (rows: readonly Row[]): Record<string, Row[]> => {
  const groups: Record<string, Row[]> = {}
  for (const { key, ...row } of rows) {
    groups[String(key)] ??= []
    groups[String(key)]?.push(row)
  }
  return groups
}

const sorted = (entries: readonly (readonly [string, SurveyRows])[]): WorldRows =>
  new Map(entries.toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })))

export const openWorld = (server: ReferenceServer) => {
  const control = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${server.origin}/_reference/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return await response.json()
  }
  return {
    advance: async (duration: string) => asObject(await control('POST', 'time', { advance: duration })),
    /** Makes the server answer every request for one of `paths` with `status`. */
    fail: (paths: readonly string[], status: number) =>
      control(
        'PUT',
        'faults',
        paths.map((path) => ({ match: { path }, action: { status } })),
      ),
    /** Makes the server merge these objects into its answers, by the path of the request. */
    patch: (patches: Readonly<Record<string, object>>) =>
      control(
        'PUT',
        'faults',
        Object.entries(patches).map(([path, patch]) => ({
          match: { path },
          times: 'always',
          action: { patch },
        })),
      ),
    forgetRequests: () => control('DELETE', 'requests'),
    requests: async () => asObjects(asObject(await control('GET', 'requests')).requests),
  }
}
