/** Checks answers against the OpenAPI document: `support/api` does so for every request of a test. */
import { beforeAll, describe, expect, test } from 'vitest'
import { asObject, type JsonObject } from '../../support/api/reference-api.js'
import { START_AT, startApi } from './support/api.js'
import { type Check, checkBy, type Exchange } from './support/described.js'

describe('answers are as the OpenAPI document describes them', () => {
  test('a whole world: all pages, all sources, progress restricted and not, windows, empty lists', async () => {
    await using api = await startApi({ surveys: 16, accounts: 2, pageSize: 3 })
    const statuses = new Set<number>()
    const read = async (path: string, account = 0): Promise<void> => {
      const { status } = await api.ask(path, account)
      statuses.add(status)
      expect([path, status]).toEqual([path, 200])
    }
    for (let page = 1; page <= 7; page++) await read(`/surveys?page=${page}`)
    await read('/surveys?status=fieldwork&page=2')
    await read('/surveys?status[]=draft&status[]=user_demo')
    await read('/surveys?updated_since=2026-02-20T00:00:00Z')
    await read('/surveys?updated_since=2999-01-01T00:00:00Z')
    await read('/surveys', 1)
    for (const survey of (await api.readTruth('?account=default')).accounts[0]!.surveys) {
      const path = `/surveys/${survey.id}`
      await read(`${path}/sample_sources`)
      await read(`${path}/sample_sources?page=2`)
      await read(`${path}/fieldwork_progress`)
      await read(`${path}/fieldwork_progress?started_before=1999-01-01T00:00:00Z`)
      await read(
        `${path}/fieldwork_progress?started_after=2026-01-01T00:00:00Z&started_before=2026-02-01T00:00:00Z`,
      )
      for (const { id } of survey.sample_sources) {
        await read(`${path}/fieldwork_progress?sample_source_id=${id}`)
      }
    }
    expect([...statuses]).toEqual([200])
  })

  test('a world without surveys, and every refusal', async () => {
    await using bare = await startApi({ surveys: 0 })
    expect((await bare.ask('/surveys')).status).toBe(200)
    const rateLimit = { requests: 4, perMs: 3_600_000 }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit })
    const { id } = (await api.readSurveys()).surveys[0]!
    const { baseUrl } = api.server
    const anonymous = await api.fetchText(`${baseUrl}/surveys/${id}/sample_sources`)
    const posted = await api.fetchText(`${baseUrl}/surveys/${id}/fieldwork_progress`, { method: 'POST' })
    const answers = [anonymous, posted]
    const unknown = `/surveys/${id}1/sample_sources`
    for (const path of ['/surveys?page=0', unknown, '/nowhere', '/surveys', '/surveys'])
      answers.push(await api.ask(path))
    expect(answers.map(({ status }) => status)).toEqual([401, 405, 400, 404, 404, 200, 429])
  })

  test('the control routes', async () => {
    await using api = await startApi({ surveys: 5 })
    await api.moveTime({ advance: 'P1D' })
    expect((await api.control('/time', { method: 'POST', body: '{}' })).status).toBe(400)
    const range = `?from=${START_AT}&to=2026-05-01T00:00:00Z`
    for (const path of ['/time', '/requests', '/truth', '/truth?only=surveys', `/changes${range}`]) {
      expect([path, (await api.control(path)).status]).toEqual([path, 200])
    }
    expect((await api.control('/requests', { method: 'DELETE' })).status).toBe(200)
    expect((await api.control('/truth?account=nobody')).status).toBe(404)
    expect((await api.control('/changes')).json).toEqual({
      error: 'from is missing: give an ISO 8601 date-time with an offset, like 2026-03-01T00:00:00Z',
    })
  })
})

describe('the check finds an answer that is not as described', () => {
  let check: Check
  let list: JsonObject
  let progress: JsonObject
  let survey: JsonObject
  let headers: Headers
  const PROGRESS = '/api/v1/surveys/7/fieldwork_progress'

  beforeAll(async () => {
    await using api = await startApi({ surveys: 1 })
    check = checkBy(asObject((await api.control('/openapi.json')).json))
    const listed = await api.ask('/surveys')
    headers = listed.headers
    list = asObject(listed.json)
    survey = asObject((await api.readSurveys()).surveys[0])
    progress = asObject(await api.readProgress(Number(survey.id)))
  })

  const problemOf = (bend: Partial<Exchange>): string | null =>
    check({ method: 'GET', path: '/api/v1/surveys', status: 200, headers, json: list, ...bend })
  const withSurvey = (bend: JsonObject) => problemOf({ json: { ...list, surveys: [{ ...survey, ...bend }] } })
  const withProgress = (bend: JsonObject) =>
    problemOf({ path: PROGRESS, json: { fieldwork_progress: { ...progress, ...bend } } })

  test('it finds nothing in a correct answer', () => {
    expect([problemOf({}), withSurvey({}), withProgress({})]).toEqual([null, null, null])
  })

  test.each<[string, JsonObject]>([
    ['an extra field', { colour: 'red' }],
    ['a string for a number', { id: '7' }],
    ['a fraction for a count', { respondent_questions_count: 1.5 }],
    ['an unknown status', { status: 'paused' }],
    ['null for a title', { title: null }],
    ['a time without offset', { created_at: '2026-03-01T00:00:00' }],
    ['no such day', { updated_at: '2026-02-30T00:00:00Z' }],
  ])('a survey with %s', (_, bend) => {
    expect(withSurvey(bend)).toMatch(/^body\/surveys\/0/)
  })

  test('it finds any missing field of a survey', () => {
    for (const name of Object.keys(survey)) {
      const { [name]: _, ...rest } = survey
      expect(problemOf({ json: { ...list, surveys: [rest] } })).toContain(`required property '${name}'`)
    }
  })

  test.each<[string, JsonObject]>([
    ['a missing count', { interview_count_by_status: {} }],
    ['a rate as text', { drop_out_rate: '0.5' }],
    ['no count of interviews', { interviews_count: null }],
    ['an extra indicator', { quota: 1 }],
  ])('a progress with %s', (_, bend) => {
    expect(withProgress(bend)).toMatch(/^body\/fieldwork_progress/)
  })

  test('it allows rates and the length of an interview to be null or left out', () => {
    for (const name of ['completion_rate', 'incidence_rate', 'length_of_interview']) {
      const { [name]: _, ...rest } = progress
      expect(problemOf({ path: PROGRESS, json: { fieldwork_progress: rest } })).toBeNull()
      expect(withProgress({ [name]: null })).toBeNull()
    }
  })

  test('it finds an undescribed status, a missing header, another content type, and an unknown path or method', () => {
    const error = { error: 'no' }
    const without = (name: string, value?: string) => {
      const bent = new Headers(headers)
      bent.delete(name)
      if (value !== undefined) bent.set(name, value)
      return bent
    }
    expect(problemOf({ status: 500, json: error })).toMatch(/500 is not described/)
    expect(problemOf({ status: 404, json: error })).toMatch(/404 is not described/)
    expect(problemOf({ status: 401, json: { message: 'no' } })).toMatch(/^body/)
    expect(problemOf({ status: 405, json: error })).toBe('the header Allow is missing')
    expect(problemOf({ headers: without('date') })).toBe('the header Date is missing')
    expect(problemOf({ headers: without('content-type', 'text/html') })).toMatch(/not application\/json/)
    expect(problemOf({ path: '/api/v1/surveys/7' })).toMatch(/unknown path/)
    expect(problemOf({ path: '/surveys' })).toMatch(/unknown path/)
    expect(problemOf({ method: 'POST' })).toMatch(/unknown method/)
    expect(problemOf({ json: [] })).toMatch(/must be object/)
  })
})
