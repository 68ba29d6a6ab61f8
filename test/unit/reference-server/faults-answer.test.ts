/** Faults that change an answer: another status, a patched body, a survey that has vanished. */
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { startApi } from './support/api.js'
import { askBytes, countsOf, loggedFaults, putFaults } from './support/faulty.js'

const always = (action: object) => [{ times: 'always', action }]

describe('status', () => {
  test('without a body gives one empty answer, which is logged as it was sent', async () => {
    await using api = await startApi({ surveys: 1, faults: [{ action: { status: 503 } }] })
    const { status, headers, bytes } = await askBytes(api, '/surveys')
    expect([status, bytes.length]).toEqual([503, 0])
    expect([headers['content-length'], headers['content-type']]).toEqual(['0', undefined])
    expect(headers.date).toBe('Sun, 01 Mar 2026 00:00:00 GMT')
    expect((await api.ask('/surveys')).status).toBe(200)
    expect(await loggedFaults(api)).toEqual([
      [503, [0]],
      [200, []],
    ])
  })

  test('with a body is HTML, text or JSON', async () => {
    await using api = await startApi({ surveys: 1 })
    const json = 'application/json; charset=utf-8'
    for (const [body, type, text] of [
      ['<html>Bad gateway</html>', 'text/html; charset=utf-8', '<html>Bad gateway</html>'],
      ['try later ✓', 'text/plain; charset=utf-8', 'try later ✓'],
      ['', 'text/plain; charset=utf-8', ''],
      [{ error: 'no' }, json, '{"error":"no"}'],
      [null, json, 'null'],
      [[], json, '[]'],
    ] as const) {
      await putFaults(api, always({ status: 502, body }))
      const { status, headers, bytes } = await askBytes(api, '/surveys')
      expect([status, headers['content-type'], bytes.toString()]).toEqual([502, type, text])
    }
  })

  test('its headers replace the content type and Date, and may be numbers', async () => {
    const date = 'Thu, 01 Jan 1970 00:00:00 GMT'
    const headers = { 'Content-Type': 'application/json', DATE: date, 'Retry-After': 7 }
    const body = '{"surveys": [9007199254740993]}'
    await using api = await startApi({ surveys: 1, faults: always({ status: 200, headers, body }) })
    const answer = await askBytes(api, '/surveys')
    expect(answer.bytes.toString()).toBe(body)
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', date, 'retry-after': '7' })
  })

  test('204 and 304 have no body and the connection works afterwards; a redirect leads where its header says', async () => {
    const headers = { location: 'http://127.0.0.1:1/elsewhere' }
    const faults = [204, 304, 302].map((status, after) => ({ after, action: { status, headers } }))
    await using api = await startApi({ surveys: 1, faults })
    for (const expected of [204, 304, 302]) {
      const { status, bytes, headers } = await askBytes(api, '/surveys')
      expect([status, bytes.length, headers.location]).toEqual([expected, 0, 'http://127.0.0.1:1/elsewhere'])
    }
    expect((await api.ask('/surveys')).status).toBe(200)
  })

  test('a long body is compressed if the client allows it, unless the headers set an encoding', async () => {
    const body = '<p>'.repeat(1_000)
    const gzip = { 'accept-encoding': 'gzip' }
    await using api = await startApi({ surveys: 1, faults: [{ action: { status: 500, body } }] })
    const { bytes, headers } = await askBytes(api, '/surveys', gzip)
    expect([headers['content-encoding'], gunzipSync(bytes).toString()]).toEqual(['gzip', body])
    await putFaults(api, always({ status: 500, body, headers: { 'content-encoding': 'br' } }))
    const lie = await askBytes(api, '/surveys', gzip)
    expect([lie.headers['content-encoding'], lie.bytes.toString()]).toEqual(['br', body])
  })

  test('a name such as __proto__ in a body is an ordinary name', async () => {
    await using api = await startApi({ surveys: 1 })
    const body = '[{"times": "always", "action": {"status": 200, "body": {"__proto__": {"a": 1}}}}]'
    expect((await api.control('/faults', { method: 'PUT', body })).status).toBe(200)
    expect((await api.ask('/surveys')).text).toBe('{"__proto__":{"a":1}}')
  })
})

describe('patch', () => {
  test('is merged into every row of a list', async () => {
    await using api = await startApi({ surveys: 3 })
    const { surveys } = await api.readSurveys()
    await putFaults(api, always({ patch: { status: 'archived', title: null, id: '12' }, at: '/surveys/*' }))
    const { json } = await api.ask('/surveys')
    expect(json).toMatchObject({ pagination: { total_count: 3 } })
    const patched = surveys.map(({ title: _, ...rest }) => ({ ...rest, status: 'archived', id: '12' }))
    expect(json).toHaveProperty('surveys', patched)
    expect((await api.readTruth()).accounts[0]!.surveys.map(({ id }) => id)).toEqual(
      surveys.map(({ id }) => id),
    )
  })

  test('a patch that is no object replaces the value, null too', async () => {
    await using api = await startApi({ surveys: 2 })
    await putFaults(api, [
      { action: { patch: 'soon', at: '/surveys/1/updated_at' } },
      { action: { patch: null, at: '/surveys/0/id' } },
      { action: { patch: [], at: '/pagination' } },
    ])
    expect((await api.ask('/surveys')).json).toMatchObject({
      surveys: [{ id: null }, { updated_at: 'soon' }],
      pagination: [],
    })
  })

  test('reaches every member of an object, and changes nothing where it points to nothing', async () => {
    await using api = await startApi({ surveys: 1 })
    const { id } = (await api.readSurveys()).surveys[0]!
    const path = `/surveys/${id}/fieldwork_progress`
    const { interview_count_by_status: before, ...rest } = await api.readProgress(id)
    await putFaults(api, [
      {
        times: 'always',
        action: { patch: { percentage: null }, at: '/fieldwork_progress/interview_count_by_status/*' },
      },
      ...['/surveys/*', '/fieldwork_progress/nothing', '/fieldwork_progress/-/a'].map((at) => ({
        times: 'always',
        action: { patch: { x: 1 }, at },
      })),
    ])
    const expected = Object.fromEntries(
      Object.entries(before).map(([status, { individuals }]) => [status, { individuals }]),
    )
    expect((await api.ask(path)).json).toEqual({
      fieldwork_progress: { ...rest, interview_count_by_status: expected },
    })
    expect(await loggedFaults(api)).toContainEqual([200, [0, 1, 2, 3]])
  })

  test('names with slashes and tildes are written ~1 and ~0', async () => {
    await using api = await startApi({
      surveys: 1,
      faults: [
        { action: { status: 200, body: { 'a/b': { '~': 1 }, '~1': 2 } } },
        { action: { patch: 'x', at: '/a~1b/~0' } },
        { action: { patch: 'y', at: '/~01' } },
      ],
    })
    expect((await api.ask('/surveys')).json).toEqual({ 'a/b': { '~': 'x' }, '~1': 'y' })
  })

  test('acts on an answer that another patch made deeper than a patch may be', async () => {
    const patch: unknown = JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`)
    const faults = [{ action: { patch, at: '/pagination' } }, { action: { patch: { second: true } } }]
    await using api = await startApi({ surveys: 1, faults })
    const { status, json } = await api.ask('/surveys')
    expect(status).toBe(200)
    expect(json).toMatchObject({ second: true })
  })

  test('and status act in their order; a text body is not patched', async () => {
    await using api = await startApi({ surveys: 1 })
    const patch = { patch: { extra: true } }
    const ask = async (...actions: object[]) => {
      await putFaults(
        api,
        actions.map((action) => ({ action })),
      )
      const { status, text } = await api.ask('/surveys')
      return [status, text]
    }
    expect(await ask({ status: 500, body: { a: 1 } }, patch)).toEqual([500, '{"a":1,"extra":true}'])
    expect(await ask(patch, { status: 500, body: { a: 1 } })).toEqual([500, '{"a":1}'])
    expect(await ask({ status: 500, body: '"text"' }, patch)).toEqual([500, '"text"'])
    expect(await ask({ status: 500 }, patch)).toEqual([500, ''])
    expect(await ask({ status: 500, body: 7 }, { status: 501, body: 8 })).toEqual([501, '8'])
  })
})

describe('forget', () => {
  test('a survey that vanishes between two pages moves the next one up, so that it is on neither page', async () => {
    await using api = await startApi({ surveys: 9, pageSize: 3 })
    const all = await Promise.all(
      [1, 2, 3].map(async (page) => (await api.readSurveys(`?page=${page}`)).surveys),
    )
    const [first, second, third] = all.map((rows) => rows.map(({ id }) => id))
    const gone = first![1]!
    await putFaults(api, [{ match: { path: '/surveys', page: 2 }, action: { forget: gone } }])
    const pages = []
    for (const page of [1, 2, 3]) pages.push(await api.readSurveys(`?page=${page}`))
    expect(pages.map(({ surveys }) => surveys.map(({ id }) => id))).toEqual([
      first,
      [...second!.slice(1), third![0]],
      third!.slice(1),
    ])
    expect(pages.map(({ pagination }) => pagination.total_count)).toEqual([9, 8, 8])
  })

  test('the survey is gone from every endpoint and filter, truth and changes, until the faults are replaced', async () => {
    await using api = await startApi({ surveys: 40, pageSize: 100, accounts: 2 })
    const to = '2026-04-01T00:00:00Z'
    const changes = await api.readChanges('2026-02-01T00:00:00Z', to)
    const gone = changes.at(-1)!.survey_id
    const account = Number(changes.at(-1)!.account !== 'default')
    const of = api.server.accounts[account]!.name
    await api.moveTime({ set: to })
    const paths = ['sample_sources', 'fieldwork_progress'].map((what) => `/surveys/${gone}/${what}`)
    const statuses = () => Promise.all(paths.map(async (path) => (await api.ask(path, account)).status))
    expect(await statuses()).toEqual([200, 200])
    const before = await api.readSurveys('', account)
    const { status } = before.surveys.find(({ id }) => id === gone)!
    const filtered = (await api.readSurveys(`?status=${status}`, account)).surveys
    await putFaults(api, [{ match: { page: 2 }, action: { forget: gone } }])
    await api.ask('/surveys?page=2', 1 - account)
    expect(await statuses()).toEqual([404, 404])
    const others = before.surveys.filter(({ id }) => id !== gone)
    expect(await api.readSurveys('', account)).toEqual({
      surveys: others,
      pagination: { ...before.pagination, total_count: others.length },
    })
    expect((await api.readSurveys(`?status=${status}`, account)).surveys).toEqual(
      filtered.filter(({ id }) => id !== gone),
    )
    const truth = async () => (await api.readTruth(`?account=${of}`)).accounts[0]!.surveys.map(({ id }) => id)
    expect(await truth()).toEqual(others.map(({ id }) => id))
    expect(await api.readChanges('2026-02-01T00:00:00Z', to)).toEqual(
      changes.filter(({ survey_id }) => survey_id !== gone),
    )
    await putFaults(api, [])
    expect(await statuses()).toEqual([200, 200])
    expect(await api.readSurveys('', account)).toEqual(before)
    expect(await truth()).toContain(gone)
    expect(await api.readChanges('2026-02-01T00:00:00Z', to)).toEqual(changes)
  })

  test('acts before the answer is made, also on a request for the survey itself', async () => {
    await using api = await startApi({ surveys: 2 })
    const { id } = (await api.readSurveys()).surveys[0]!
    await putFaults(api, [{ action: { patch: { seen: true } } }, { action: { forget: id } }])
    const { status, json } = await api.ask(`/surveys/${id}/fieldwork_progress`)
    expect([status, json]).toEqual([404, { error: 'there is no such survey', seen: true }])
    expect(await countsOf(api)).toEqual([
      [1, 1],
      [1, 1],
    ])
  })
})
