/** The rules against the reference server, and their tables against those of `docs/reference/api.md`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.js'
import { StoppedError } from '../../../src/base/errors.js'
import {
  INTERVIEW_STATUSES,
  PAGINATION_FIELDS,
  PROGRESS_FIELDS,
  SAMPLE_SOURCE_FIELDS,
  STATUS_ENTRY_FIELDS,
  SURVEY_FIELDS,
  SURVEY_STATUSES,
} from '../../../src/conformance/fields.js'
import { type ConformanceReport, RULES } from '../../../src/conformance/run.js'
import { type ReferenceServer, startReferenceServer } from '../../../src/reference-server/server.js'
import * as document from '../../support/api/api-document.js'
import { listen } from '../../support/servers/server.js'
import { conform, idsOf, observationOf, verdictOf, WORLD } from './support.js'

describe('the tables of the rules are those of the API document', () => {
  // The other tables make a rate over zero nullable, as client and server do; the rules leave it open.
  const progress = Object.entries(PROGRESS_FIELDS).map(([name, field]) => [
    name,
    /_rate$|^length_of_interview$/.test(name) ? { ...field, nullable: true } : field,
  ])
  test.each([
    ['survey', SURVEY_FIELDS, document.SURVEY],
    ['sample source', SAMPLE_SOURCE_FIELDS, document.SAMPLE_SOURCE],
    ['status entry', STATUS_ENTRY_FIELDS, document.STATUS_ENTRY],
    ['pagination object', PAGINATION_FIELDS, document.PAGINATION],
    ['fieldwork progress', Object.fromEntries(progress), document.FIELDWORK_PROGRESS],
  ])('%s', (_, ours, typed) => {
    expect(ours).toEqual(typed)
    expect(Object.keys(ours)).toEqual(Object.keys(typed))
  })

  test('interview status, survey status', () => {
    expect(INTERVIEW_STATUSES).toEqual(document.INTERVIEW_STATUSES)
    expect(SURVEY_STATUSES).toEqual(document.SURVEY.status?.values)
  })

  test('each field and status has a rule, and no two rules have the same id', () => {
    const ids = RULES.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [prefix, fields] of [
      ['survey', document.SURVEY],
      ['source', document.SAMPLE_SOURCE],
      ['progress', document.FIELDWORK_PROGRESS],
      ['pagination', document.PAGINATION],
    ] as const) {
      for (const name of Object.keys(fields)) expect(ids).toContain(`${prefix}.${name}`)
    }
    for (const status of document.INTERVIEW_STATUSES) expect(ids).toContain(`progress.status.${status}`)
  })
})

describe('the reference server', () => {
  let server: ReferenceServer
  let report: ConformanceReport
  beforeAll(async () => {
    server = await startReferenceServer(WORLD)
    report = await conform(server)
  })
  afterAll(() => server.close())

  test('keeps every rule, and every rule but the cap is observable', () => {
    expect(idsOf(report, 'fail')).toEqual([])
    expect(idsOf(report, 'not_observable')).toEqual(['limits.refusal'])
    expect(idsOf(report, 'pass')).toHaveLength(RULES.length - 1)
    expect(report).toMatchObject({ rateLimited: 0, endedBy: null })
    expect(report.requests).toBeLessThanOrEqual(90)
  })

  test.each([
    ['page size', /^surveys: 12 records; /],
    ['percentages', /^out of 100$/],
    ['a rate over zero interviews', /^null$/],
    ['fields that the document does not name', /^none$/],
    ['fractional digits of the second', /^0(, 3)?(, 6)?$/],
    ['an empty list', /^200, 0 rows, pagination \{.*"total_pages":0/],
    ['a page past the end', /^200, 0 rows/],
    ['page=0', /^400 \{"error":/],
    ['an unknown status', /^400 /],
    ['an invalid date', /^400 /],
    ['an offset with + instead of %2B', /^400 /],
    ['an unknown survey', /^404 /],
    ['an unknown sample source', /^404 /],
    ['a wrong token', /^401 /],
    ['Date header', /^in (\d+) of \1 answers, \d+ s behind our clock$/],
    ['compression', /^"gzip" in \d+ of \d+ answers$/],
    ['keep-alive', /^\d+ requests over 1 connection$/],
    ['answers 429 below the cap', /^none$/],
  ])('an observation reports %s', (topic, text) => {
    expect(observationOf(report, topic)).toMatch(text)
  })

  test('gets no more requests than the limit, and rules beyond it are not observable', async () => {
    const limited = await conform(server, { requestsMax: 20 })
    expect(limited.requests).toBe(20)
    expect(idsOf(limited, 'fail')).toEqual([])
    const reason = 'the limit of 20 requests is reached'
    expect(verdictOf(limited, 'windows.before-inclusive')).toEqual({ verdict: 'not_observable', reason })
    expect(idsOf(limited, 'pass')).toContain('survey.title')
  })

  test('is reported as far as it was checked when the run is stopped', async () => {
    const stop = new AbortController()
    let requests = 0
    const debug = () => {
      requests += 1
      if (requests === 12) stop.abort(new StoppedError('stopped by SIGTERM'))
    }
    const log = { debug, info: () => {}, warn: () => {}, error: () => {} }
    const stopped = await conform(server, { log, signal: stop.signal })
    expect(stopped.requests).toBe(12)
    expect(stopped.endedBy).toMatchObject({ exitCode: 3, message: 'stopped by SIGTERM' })
    expect(idsOf(stopped, 'pass')).toEqual(expect.arrayContaining(['authentication.none', 'survey.title']))
    expect(idsOf(stopped, 'fail')).toEqual([])
  })
})

test('API document, "Limits": a run keeps the cap in every window of time', async () => {
  const rate = { requests: 30, perMs: 250 }
  await using server = await startReferenceServer({ ...WORLD, rateWindow: 'sliding', rateLimit: rate })
  const report = await conform(server, { rate, requestsMax: 65 })
  expect(report.requests).toBe(65)
  expect(report.rateLimited).toBe(0)
  expect(idsOf(report, 'fail')).toEqual([])
})

test('API document, "Limits": --exceed-cap exceeds the cap once, until the answer is 429', async () => {
  const rate = { requests: 30, perMs: 600_000 }
  await using server = await startReferenceServer({ ...WORLD, rateWindow: 'sliding', rateLimit: rate })
  const report = await conform(server, { rate, requestsMax: 25, exceedCap: true })
  expect(report.rateLimited).toBe(0)
  expect(idsOf(report, 'fail')).toEqual([])
  expect(idsOf(report, 'pass')).toContain('limits.refusal')
  expect(observationOf(report, 'a 429 answer')).toMatch(
    /^within \d+ requests at once; retry-after: \d+; body \{"error"/,
  )
  expect(report.requests).toBeGreaterThan(30)
  expect(report.requests).toBeLessThanOrEqual(25 + 35)
})

test('a cap that is higher than the setting breaks no rule', async () => {
  await using server = await startReferenceServer(WORLD)
  const rate = { requests: 30, perMs: 100 }
  const report = await conform(server, { rate, requestsMax: 5, exceedCap: true })
  expect(report.requests).toBe(5 + 35)
  const reason = '35 requests at once were all answered: the cap of this account is higher'
  expect(verdictOf(report, 'limits.refusal')).toEqual({ verdict: 'not_observable', reason })
})

test('a world that changes between two readings breaks no rule', async () => {
  await using server = await startReferenceServer({ ...WORLD, clock: '100000x', emptyRates: 'omit' })
  const report = await conform(server)
  expect(idsOf(report, 'fail')).toEqual([])
  expect(observationOf(report, 'a rate over zero interviews')).toBe('missing')
})

test('an account without surveys breaks no rule, and most rules are not observable', async () => {
  await using server = await startReferenceServer({ ...WORLD, surveys: 0 })
  const report = await conform(server)
  expect(idsOf(report, 'fail')).toEqual([])
  expect(idsOf(report, 'pass')).toEqual(expect.arrayContaining(['authentication.none', 'answers.surveys']))
  expect(idsOf(report, 'not_observable')).toEqual(
    expect.arrayContaining(['survey.id', 'status.only', 'updated-since.inclusive', 'windows.cover']),
  )
})

/** A service whose answers the test decides; `number` counts them from 1. It refuses wrong credentials and unknown surveys. */
const serve = async (
  answer: (response: ServerResponse, number: number, request: IncomingMessage) => unknown,
) => {
  const urls: string[] = []
  const server = createServer((request, response) => {
    const { 'authorization-id': id, 'authorization-token': token } = request.headers
    const isKnown = id === '7' && token === TOKEN
    if (!isKnown || !/\/surveys(\?|$|\/\d\/)/.test(request.url ?? ''))
      return response.writeHead(isKnown ? 404 : 403).end()
    urls.push(request.url ?? '')
    return answer(response, urls.length, request)
  })
  const port = await listen(server, onTestFinished)
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, accounts: [{ id: 7, token: TOKEN }], urls }
}

const TOKEN = 'secret-token-77'
const JSON_TYPE = { 'content-type': 'application/json' }
/** An empty list, unless the test gives another body. */
const sendJson = (
  response: ServerResponse,
  body: unknown = { surveys: [], pagination: PAGE },
  status = 200,
  headers = {},
) => response.writeHead(status, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body))

const PAGE = { current_page: 1, next_page: null, prev_page: null, total_pages: 0, total_count: 0 }
const pageOf = (total_count: number) => ({ ...PAGE, total_pages: 1, total_count })

const ELSEWHERE = { location: 'http://elsewhere.example/' }
test.each([
  [401, {}, /refused the credentials \(401\).*\{"echo":"\[redacted\]"\}/],
  [302, ELSEWHERE, /redirects \(302\).*, but credentials are sent only to base_url/],
  [404, {}, /GET \/api\/v1\/surveys with the unexpected status 404/],
])('a first answer %d ends the run with one line', async (status, headers, message) => {
  const service = await serve((response, _, request) =>
    sendJson(response, { echo: request.headers['authorization-token'] }, status, headers),
  )
  const ended = await conform(service).catch((error: unknown) => error)
  expect(ended).toMatchObject({ exitCode: 4, message: expect.stringMatching(message) })
  expect(service.urls).toHaveLength(1)
})

/** Waits before a repeated request end at once; timeouts stay. */
const impatient: Clock = {
  ...systemClock,
  after: (durationMs, act) => systemClock.after(durationMs < 10_000 ? 0 : durationMs, act),
}

test('a run repeats requests after a 503, a reset and an answer that breaks off', async () => {
  const service = await serve((response, number) => {
    if (number === 2) return response.writeHead(503).end()
    if (number === 4) return response.destroy()
    if (number !== 6) return sendJson(response)
    return response.writeHead(200, JSON_TYPE).write('{"surveys', () => response.destroy())
  })
  const report = await conform(service, { clock: impatient })
  expect(idsOf(report, 'fail')).toEqual([])
  expect(report.endedBy).toBeNull()
  expect(service.urls.length).toBeGreaterThan(6)
})

test('a service that goes away ends the run, and the report has the verdicts until then', async () => {
  const service = await serve((response, number) => (number > 1 ? response.destroy() : sendJson(response)))
  const report = await conform(service, { clock: impatient })
  expect(report.endedBy).toMatchObject({ exitCode: 4, message: expect.stringMatching(/after 3 attempts/) })
  expect(idsOf(report, 'pass')).toContain('authentication.none')
  expect(idsOf(report, 'not_observable')).toContain('survey.id')
})

test('a service that always answers 503 breaks the rule about status 200 and no other', async () => {
  const service = await serve((response, number) => sendJson(response, undefined, number === 1 ? 200 : 503))
  expect(idsOf(await conform(service, { clock: impatient }), 'fail')).toEqual(['answers.success'])
})

test.each([
  ['once', 1, '200, 0 rows'],
  ['every time', Number.POSITIVE_INFINITY, '503'],
])(
  'an observation reports a 503 that comes twice to a request that the document does not describe: %s',
  async (_, times, text) => {
    let asked = 0
    const service = await serve((response, _number, { url }) => {
      const isOpen = url?.includes('page=0') === true
      if (isOpen) asked += 1
      sendJson(response, undefined, isOpen && asked <= times ? 503 : 200)
    })
    const report = await conform(service, { clock: impatient })
    expect(observationOf(report, 'page=0')).toMatch(new RegExp(`^${text}`))
    expect(asked).toBeGreaterThan(1)
  },
)

test('a run waits after a 429 as Retry-After says, and reports it', async () => {
  const service = await serve((response, number) =>
    sendJson(response, undefined, number === 2 ? 429 : 200, { 'retry-after': '0' }),
  )
  const report = await conform(service, { requestsMax: 10, clock: impatient })
  expect(report).toMatchObject({ rateLimited: 1, requests: 10, endedBy: null })
  expect(observationOf(report, 'answers 429 below the cap')).toMatch(/^1, waited out/)
  expect(idsOf(report, 'fail')).toEqual([])
})

test.each([{ 'retry-after': '7200' }, { 'retry-after': '0' }])(
  'a service that keeps refusing (%j) ends the run, and the report has the verdicts until then',
  async (headers) => {
    const service = await serve((response, number) =>
      sendJson(response, undefined, number > 1 ? 429 : 200, headers),
    )
    const report = await conform(service, { clock: impatient })
    expect(report.endedBy).toMatchObject({ exitCode: 4, message: expect.stringContaining('429') })
    expect(report.requests).toBeLessThan(12)
    expect(idsOf(report, 'pass')).toContain('authentication.none')
  },
)

const UTF8 = 'application/json; charset=utf-8'

test.each([
  ['<html>', 'text/html', ['answers.content-type', 'answers.json']],
  ['', UTF8, ['answers.json']],
  ['[]', UTF8, ['answers.surveys']],
  [`"${'x'.repeat(2_000)}"`, UTF8, ['answers.json']],
  ['{"surveys":{},"pagination":[]}', UTF8, ['answers.surveys']],
  ['{"surveys":[1],"pagination":{}}', UTF8, ['answers.surveys']],
  ['{"surveys":[]}', 'application/hal+json', ['answers.surveys']],
])('an answer %s of type %s breaks the rules about answers', async (body, type, broken) => {
  const service = await serve((response) => response.writeHead(200, { 'content-type': type }).end(body))
  const report = await conform(service, { responseBytesMax: 1_000 })
  const ids = idsOf(report, 'fail').filter((id) => id.startsWith('answers.'))
  expect({ ids, endedBy: report.endedBy }).toEqual({ ids: broken, endedBy: null })
})

test('lists that change between two readings do not break the rule about their union, even if their totals stay', async () => {
  const at = '2026-01-01T00:00:00Z'
  const survey = (id: number, status: string) => ({ id, status, created_at: at, updated_at: at })
  const service = await serve((response, number, { url = '' }) => {
    const [, status] = /[?&]status=(\w+)/.exec(url) ?? []
    const surveys =
      status === undefined ? [survey(1, 'complete'), survey(2, 'fieldwork')] : [survey(number, status)]
    sendJson(response, { surveys, pagination: pageOf(/status(?:\[|%5B)/i.test(url) ? 3 : surveys.length) })
  })
  const verdict = verdictOf(await conform(service), 'status.array-union')
  expect(verdict).toEqual({
    verdict: 'not_observable',
    reason: 'the compared data changed while it was read',
  })
})

test('rounded rates must agree to the digits that the service prints', async () => {
  const at = '2026-01-01T00:00:00Z'
  const survey = { id: 5, status: 'complete', created_at: at, updated_at: at }
  const none = document.INTERVIEW_STATUSES.map((status) => [status, { individuals: 0, percentage: 0 }])
  const progress = {
    sample_size: 300,
    interviews_count: 200,
    interview_count_by_status: {
      ...Object.fromEntries(none),
      complete: { individuals: 200, percentage: 66.67 },
      screen_out: { individuals: 100, percentage: 33.33 },
    },
    completion_rate: 0.68,
    questionnaire_incidence_rate: 0.667,
    // Cut off, not rounded.
    target_incidence_rate: 0.66,
    drop_out_rate: 0,
    length_of_interview: 300,
  }
  const service = await serve((response, _, { url = '' }) => {
    if (url.includes('fieldwork_progress')) return sendJson(response, { fieldwork_progress: progress })
    if (url.includes('sample_sources')) return sendJson(response, { sample_sources: [], pagination: PAGE })
    return sendJson(response, { surveys: [survey], pagination: pageOf(1) })
  })
  const report = await conform(service)
  const to = (decimals: number) => `to the ${decimals} decimals that the service gives`
  for (const [id, note] of [
    ['formula.questionnaire_incidence_rate', to(3)],
    ['formula.target_incidence_rate', to(2)],
    ['progress.percentages', `out of 100, ${to(2)}`],
    ['formula.incidence_rate', 'the service no longer sends it'],
    ['progress.incidence_rate', 'the service no longer sends it'],
  ] as const)
    expect([id, verdictOf(report, id)]).toEqual([id, { verdict: 'pass', note }])
  expect(verdictOf(report, 'formula.completion_rate')).toMatchObject({
    verdict: 'fail',
    expected: expect.stringMatching(/^completion_rate 200 \/ 300 = 0\.66/),
    got: expect.stringMatching(/^completion_rate 0\.68/),
  })
})

test('the report never has a token that the service echoes', async () => {
  const service = await serve((response) => {
    const headers = { 'content-type': TOKEN, 'x-ratelimit-token': TOKEN }
    const row = { id: TOKEN, title: 7, [TOKEN]: TOKEN, status: TOKEN, created_at: TOKEN, updated_at: TOKEN }
    sendJson(response, { surveys: [row, row], pagination: { ...PAGE, next_page: TOKEN } }, 200, headers)
  })
  const report = await conform(service, { requestsMax: 30 })
  const failed = ['survey.id', 'survey.title', 'survey.status']
  expect(idsOf(report, 'fail')).toEqual(expect.arrayContaining(failed))
  expect(JSON.stringify(report)).not.toContain('secret-token')
})

test('surveys of several organizations break a rule, and the report names the owners', async () => {
  const surveys = [71, 72, 73].map((owner) => ({ id: owner, owner_organization_id: owner }))
  const service = await serve((response) => sendJson(response, { surveys, pagination: pageOf(3) }))
  const report = await conform(service, { requestsMax: 8 })
  const expected = { verdict: 'fail', got: '3 of them: 71, 72, 73' }
  expect(verdictOf(report, 'surveys.one-organization')).toMatchObject(expected)
})

test('a run reads every kind of survey, also a draft in an account that has all kinds', async () => {
  const statuses = 'complete complete fieldwork fieldwork data_processing deviating_from_specs draft'.split(
    ' ',
  )
  const surveys = statuses.map((status, place) => ({ id: place + 1, status }))
  // Interviews and two sources: no survey beyond these kinds is needed.
  const counts = document.INTERVIEW_STATUSES.map((status) => [status, { individuals: 1, percentage: 9 }])
  const body = {
    ...{ surveys, pagination: pageOf(surveys.length), sample_sources: [{ id: 1 }, { id: 2 }] },
    fieldwork_progress: { interview_count_by_status: Object.fromEntries(counts) },
  }
  const service = await serve((response) => sendJson(response, body))
  await conform(service)
  for (const { id } of surveys) expect(service.urls).toContain(`/api/v1/surveys/${id}/fieldwork_progress`)
})
