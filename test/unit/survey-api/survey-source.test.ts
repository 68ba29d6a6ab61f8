/** The source over real HTTP: its requests, the times of its answers, and its errors for each kind of failure. */
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.js'
import { Secret } from '../../../src/base/secret.js'
import { createHttpClient } from '../../../src/http/client.js'
import { StatusError } from '../../../src/http/errors.js'
import { parseInstant } from '../../../src/model/instant.js'
import { RefusedReadingError, type SurveySource } from '../../../src/model/survey-source.js'
import { unusableAnswer } from '../../../src/survey-api/envelope.js'
import { createSurveySource } from '../../../src/survey-api/survey-source.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { SILENT } from '../../support/log/test-log.js'
import { closeServer, listen } from '../../support/servers/server.js'
import { progress, sampleSource, survey } from './example-rows.js'

const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }
const pagination = { current_page: 1, next_page: null, prev_page: null, total_pages: 1, total_count: 1 }
const listText = (name: string, ...rows: string[]) =>
  `{"${name}":[${rows.join(',')}],"pagination":${JSON.stringify(pagination)}}`

const listAll = (source: SurveySource) => source.listSurveys({ updatedSince: null, page: 1 }, context)

/** The real HTTP client, set up so that nothing waits, neither for a slot nor for another attempt. */
const openClient = (baseUrl: string) =>
  createHttpClient({
    account: 'test',
    baseUrl,
    id: 1,
    probe: '/surveys',
    headers: { 'Authorization-ID': '1', 'Authorization-Token': new Secret('none') },
    rate: { requests: 1_000, perMs: 60_000 },
    limits: {
      ...{ request_timeout: 10_000, attempts: 1, patience: 0, backoff_base: 1, backoff_max: 1 },
      response_bytes_max: 10_000_000,
    },
    ledgerDirectory: null,
    clock: systemClock,
    random: Math.random,
    log: SILENT,
  })

interface Canned {
  readonly status?: number
  readonly text: string
  /** The `Date` header; null sends none. */
  readonly date?: string | null
}

/** A server that always sends the same, also what no correct server does. `asked` are the path and query of every request, in order. */
const startCannedServer = async ({ status = 200, text, date = 'Sun, 01 Mar 2026 00:00:00 GMT' }: Canned) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.sendDate = false
    if (date !== null) response.setHeader('date', date)
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  })
  const baseUrl = `http://127.0.0.1:${await listen(server)}/api/v1`
  return { baseUrl, asked, [Symbol.asyncDispose]: () => closeServer(server) }
}

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
  const since = parseInstant('2026-03-01T01:00:00.123456+01:00')
  it.each<[what: string, text: string, read: (source: SurveySource) => Promise<unknown>, requested: string]>([
    [
      'list surveys since a time, to the microsecond, by page',
      listText('surveys', JSON.stringify(survey)),
      (source) => source.listSurveys({ updatedSince: since, page: 1 }, context),
      'surveys?updated_since=2026-03-01T00%3A00%3A00.123456Z&page=1',
    ],
    ['list all surveys without a filter', listText('surveys'), listAll, 'surveys?page=1'],
    [
      'list the sources of a survey by page',
      listText('sample_sources'),
      (source) => source.listSampleSources(12, 1, context),
      'surveys/12/sample_sources?page=1',
    ],
    [
      'read progress of a survey, over all interviews',
      '{"fieldwork_progress":{}}',
      (source) => source.readProgress({ surveyId: 12, sampleSourceId: null }, context),
      'surveys/12/fieldwork_progress',
    ],
    [
      'read progress of one source, over all interviews',
      '{"fieldwork_progress":{}}',
      (source) => source.readProgress({ surveyId: 12, sampleSourceId: 501 }, context),
      'surveys/12/fieldwork_progress?sample_source_id=501',
    ],
  ])('%s', async (_, text, read, requested) => {
    expect((await reading({ text }, read)).requested).toEqual([`/api/v1/${requested}`])
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
    const raw = JSON.stringify(survey).replace(/(?<="owner_organization_id":)3/, '9007199254740993')
    const text = listText('surveys', raw, JSON.stringify({ ...survey, id: 13 }))
    const { result } = await reading({ text }, listAll)
    expect(result.rows.map(({ id }) => id)).toEqual([13])
    const problem = 'owner_organization_id: expected an integer of at most 2^53 - 1, got 9007199254740993'
    expect(result.rejections).toEqual([
      { endpoint: 'surveys', surveyId: 12, sampleSourceId: null, rowId: 12, problem, raw },
    ])
  })

  it('for a sample source', async () => {
    const raw = JSON.stringify({ ...sampleSource, name: null })
    const { result } = await reading({ text: listText('sample_sources', raw, 'null') }, (source) =>
      source.listSampleSources(12, 1, context),
    )
    const problem = 'name: expected a string, got null'
    expect(result.rejections).toEqual([
      { endpoint: 'sample_sources', surveyId: 12, sampleSourceId: 501, rowId: 501, problem, raw },
      expect.objectContaining({ rowId: null, problem: 'expected an object, got null', raw: 'null' }),
    ])
  })

  it('for progress, whose result then has no row', async () => {
    const text = '{"fieldwork_progress": {"sample_size":1e20} }'
    const { result } = await reading({ text }, (source) =>
      source.readProgress({ surveyId: 12, sampleSourceId: 501 }, context),
    )
    const problem = 'sample_size: expected an integer of at most 2^53 - 1, got 1e20'
    const origin = { endpoint: 'fieldwork_progress', surveyId: 12, sampleSourceId: 501, rowId: null }
    const rejections = [{ ...origin, problem, raw: '{"sample_size":1e20}' }]
    expect(result).toMatchObject({ row: null, rejections })
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
    const { result } = await reading({ text }, (source) =>
      source.readProgress({ surveyId: 12, sampleSourceId: null }, context),
    )
    expect(result.drift.map(({ path }) => path)).toEqual(['answer.took_ms', 'x'])
  })
})

describe('failures', () => {
  const notFound = { status: 404, text: '{"error":"not found"}' }

  it.each([
    [404, 'not_found', 'the API has no resource at GET'],
    [401, 'forbidden', 'GET /surveys/12/sample_sources returned 401 for this id and token'],
    [403, 'forbidden', 'GET /surveys/12/sample_sources returned 403'],
    [422, 'rejected', 'the API rejected GET'],
    [302, 'rejected', 'the API redirects (302)'],
  ])('%i at an address of a survey refuses that reading only', async (status, kind, message) => {
    const failure = await reading({ status, text: '{}' }, (source) =>
      source.listSampleSources(12, 1, context),
    ).catch((error) => error)
    expect(failure).toBeInstanceOf(RefusedReadingError)
    expect(failure).toMatchObject({ endsRun: false, kind, cause: expect.any(StatusError) })
    expect(failure.message).toContain(`survey 12 cannot be read: ${message}`)
  })

  it('404 on the list of surveys is not treated as a missing survey', async () => {
    const failure = await reading(notFound, listAll).catch((error) => error)
    expect(failure).toBeInstanceOf(StatusError)
    expect(failure).not.toBeInstanceOf(RefusedReadingError)
    expect(failure.message).toContain('(404): check base_url of account ')
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
    const list = reading({ text }, (source) => source.listSampleSources(12, 3, context))
    const missing = 'sample_sources: is missing; pagination: is missing'
    await expect(list).rejects.toThrow(unusableAnswer('GET /surveys/12/sample_sources (page 3)', missing))
    const one = reading({ text }, (source) =>
      source.readProgress({ surveyId: 12, sampleSourceId: 501 }, context),
    )
    const address = 'GET /surveys/12/fieldwork_progress (sample source 501)'
    await expect(one).rejects.toThrow(unusableAnswer(address, 'fieldwork_progress: is missing'))
  })
})
