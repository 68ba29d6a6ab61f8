/** The reference server against the tables of the API document. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ReferenceServer, startReferenceServer } from '../../src/reference-server/server.js'
import {
  type DocumentedField,
  type DocumentedFields,
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  PAGINATION,
  SAMPLE_SOURCE,
  STATUS_ENTRY,
  SURVEY,
} from './api-document.js'
import {
  asObject,
  asObjects,
  getBody,
  getPages,
  getRows,
  getTruth,
  type JsonObject,
} from './reference-api.js'

const SURVEYS = 100

let server: ReferenceServer
let surveys: readonly JsonObject[]
let sources: readonly JsonObject[]
let progresses: readonly JsonObject[]

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
})
afterAll(() => server.close())

const WITH_OFFSET = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

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

/** Holds records to a table: exactly its fields, in its order, each of its type. */
const expectDocumented = (records: readonly JsonObject[], fields: DocumentedFields) => {
  expect(records).not.toHaveLength(0)
  for (const record of records) {
    expect(Object.keys(record)).toEqual(Object.keys(fields))
    const odd = Object.entries(fields).filter(([name, field]) => !conforms(record[name], field))
    expect(odd.map(([name]) => ({ [name]: record[name] }))).toEqual([])
  }
}

describe('the reference server answers with what the API document lists', () => {
  it('for a survey', () => {
    expect(surveys.length).toBeGreaterThanOrEqual(SURVEYS)
    expectDocumented(surveys, SURVEY)
  })

  it('for a sample source', () => {
    expectDocumented(sources, SAMPLE_SOURCE)
  })

  it('for fieldwork progress', () => {
    expectDocumented(progresses, FIELDWORK_PROGRESS)
  })

  it('for the counts by interview status', () => {
    for (const progress of progresses) {
      const counts = asObject(progress.interview_count_by_status)
      expect(Object.keys(counts)).toEqual(INTERVIEW_STATUSES)
      expectDocumented(Object.values(counts).map(asObject), STATUS_ENTRY)
    }
  })

  it('for the progress of one source', async () => {
    const survey = (await getTruth(server)).find((one) => asObjects(one.sample_sources).length > 0)
    const [source] = asObjects(survey?.sample_sources)
    const path = `/surveys/${survey?.id}/fieldwork_progress?sample_source_id=${source?.id}`
    const body = await getBody(server, path)
    expectDocumented([asObject(body.fieldwork_progress)], FIELDWORK_PROGRESS)
  })

  it('for pagination, on every page', async () => {
    const pages = await getPages(server, '/surveys')
    expect(pages.length).toBe(Math.ceil(surveys.length / 17))
    expectDocumented(
      pages.map((body) => asObject(body.pagination)),
      PAGINATION,
    )
    for (const [place, body] of pages.entries()) {
      expect(body.pagination).toEqual({
        current_page: place + 1,
        next_page: place + 1 === pages.length ? null : place + 2,
        prev_page: place === 0 ? null : place,
        total_pages: pages.length,
        total_count: surveys.length,
      })
    }
  })

  it('around the rows, and with nothing else', async () => {
    const path = `/surveys/${surveys[0]?.id}`
    expect(Object.keys(await getBody(server, '/surveys'))).toEqual(['surveys', 'pagination'])
    expect(Object.keys(await getBody(server, `${path}/sample_sources`))).toEqual([
      'sample_sources',
      'pagination',
    ])
    expect(Object.keys(await getBody(server, `${path}/fieldwork_progress`))).toEqual(['fieldwork_progress'])
  })

  it('sorted by creation, most recent first', () => {
    const created = surveys.map(({ created_at }) => Date.parse(String(created_at)))
    expect(created).toEqual([...created].sort((a, b) => b - a))
  })

  it.each([
    ['transition_style', SURVEY.transition_style?.values, () => surveys],
    ['provider', SAMPLE_SOURCE.provider?.values, () => sources],
  ])(
    'and shows every value of %s somewhere, or a test against it would prove little',
    (name, values, records) => {
      expect(new Set(records().map((record) => record[name]))).toEqual(new Set(values))
    },
  )

  it('and shows every value of status in the course of two months', async () => {
    await using moving = await startReferenceServer({
      port: 0,
      surveys: SURVEYS,
      pageSize: 1_000,
      rateWindow: 'none',
      clock: 'frozen',
    })
    const seen = new Set<unknown>()
    for (let day = 0; day < 60; day++) {
      for (const { status } of await getRows(moving, '/surveys', 'surveys')) seen.add(status)
      await fetch(`${moving.origin}/_reference/time`, { method: 'POST', body: '{"advance":"P1D"}' })
    }
    expect([...seen].sort()).toEqual([...(SURVEY.status?.values ?? [])].sort())
  })
})
