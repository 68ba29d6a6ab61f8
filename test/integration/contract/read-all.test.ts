/**
 * The source reads the reference server over real HTTP: every page of every list, every progress, and each value as in
 * the world. The two sides have no code in common, so they can agree only through the API document.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unlimitedAllowance } from '../../../src/base/allowance.js'
import { systemClock } from '../../../src/base/clock.js'
import type { Progress } from '../../../src/model/fields.js'
import { parseInstant } from '../../../src/model/instant.js'
import { type Page, RefusedReadingError, type SurveySource } from '../../../src/model/survey-source.js'
import type { ReferenceServer } from '../../../src/reference-server/server.js'
import { createSurveySource } from '../../../src/survey-api/survey-source.js'
import {
  FIELDWORK_PROGRESS,
  INTERVIEW_STATUSES,
  SAMPLE_SOURCE,
  SURVEY,
} from '../../support/api/api-document.js'
import { openClient } from '../../support/api/http-client.js'
import {
  asObject,
  asObjects,
  getTruth,
  type JsonObject,
  startWorld,
} from '../../support/api/reference-api.js'

const START = '2026-03-01T00:00:00Z'
const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }

let server: ReferenceServer
let client: ReturnType<typeof openClient>
let source: SurveySource
let truth: readonly JsonObject[]

beforeAll(async () => {
  server = await startWorld({ surveys: 40, pageSize: 6, startAt: START })
  client = openClient(server.baseUrl, server.accounts[0])
  source = createSurveySource(client, systemClock, 2)
  truth = await getTruth(server)
})
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await server.close()
})

const readAll = async <Row>(
  readPage: (page: number) => Promise<Page<Row>>,
): Promise<readonly Page<Row>[]> => {
  const pages: Page<Row>[] = []
  for (let next: number | null = 1; next !== null; ) {
    const page: Page<Row> = await readPage(next)
    pages.push(page)
    next = page.pagination.next_page
  }
  return pages
}

/** The row for a record of the truth: its documented fields, with moments as microseconds. */
const expectedRow = (record: JsonObject, names: readonly string[]) => ({
  ...Object.fromEntries(
    names.map((name) => [name, name.endsWith('_at') ? parseInstant(String(record[name])) : record[name]]),
  ),
  _extra: null,
})

const expectedProgress = (record: JsonObject) => {
  const counts = asObject(record.interview_count_by_status)
  const cells = INTERVIEW_STATUSES.flatMap((status) => {
    const { individuals, percentage } = asObject(counts[status])
    return [
      [`${status}_individuals`, individuals],
      [`${status}_percentage`, percentage],
    ]
  })
  const names = Object.keys(FIELDWORK_PROGRESS).filter((name) => name !== 'interview_count_by_status')
  return { ...expectedRow(record, names), ...Object.fromEntries(cells) }
}

const sourcesOf = (survey: JsonObject | undefined) => asObjects(survey?.sample_sources)

describe('the source', () => {
  it('reads every survey, page by page, in the order of the API', async () => {
    const pages = await readAll((page) => source.listSurveys({ updatedSince: null, page }, context))
    expect(pages.map(({ rows }) => rows.length)).toEqual([
      ...Array(pages.length - 1).fill(6),
      expect.any(Number),
    ])
    expect(pages.flatMap(({ rows }) => rows)).toEqual(
      truth.map((survey) => expectedRow(survey, Object.keys(SURVEY))),
    )
    for (const page of pages) {
      expect(page).toMatchObject({ rejections: [], drift: [], serverDate: parseInstant(START) })
      expect(page.readAt).toBe(page.serverDate)
      expect(page.pagination.total_count).toBe(truth.length)
    }
  })

  it('reads every source of every survey, and the progress of each', async () => {
    for (const survey of truth.slice(0, 12)) {
      const id = Number(survey.id)
      const pages = await readAll((page) => source.listSampleSources(id, page, context))
      expect(pages.flatMap(({ rows }) => rows)).toEqual(
        sourcesOf(survey).map((one) => expectedRow(one, Object.keys(SAMPLE_SOURCE))),
      )
      const whole = await source.readProgress({ surveyId: id, sampleSourceId: null }, context)
      expect(whole).toMatchObject({ rejections: [], drift: [], serverDate: parseInstant(START) })
      expect(whole.row).toEqual<Progress | object>(expectedProgress(asObject(survey.fieldwork_progress)))
      const bySource = asObject(survey.sample_source_progress)
      for (const { id: sourceId } of sourcesOf(survey)) {
        const one = await source.readProgress({ surveyId: id, sampleSourceId: Number(sourceId) }, context)
        expect(one.row).toEqual(expectedProgress(asObject(bySource[String(sourceId)])))
      }
    }
  })

  it('reads the surveys modified since a moment, that moment included', async () => {
    const moments = truth.map(({ updated_at }) => parseInstant(String(updated_at)) ?? 0n)
    const since = [...moments].sort((a, b) => Number(b - a))[9] ?? 0n
    const pages = await readAll((page) => source.listSurveys({ updatedSince: since, page }, context))
    expect(pages.flatMap(({ rows }) => rows.map(({ id }) => id))).toEqual(
      truth.filter((_, place) => (moments[place] ?? 0n) >= since).map(({ id }) => id),
    )
    const after = await source.listSurveys({ updatedSince: since + 1n, page: 1 }, context)
    expect(after.pagination.total_count).toBe(moments.filter((moment) => moment > since).length)
  })

  it('throws RefusedReadingError for an unknown survey or source', async () => {
    const missing = 999_999_999
    const [survey] = truth
    const id = Number(survey?.id)
    await expect(source.listSampleSources(missing, 1, context)).rejects.toThrow(RefusedReadingError)
    await expect(source.readProgress({ surveyId: missing, sampleSourceId: null }, context)).rejects.toThrow(
      `survey ${missing} cannot be read: the API has no resource at GET /api/v1/surveys/${missing}/fieldwork_progress (404)`,
    )
    await expect(source.readProgress({ surveyId: id, sampleSourceId: missing }, context)).rejects.toThrow(
      `sample source ${missing} of survey ${id} cannot be read`,
    )
  })

  it('counts its requests', () => {
    expect(source.usage()).toMatchObject({ retries: 0, refusals: 0 })
    expect(source.usage().requests).toBeGreaterThan(20)
  })
})
