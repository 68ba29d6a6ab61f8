import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, startApi } from './support/api.js'

let api: Api
let survey: number
let foreign: number

beforeAll(async () => {
  api = await startApi({ surveys: 20, accounts: 2 })
  survey = (await api.readSurveys()).surveys[0]!.id
  foreign = (await api.readSurveys('', 1)).surveys[0]!.id
})
afterAll(() => api.server.close())

const refused = async (path: string, status: number, error: string | RegExp = /^./) => {
  const answer = await api.ask(path)
  expect([path.slice(0, 100), answer.status]).toEqual([path.slice(0, 100), status])
  expect(answer.json).toEqual({ error: typeof error === 'string' ? error : expect.stringMatching(error) })
}

/** Sends bytes as they are and reads the whole answer. */
const sendRaw = async (head: string) => {
  const socket = connect(Number(new URL(api.server.origin).port), '127.0.0.1')
  socket.write(head)
  const answer = await text(socket)
  const [top = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(top.split(' ')[1]), top, json: JSON.parse(body) as unknown }
}

const sendHead = (line: string, headers: readonly (readonly [string, string])[]) => {
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  return sendRaw([line, 'host: localhost', 'connection: close', ...lines, '', ''].join('\r\n'))
}

describe('an invalid request gets its status and {"error": "<one sentence>"}', () => {
  test.each<readonly [string, string | RegExp]>([
    ...['0', '-1', '1.5', '1e3', '01', '', '%ZZ', '99999999999', '9007199254740993'].map(
      (page) =>
        [`/surveys?page=${page}`, `page is "${page}": give a whole number from 1 to 999999999`] as const,
    ),
    ['/surveys?page=+1', 'page is " 1": give a whole number from 1 to 999999999'],
    ['/surveys?page', 'page is "": give a whole number from 1 to 999999999'],
    ['/surveys?page=1&page=1', 'page is given 2 times: give it once'],
    ['/surveys?page[]=1&page=0', 'page is "0": give a whole number from 1 to 999999999'],
    ['/surveys?status=unknown', /^status is "unknown": give one of draft, pending, .*, user_demo$/],
    ['/surveys?status[]=', /^status is "": give one of draft/],
    ['/surveys?status[]=draft&status[]=', /^status is "": give one of draft/],
    ['/surveys?status=draft,complete', /^status is "draft,complete": give one of/],
    [
      '/surveys?status=draft&status=complete',
      'status is given 2 times: give it once; several statuses are given as status[]',
    ],
    [
      '/surveys?updated_since=yesterday',
      'updated_since is "yesterday": give an ISO 8601 date-time with an offset, like 2026-03-01T00:00:00Z',
    ],
    ['/surveys?updated_since=', /^updated_since is "": give an ISO 8601/],
    ['/surveys?updated_since=2026-02-30T00:00:00Z', /^updated_since is "2026-02-30T00:00:00Z": give/],
    ['/surveys?updated_since=2026-03-01T00:00:00+02:00', /; a plus sign is written %2B in a query$/],
    ['/surveys/SURVEY/sample_sources?page=0', 'page is "0": give a whole number from 1 to 999999999'],
    ['/surveys/SURVEY/fieldwork_progress?sample_source_id=x', 'sample_source_id is "x": give a whole number'],
    ['/surveys/SURVEY/fieldwork_progress?sample_source_id=-1', /^sample_source_id is "-1": give/],
    ['/surveys/SURVEY/fieldwork_progress?sample_source_id=1&sample_source_id=2', /is given 2 times/],
    ['/surveys/SURVEY/fieldwork_progress?started_after=now', /^started_after is "now": give an ISO 8601/],
    ['/surveys/SURVEY/fieldwork_progress?started_before=2026-03-01', /^started_before is "2026-03-01": give/],
    [`/surveys?page=${'9'.repeat(5_000)}`, /^page is "9{100}": give/],
  ])('an invalid parameter is 400: %s', async (path, error) => {
    await refused(path.replace('SURVEY', String(survey)), 400, error)
  })

  test('the error names the first of several wrong parameters, by the order of the API document', async () => {
    await refused('/surveys?page=0&updated_since=x&status=y', 400, /^status is "y"/)
  })

  test('an unknown survey, a survey of another account and an id that is no number get the same 404', async () => {
    const large = ['9007199254740991', '9007199254740993', '18446744073709551616']
    const long = ['9'.repeat(150), '9'.repeat(5_000)]
    const others = ['1', `${foreign}`, 'abc', '-1', '1.5', `${survey}%20`, '%00', '..%2F..']
    const ids = [...others, ...large, ...long]
    for (const endpoint of ['sample_sources', 'fieldwork_progress']) {
      for (const id of ids) await refused(`/surveys/${id}/${endpoint}`, 404, 'there is no such survey')
    }
  })

  test('a source of another survey is 404, however large its id', async () => {
    const truth = (await api.readTruth('?account=default')).accounts[0]!.surveys
    const other = truth.find(({ id, sample_sources }) => id !== survey && sample_sources.length > 0)!
    const ids = [other.sample_sources[0]!.id, 0, '9007199254740993', '9'.repeat(1_000)]
    for (const id of ids) {
      const path = `/surveys/${survey}/fieldwork_progress?sample_source_id=${id}`
      await refused(path, 404, 'this survey has no such sample source')
    }
  })

  test('a path that cannot be decoded is 400 and is logged', async () => {
    await api.control('/requests', { method: 'DELETE' })
    const paths = ['/api/v1/surveys/%ZZ/sample_sources', '/api/v1/%', '/elsewhere/%ff']
    for (const path of paths) {
      const { status } = await api.fetchText(`${api.server.origin}${path}`, { headers: api.credentials() })
      expect([path, status]).toEqual([path, 400])
    }
    const { requests } = (await api.control('/requests')).json as { requests: object[] }
    expect(requests).toEqual(
      paths.slice(0, 2).map((path) => expect.objectContaining({ path, account: 'default', status: 400 })),
    )
    for (const part of ['%ZZ', '%', '%ff']) {
      await refused(
        `/surveys/${part}/sample_sources`,
        400,
        'the path cannot be decoded: in a path, a percent sign is written %25',
      )
    }
  })

  test('methods other than GET are 405', async () => {
    const headers = api.credentials()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
      for (const path of ['/surveys', '/surveys/1/sample_sources', '/surveys/1/fieldwork_progress?x=1']) {
        const answer = await api.fetchText(`${api.server.baseUrl}${path}`, { method, headers })
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
        expect(answer.json).toEqual(method === 'HEAD' ? null : { error: 'only GET is possible here' })
      }
    }
  })

  test('missing or wrong credentials are 401, and so is a credentials header that is sent twice', async () => {
    const [id, token] = Object.entries(api.credentials())
    const line = 'GET /api/v1/surveys HTTP/1.1'
    expect((await sendHead(line, [id!, token!])).status).toBe(200)
    const [otherId] = Object.entries(api.credentials(1))
    const wrong: (readonly (readonly [string, string])[])[] = [
      [],
      [id!],
      [token!],
      [otherId!, token!],
      [['authorization-id', `0${id![1]}`], token!],
      [id!, ['authorization-token', `${token![1]}x`]],
      [id!, ['authorization-token', '']],
      [id!, id!, token!],
      [id!, token!, token!],
    ]
    for (const headers of wrong) {
      const { status, json } = await sendHead(line, headers)
      expect([headers.length, status]).toEqual([headers.length, 401])
      expect(json).toEqual({
        error: 'Authorization-ID and Authorization-Token must both be sent, and belong together',
      })
    }
  })

  test('a head that is too long is 431 and bytes that are no HTTP are 400, both as JSON with the world’s time', async () => {
    const long = await sendHead(`GET /api/v1/surveys?x=${'9'.repeat(17_000)} HTTP/1.1`, [])
    expect(long.json).toEqual({ error: expect.stringMatching(/too long: the most is 16384 bytes$/) })
    const noise = await sendRaw('nonsense\r\n\r\n')
    expect(noise.json).toEqual({ error: 'this is no HTTP request' })
    expect([long.status, noise.status]).toEqual([431, 400])
    for (const { top } of [long, noise]) {
      expect(top).toContain('date: Sun, 01 Mar 2026 00:00:00 GMT')
      expect(top).toContain('content-type: application/json')
    }
  })
})
