/** `support/api` checks every answer of every test against the OpenAPI document. Here is what that check finds. */
import { beforeAll, describe, expect, test } from 'vitest'
import { asObject, type JsonObject } from '../../support/api/reference-api.js'
import { startApi } from './support/api.js'
import { type Check, checkBy, type Exchange } from './support/described.js'

describe('the check finds an answer that is not as described', () => {
  let check: Check
  let list: JsonObject
  let survey: JsonObject
  let headers: Headers

  beforeAll(async () => {
    await using api = await startApi({ surveys: 1 })
    check = checkBy(asObject((await api.control('/openapi.json')).json))
    const listed = await api.ask('/surveys')
    headers = listed.headers
    list = asObject(listed.json)
    survey = asObject((await api.readSurveys()).surveys[0])
  })

  const problemOf = (bend: Partial<Exchange>): string | null =>
    check({ method: 'GET', path: '/api/v1/surveys', status: 200, headers, json: list, ...bend })
  const withSurvey = (bend: JsonObject) => problemOf({ json: { ...list, surveys: [{ ...survey, ...bend }] } })

  test('it finds nothing in a correct answer', () => {
    expect(problemOf({})).toBeNull()
  })

  test.each<[string, JsonObject]>([
    ['an extra field', { colour: 'red' }],
    ['a string for a number', { id: '7' }],
    ['no title', { title: undefined }],
    ['an unknown status', { status: 'paused' }],
    ['no such day', { updated_at: '2026-02-30T00:00:00Z' }],
  ])('a survey with %s', (_, bend) => {
    expect(withSurvey(bend)).toMatch(/^body\/surveys\/0/)
  })

  test('it finds an undescribed status, a missing header, another content type, and an unknown path or method', () => {
    const error = { error: 'no' }
    const without = (name: string, value?: string) => {
      const bent = new Headers(headers)
      bent.delete(name)
      if (value !== undefined) bent.set(name, value)
      return bent
    }
    const bent: readonly (readonly [Partial<Exchange>, RegExp])[] = [
      [{ status: 500, json: error }, /500 is not described/],
      [{ status: 404, json: error }, /404 is not described/],
      [{ status: 401, json: { message: 'no' } }, /^body/],
      [{ status: 405, json: error }, /^the header Allow is missing$/],
      [{ headers: without('date') }, /^the header Date is missing$/],
      [{ headers: without('content-type', 'text/html') }, /not application\/json/],
      [{ path: '/api/v1/surveys/7' }, /unknown path/],
      [{ path: '/surveys' }, /unknown path/],
      [{ method: 'POST' }, /unknown method/],
      [{ json: [] }, /must be object/],
    ]
    for (const [bend, problem] of bent) expect(problemOf(bend)).toMatch(problem)
  })
})
