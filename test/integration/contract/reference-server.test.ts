/** The reference server serves the tables of the API document: one test a row. Its other rules are in rules.test.ts and test/unit/reference-server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ReferenceServer } from '../../../src/reference-server/server.js'
import {
  type DocumentedField,
  type DocumentedFields,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from '../../support/api/api-document.js'
import {
  asObject,
  getBody,
  getPages,
  getRows,
  type JsonObject,
  startWorld,
} from '../../support/api/reference-api.js'

const SURVEYS = 100

let server: ReferenceServer
let surveys: readonly JsonObject[]
let sources: readonly JsonObject[]
let progresses: readonly JsonObject[]
let paginations: readonly JsonObject[]
/** All statuses of surveys within two months. */
let surveyStatuses: ReadonlySet<unknown>

beforeAll(async () => {
  server = await startWorld({ surveys: SURVEYS, pageSize: 17 })
  surveys = await getRows(server, '/surveys', 'surveys')
  const sourcesOf = ({ id }: JsonObject) => getRows(server, `/surveys/${id}/sample_sources`, 'sample_sources')
  const progressOf = async ({ id }: JsonObject) =>
    asObject((await getBody(server, `/surveys/${id}/fieldwork_progress`)).fieldwork_progress)
  sources = (await Promise.all(surveys.map(sourcesOf))).flat()
  progresses = await Promise.all(surveys.map(progressOf))
  surveyStatuses = await statusesOfTwoMonths()
  paginations = (await getPages(server, '/surveys')).map((body) => asObject(body.pagination))
})
afterAll(() => server.close())

const statusesOfTwoMonths = async (): Promise<ReadonlySet<unknown>> => {
  await using moving = await startWorld({ surveys: SURVEYS, pageSize: 1_000 })
  const seen = new Set<unknown>()
  for (let day = 0; day < 60; day += 2) {
    for (const { status } of await getRows(moving, '/surveys', 'surveys')) seen.add(status)
    await fetch(`${moving.origin}/_reference/time`, { method: 'POST', body: '{"advance":"P2D"}' })
  }
  return seen
}

const WITH_OFFSET = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

const countsOf = (progress: JsonObject) => asObject(progress.interview_count_by_status)

const conforms = (value: unknown, { type, nullable, values }: DocumentedField): boolean => {
  if (value === null) return nullable === true
  if (values !== undefined && !values.includes(String(value))) return false
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value)
    case 'float':
      return Number.isFinite(value)
    case 'timestamp':
      return typeof value === 'string' && WITH_OFFSET.test(value) && !Number.isNaN(Date.parse(value))
    default:
      return typeof value === type
  }
}

const TABLES: readonly (readonly [string, DocumentedFields, () => readonly JsonObject[]])[] = [
  ['Survey', SURVEY, () => surveys],
  ['Sample source', SAMPLE_SOURCE, () => sources],
  ['Fieldwork progress', FIELDWORK_PROGRESS, () => progresses],
  [
    'Fieldwork progress, interview_count_by_status',
    STATUS_ENTRY,
    () => progresses.flatMap((progress) => Object.values(countsOf(progress)).map(asObject)),
  ],
  ['Pagination object', PAGINATION, () => paginations],
]

describe.each(TABLES)('API document, the table of %s', (_, fields, records) => {
  test('has these fields, in this order, and no others', () => {
    expect(records()).not.toHaveLength(0)
    for (const record of records()) expect(Object.keys(record)).toEqual(Object.keys(fields))
  })

  test.each(Object.entries(fields))('%s is as documented: $type', (name, field) => {
    expect(records().filter((record) => !conforms(record[name], field))).toEqual([])
  })
})

test('API document, "Fieldwork progress": interview_count_by_status has one entry per interview status', () => {
  for (const progress of progresses) expect(Object.keys(countsOf(progress))).toEqual(INTERVIEW_STATUSES)
})

/** Where one of them is missing, a test against this server proves little. */
describe('every value occurs', () => {
  test.each(SURVEY.transition_style?.values ?? [])(
    'API document, "Survey", transition_style: %s',
    (value) => {
      expect(surveys.map(({ transition_style }) => transition_style)).toContain(value)
    },
  )
  test.each(SAMPLE_SOURCE.provider?.values ?? [])('API document, "Sample source", provider: %s', (value) => {
    expect(sources.map(({ provider }) => provider)).toContain(value)
  })
  test.each(SURVEY.status?.values ?? [])('API document, "Survey status": %s', (status) => {
    expect(surveyStatuses).toContain(status)
  })
  test.each(INTERVIEW_STATUSES)('API document, "Interview status": %s, and is counted', (status) => {
    const counts = progresses.map((progress) => Number(asObject(countsOf(progress)[status]).individuals))
    expect(Math.max(...counts)).toBeGreaterThan(0)
  })
})
