/** The reference server serves the tables of the API document: one test a row. Its other rules are in rules.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ReferenceServer, startReferenceServer } from '../../../src/reference-server/server.js'
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
import { asObject, getBody, getPages, getRows, type JsonObject } from '../../support/api/reference-api.js'

const SURVEYS = 100

let server: ReferenceServer
let surveys: readonly JsonObject[]
let sources: readonly JsonObject[]
let progresses: readonly JsonObject[]
let paginations: readonly JsonObject[]
/** All statuses of surveys within two months. */
let surveyStatuses: ReadonlySet<unknown>

beforeAll(async () => {
  server = await startReferenceServer({
    port: 0,
    surveys: SURVEYS,
    pageSize: 17,
    rateWindow: 'none',
    clock: 'frozen',
  })
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
  await using moving = await startReferenceServer({
    port: 0,
    surveys: SURVEYS,
    pageSize: 1_000,
    rateWindow: 'none',
    clock: 'frozen',
  })
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

const TABLES: readonly {
  readonly section: string
  readonly fields: DocumentedFields
  readonly records: () => readonly JsonObject[]
}[] = [
  { section: 'Survey', fields: SURVEY, records: () => surveys },
  { section: 'Sample source', fields: SAMPLE_SOURCE, records: () => sources },
  { section: 'Fieldwork progress', fields: FIELDWORK_PROGRESS, records: () => progresses },
  {
    section: 'Fieldwork progress", "interview_count_by_status',
    fields: STATUS_ENTRY,
    records: () => progresses.flatMap((progress) => Object.values(countsOf(progress)).map(asObject)),
  },
  { section: 'Pagination object', fields: PAGINATION, records: () => paginations },
]

describe.each(TABLES)('API document, "$section"', ({ fields, records }) => {
  test('has these fields, in this order, and no others', () => {
    expect(records()).not.toHaveLength(0)
    for (const record of records()) expect(Object.keys(record)).toEqual(Object.keys(fields))
  })

  test.each(Object.entries(fields))('%s is as documented: $type', (name, field) => {
    expect(records().filter((record) => !conforms(record[name], field))).toEqual([])
  })
})

const ENUMERATIONS = [
  { section: 'Survey', name: 'transition_style', field: SURVEY.transition_style, records: () => surveys },
  { section: 'Sample source', name: 'provider', field: SAMPLE_SOURCE.provider, records: () => sources },
]

describe.each(ENUMERATIONS)('API document, "$section", $name', ({ name, field, records }) => {
  test.each(field?.values ?? [])('%s occurs: otherwise a test against this server proves little', (value) => {
    expect(records().map((record) => record[name])).toContain(value)
  })
})

describe('API document, "Survey status"', () => {
  test.each(SURVEY.status?.values ?? [])('%s occurs', (status) => {
    expect(surveyStatuses).toContain(status)
  })
})

describe('API document, "Interview status"', () => {
  test.each(INTERVIEW_STATUSES)('%s occurs, and is counted', (status) => {
    const counts = progresses.map((progress) => Number(asObject(countsOf(progress)[status]).individuals))
    expect(Math.max(...counts)).toBeGreaterThan(0)
  })
})
