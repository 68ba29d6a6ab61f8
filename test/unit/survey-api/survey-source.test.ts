/** The source over real HTTP: its requests, the times of its answers, and its errors for each kind of failure. */
import { describe, expect, it } from 'vitest'
import { unlimitedAllowance } from '../../../src/base/allowance.js'
import { type Clock, systemClock } from '../../../src/base/clock.js'
import { StatusError } from '../../../src/http/errors.js'
import { parseInstant } from '../../../src/model/instant.js'
import { RefusedReadingError, type SurveySource } from '../../../src/model/survey-source.js'
import { createSurveySource, unusableAnswer } from '../../../src/survey-api/survey-source.js'
import { openClient } from '../../support/api/http-client.js'
import { type Canned, startCannedServer } from './canned-server.js'
import { progress, sampleSource, survey } from './example-rows.js'

const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }
const pagination = { current_page: 1, next_page: null, prev_page: null, total_pages: 1, total_count: 1 }
const listText = (name: string, ...rows: string[]) =>
  `{"${name}":[${rows.join(',')}],"pagination":${JSON.stringify(pagination)}}`

const listAll = (source: SurveySource) => source.listSurveys({ updatedSince: null, page: 1 }, context)

/** Runs `read` against a server that always sends `canned`. Returns the result and the requested addresses. */
const reading = async <Result>(
  canned: Canned,
  read: (source: SurveySource) => Promise<Result>,
  clock: Clock = systemClock,
): Promise<{ result: Result; requested: readonly string[] }> => {
  await using server = await startCannedServer(canned)
  await using client = openClient(server.baseUrl)
  const result = await read(createSurveySource(client, clock, 2))
  return { result, requested: server.asked }
}

describe('requests', () => {
  it('list surveys since a time, to the microsecond, by page', async () => {
    const since = parseInstant('2026-03-01T01:00:00.123456+01:00')
    const { requested } = await reading({ text: listText('surveys', JSON.stringify(survey)) }, (source) =>
      source.listSurveys({ updatedSince: since, page: 1 }, context),
    )
    expect(requested).toEqual(['/api/v1/surveys?updated_since=2026-03-01T00%3A00%3A00.123456Z&page=1'])
  })

  it('list all surveys without a filter', async () => {
    const { requested } = await reading({ text: listText('surveys') }, listAll)
    expect(requested).toEqual(['/api/v1/surveys?page=1'])
  })

  it('list the sources of a survey by page', async () => {
    const { requested } = await reading({ text: listText('sample_sources') }, (source) =>
      source.listSampleSources(12, 1, context),
    )
    expect(requested).toEqual(['/api/v1/surveys/12/sample_sources?page=1'])
  })

  it('read progress of a survey and of one source, over all interviews', async () => {
    const { requested } = await reading({ text: '{"fieldwork_progress":{}}' }, async (source) => {
      await source.readSurveyProgress(12, context)
      await source.readSampleSourceProgress(12, 501, context)
    })
    expect(requested).toEqual([
      '/api/v1/surveys/12/fieldwork_progress',
      '/api/v1/surveys/12/fieldwork_progress?sample_source_id=501',
    ])
  })
})

describe('the time of an answer', () => {
  const noon: Clock = { ...systemClock, nowMs: () => Date.UTC(2026, 5, 1, 12) }

  it("is the server's Date", async () => {
    const { result } = await reading({ text: listText('surveys') }, listAll, noon)
    const date = parseInstant('2026-03-01T00:00:00Z')
    expect(result).toMatchObject({ readAt: date, serverDate: date })
  })

  it.each([
    ['missing', null],
    ['unreadable', 'yesterday'],
  ])('is the time of our clock if the Date is %s', async (_, date) => {
    const { result } = await reading({ text: listText('surveys'), date }, listAll, noon)
    expect(result).toMatchObject({ readAt: parseInstant('2026-06-01T12:00:00Z'), serverDate: null })
  })
})

describe('a rejection names the origin of its row and keeps the digits', () => {
  it('for a survey', async () => {
    const raw = JSON.stringify(survey).replace(
      '"owner_organization_id":3',
      '"owner_organization_id":9007199254740993',
    )
    const { result } = await reading(
      { text: listText('surveys', raw, JSON.stringify({ ...survey, id: 13 })) },
      listAll,
    )
    expect(result.rows.map(({ id }) => id)).toEqual([13])
    expect(result.rejections).toEqual([
      {
        endpoint: 'surveys',
        surveyId: 12,
        sampleSourceId: null,
        rowId: 12,
        problem: 'owner_organization_id: expected an integer of at most 2^53 - 1, got 9007199254740993',
        raw,
      },
    ])
  })

  it('for a sample source', async () => {
    const raw = JSON.stringify({ ...sampleSource, name: null })
    const { result } = await reading({ text: listText('sample_sources', raw, 'null') }, (source) =>
      source.listSampleSources(12, 1, context),
    )
    expect(result.rejections).toEqual([
      {
        endpoint: 'sample_sources',
        surveyId: 12,
        sampleSourceId: 501,
        rowId: 501,
        problem: 'name: expected a string, got null',
        raw,
      },
      expect.objectContaining({ rowId: null, problem: 'expected an object, got null', raw: 'null' }),
    ])
  })

  it('for progress, whose result then has no row', async () => {
    const text = '{"fieldwork_progress": {"sample_size":1e20} }'
    const { result } = await reading({ text }, (source) => source.readSampleSourceProgress(12, 501, context))
    expect(result).toMatchObject({
      row: null,
      rejections: [
        {
          endpoint: 'fieldwork_progress',
          surveyId: 12,
          sampleSourceId: 501,
          rowId: null,
          problem: 'sample_size: expected an integer of at most 2^53 - 1, got 1e20',
          raw: '{"sample_size":1e20}',
        },
      ],
    })
  })
})

describe('drift', () => {
  it('of rows and of their envelope is reported together', async () => {
    const text = JSON.stringify({ surveys: [{ ...survey, x: 1 }], pagination, took_ms: 5 })
    const { result } = await reading({ text }, listAll)
    expect(result.drift.map(({ path }) => path)).toEqual(['answer.took_ms', 'x'])
  })

  it('of progress is reported too', async () => {
    const text = JSON.stringify({ fieldwork_progress: { ...progress, x: 1 }, took_ms: 5 })
    const { result } = await reading({ text }, (source) => source.readSurveyProgress(12, context))
    expect(result.drift.map(({ path }) => path)).toEqual(['answer.took_ms', 'x'])
  })
})

describe('failures', () => {
  const notFound = { status: 404, text: '{"error":"not found"}' }

  it.each([
    [404, 'not_found', 'survey 12 cannot be read: the API has no resource at GET'],
    [
      401,
      'forbidden',
      'survey 12 cannot be read: GET /surveys/12/sample_sources returned 401 for this id and token',
    ],
    [403, 'forbidden', 'survey 12 cannot be read: GET /surveys/12/sample_sources returned 403'],
    [422, 'rejected', 'survey 12 cannot be read: the API rejected GET'],
    [302, 'rejected', 'survey 12 cannot be read: the API redirects (302)'],
  ])('%i at an address of a survey refuses that reading only', async (status, kind, message) => {
    const failure = await reading({ status, text: '{}' }, (source) =>
      source.listSampleSources(12, 1, context),
    ).catch((error) => error)
    expect(failure).toBeInstanceOf(RefusedReadingError)
    expect(failure).toMatchObject({ endsRun: false, kind, cause: expect.any(StatusError) })
    expect(failure.message).toContain(message)
  })

  it('404 on the list of surveys is not treated as a missing survey', async () => {
    const failure = await reading(notFound, listAll).catch((error) => error)
    expect(failure).toBeInstanceOf(StatusError)
    expect(failure).not.toBeInstanceOf(RefusedReadingError)
  })

  it.each([1, 2, 6])(
    'a refused list of surveys is requested at most twice, with %d attempts allowed',
    async (attemptsMax) => {
      await using server = await startCannedServer({ status: 403, text: '{}' })
      await using client = openClient(server.baseUrl)
      const source = createSurveySource(client, systemClock, attemptsMax)
      await expect(listAll(source)).rejects.toThrow('403')
      expect(server.asked).toHaveLength(Math.min(2, attemptsMax))
    },
  )

  it('the error of an unusable envelope names endpoint and page', async () => {
    const text = '{"error":"maintenance"}'
    await expect(reading({ text }, (source) => source.listSampleSources(12, 3, context))).rejects.toThrow(
      unusableAnswer(
        'GET /surveys/12/sample_sources (page 3)',
        'sample_sources: is missing; pagination: is missing',
      ),
    )
    await expect(
      reading({ text }, (source) => source.readSampleSourceProgress(12, 501, context)),
    ).rejects.toThrow(
      unusableAnswer(
        'GET /surveys/12/fieldwork_progress (sample source 501)',
        'fieldwork_progress: is missing',
      ),
    )
  })
})
