import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRequestLog } from '../../../src/reference-server/request-log.js'
import { type Api, micros, START_AT, startApi } from './support/api.js'

const time = z.strictObject({ now: z.string(), clock: z.string() })
const requestLog = z.strictObject({
  requests: z.array(z.looseObject({ at_ms: z.number() })),
  dropped: z.int(),
})

describe('a web page of another site', () => {
  const statusOf = async (api: Api, headers: Record<string, string>, path = '/time'): Promise<number> => {
    const sent = request(`${api.server.origin}/_reference${path}`, { headers })
    sent.end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode!
  }

  test('cannot use the routes beside the API: a foreign Host or Origin is 403', async () => {
    await using api = await startApi({ surveys: 1 })
    const { port } = new URL(api.server.origin)
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.nip.example',
    ])
      for (const path of ['/time', '/truth', '/requests', '/openapi.json', ''])
        expect([host, path, await statusOf(api, { host }, path)]).toEqual([host, path, 403])
    for (const host of ['192.0.2.1', 'x@localhost', '[::2]', '::1', 'localhost/'])
      expect([host, await statusOf(api, { host })]).toEqual([host, 403])
    for (const origin of ['http://evil.example', 'null', 'https://localhost', `http://localhost:1`])
      expect([origin, await statusOf(api, { host: `localhost:${port}`, origin })]).toEqual([origin, 403])
    const move = { method: 'POST', body: '{"advance":"PT6H"}', headers: { origin: 'http://evil.example' } }
    expect((await api.control('/time', move)).status).toBe(403)
    expect((await api.control('/time')).json).toEqual({ now: START_AT, clock: 'frozen' })
  })

  test('differs from a page and a client of this machine', async () => {
    await using api = await startApi({ surveys: 1 })
    const { port, host } = new URL(api.server.origin)
    for (const name of [`localhost:${port}`, 'LOCALHOST', '127.0.0.1', '127.8.9.1:80', '[::1]', host]) {
      expect([name, await statusOf(api, { host: name })]).toEqual([name, 200])
      expect([name, await statusOf(api, { host: name, origin: `http://${name}` })]).toEqual([name, 200])
    }
  })

  test('may name the address that was called, or that of --host', async () => {
    await using api = await startApi({ surveys: 1, host: 'localhost' })
    expect((await api.control('/time')).status).toBe(200)
    await using everywhere = await startApi({ surveys: 1, host: '0.0.0.0' })
    expect((await everywhere.control('/time')).status).toBe(200)
    expect(await statusOf(everywhere, { host: 'evil.example' })).toBe(403)
  })
})

describe('/_reference/time', () => {
  test('a frozen clock stays where it was set', async () => {
    await using api = await startApi({ surveys: 1 })
    expect((await api.control('/time')).json).toEqual({ now: '2026-03-01T00:00:00Z', clock: 'frozen' })
    const post = async (body: string) => api.control('/time', { method: 'POST', body })
    expect((await post('{"advance":"P1W2DT3H4M5.5S"}')).json).toEqual({
      now: '2026-03-10T03:04:05.500Z',
      clock: 'frozen',
    })
    const set = await post('{"set":"2026-01-01T00:00:00.000001+05:30"}')
    expect(set.json).toEqual({ now: '2025-12-31T18:30:00.000001Z', clock: 'frozen' })
    expect(set.headers.get('date')).toBe('Wed, 31 Dec 2025 18:30:00 GMT')
  })

  test('a running clock runs at its factor, and goes on from where it is set', async () => {
    await using api = await startApi({ surveys: 1, clock: '600x' })
    const now = async () => micros(time.parse((await api.control('/time')).json).now)
    /** The server read its clock between `beforeMs` and `afterMs`. */
    const read = async () => {
      const beforeMs = performance.now()
      const worldMs = (await now()) / 1e3
      return { beforeMs, worldMs, afterMs: performance.now() }
    }
    const one = await read()
    expect(one.worldMs).toBeGreaterThan(micros(START_AT) / 1e3)
    await expect.poll(now).toBeGreaterThan(one.worldMs * 1e3 + 60e6)
    const two = await read()
    const passedMs = (two.worldMs - one.worldMs) / 600
    // Clocks are read to the millisecond.
    expect(passedMs).toBeGreaterThanOrEqual(two.beforeMs - one.afterMs - 2)
    expect(passedMs).toBeLessThanOrEqual(two.afterMs - one.beforeMs + 2)
    await api.moveTime({ set: '2027-01-01T00:00:00Z' })
    expect(await now()).toBeGreaterThan(micros('2027-01-01T00:00:00Z'))
    expect((await api.control('/time')).json).toMatchObject({ clock: '600x' })
  })

  test('an invalid body is refused with 400, and the clock does not move', async () => {
    await using api = await startApi({ surveys: 1 })
    for (const [body, message] of [
      ['', /advance/],
      ['nonsense', /advance/],
      ['[]', /advance/],
      ['{}', /advance/],
      ['{"advance":"PT6H","set":"2026-03-01T00:00:00Z"}', /advance/],
      ['{"advance":6}', /advance/],
      ['{"advance":"6h"}', /duration/],
      ['{"advance":"P1M"}', /duration/],
      ['{"advance":"P"}', /duration/],
      ['{"advance":"PT"}', /duration/],
      ['{"advance":"-PT6H"}', /duration/],
      ['{"set":"2026-03-01"}', /date-time/],
      ['{"set":"1969-12-31T23:59:59Z"}', /clock goes from/],
      ['{"advance":"P9000D"}', /clock goes from/],
    ] as const) {
      const { status, json } = await api.control('/time', { method: 'POST', body })
      expect([body, status, json]).toEqual([body, 400, { error: expect.stringMatching(message) }])
    }
    expect((await api.control('/time')).json).toMatchObject({ now: START_AT })
  })
})

describe('/_reference/requests', () => {
  test('lists every arrival at the API with its real time, including refused ones, and nothing else', async () => {
    const rateLimit = { requests: 1, perMs: 3_600_000 }
    await using api = await startApi({ surveys: 1, accounts: 2, rateWindow: 'sliding', rateLimit })
    const beforeMs = performance.timeOrigin + performance.now()
    await api.ask('/surveys?page=1&status[]=draft', 1)
    await api.ask('/surveys', 1)
    await api.fetchText(`${api.server.baseUrl}/surveys`)
    await api.fetchText(`${api.server.baseUrl}/surveys`, { method: 'POST', headers: api.credentials() })
    await api.control('/truth')
    const { requests, dropped } = requestLog.parse((await api.control('/requests')).json)
    const path = '/api/v1/surveys'
    expect(requests.map(({ at_ms: _, ...rest }) => rest)).toEqual([
      { account: 'account-2', method: 'GET', path, query: 'page=1&status[]=draft', status: 200, faults: [] },
      { account: 'account-2', method: 'GET', path, query: '', status: 429, faults: [] },
      { account: null, method: 'GET', path, query: '', status: 401, faults: [] },
      { account: 'default', method: 'POST', path, query: '', status: 405, faults: [] },
    ])
    expect(dropped).toBe(0)
    const arrivals = requests.map(({ at_ms }) => at_ms)
    const times = [beforeMs, ...arrivals, performance.timeOrigin + performance.now()]
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    await api.control('/requests', { method: 'DELETE' })
    expect((await api.control('/requests')).json).toEqual({ requests: [], dropped: 0 })
  })

  test('is bounded: the oldest are dropped and counted', () => {
    const log = createRequestLog(3)
    const add = (at_ms: number) =>
      log.add({ at_ms, account: null, method: 'GET', path: '/', query: '', status: 200, faults: [] })
    for (const at of [1, 2, 3, 4, 5]) add(at)
    const listed = () => [log.list().requests.map(({ at_ms }) => at_ms), log.list().dropped]
    expect(listed()).toEqual([[3, 4, 5], 2])
    log.clear()
    add(6)
    expect(listed()).toEqual([[6], 0])
  })
})

describe('/_reference/truth', () => {
  test('is what the API answers at the time in `now`', async () => {
    await using api = await startApi({ surveys: 25, accounts: 2, pageSize: 100 })
    await api.moveTime({ advance: 'PT5H' })
    const { now, accounts } = await api.readTruth()
    expect(now).toBe('2026-03-01T05:00:00Z')
    expect(accounts.map(({ name, id }) => ({ name, id }))).toEqual(
      api.server.accounts.map(({ name, id }) => ({ name, id })),
    )
    for (const [account, { surveys }] of accounts.entries()) {
      const listed = (await api.readSurveys('', account)).surveys
      expect(
        surveys.map(
          ({ sample_sources: _, fieldwork_progress: __, sample_source_progress: ___, ...survey }) => survey,
        ),
      ).toEqual(listed)
    }
    for (const survey of accounts[0]!.surveys) {
      expect((await api.readSources(survey.id)).sample_sources).toEqual(survey.sample_sources)
      expect(await api.readProgress(survey.id)).toEqual(survey.fieldwork_progress)
      expect(Object.keys(survey.sample_source_progress).toSorted()).toEqual(
        survey.sample_sources.map(({ id }) => String(id)).toSorted(),
      )
    }
  })

  test('can be narrowed to one account and to the survey list', async () => {
    await using api = await startApi({ surveys: 5, accounts: 2 })
    const [account] = (await api.readTruth('?account=account-2')).accounts
    expect(account?.name).toBe('account-2')
    expect((await api.control('/truth?account=nobody')).status).toBe(404)
    const light = (await api.control('/truth?account=default&only=surveys')).json
    expect(light).toEqual({
      now: START_AT,
      accounts: [
        { name: 'default', id: api.server.accounts[0]!.id, surveys: (await api.readSurveys()).surveys },
      ],
    })
  })
})

describe('/_reference/changes', () => {
  test('lists exactly what changes after `from` and up to `to`, in the order of time', async () => {
    await using api = await startApi({ surveys: 150, pageSize: 1000 })
    const until = '2026-03-04T00:00:00Z'
    const coming = await api.readChanges(START_AT, until)
    const times = coming.map(({ at }) => micros(at))
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    const before = (await api.readTruth()).accounts[0]!.surveys
    await api.moveTime({ set: until })
    const after = (await api.readTruth()).accounts[0]!.surveys
    const own = ({ title, status, project_id, updated_at, sample_sources }: (typeof after)[number]) =>
      JSON.stringify([title, status, project_id, updated_at, sample_sources])
    const moved = after.filter((survey) => {
      const earlier = before.find(({ id }) => id === survey.id)
      return earlier === undefined || own(earlier) !== own(survey)
    })
    expect(new Set(coming.map(({ survey_id }) => survey_id))).toEqual(new Set(moved.map(({ id }) => id)))
    expect(moved.length).toBeGreaterThan(2)
    const last = coming.at(-1)!
    const included = await api.readChanges(START_AT, last.at)
    expect(included.at(-1)).toEqual(last)
    expect(await api.readChanges(last.at, until)).toEqual([])
  })

  test('each kind of change changes that field, and updated_at with it', async () => {
    await using api = await startApi({ surveys: 200, pageSize: 1000 })
    const coming = await api.readChanges(START_AT, '2026-06-01T00:00:00Z')
    for (const what of ['status', 'title', 'project_id'] as const) {
      const change = coming.find((candidate) => candidate.what === what)!
      const read = async (shiftMs: number) => {
        await api.moveTime({ set: new Date(Date.parse(change.at) + shiftMs).toISOString() })
        return (await api.readSurveys()).surveys.find(({ id }) => id === change.survey_id)!
      }
      const [earlier, later] = [await read(-1), await read(1)]
      expect(later[what]).not.toBe(earlier[what])
      expect(micros(later.updated_at)).toBe(micros(change.at))
      if (what === 'status') expect(later.status).toBe(change.status)
    }
  })

  test('both bounds are required', async () => {
    await using api = await startApi({ surveys: 1 })
    for (const query of [
      '',
      '?from=2026-03-01T00:00:00Z',
      '?from=a&to=b',
      '?from=2026-03-01T00:00:00Z&to=2099-01-01T00:00:00Z',
    ]) {
      expect((await api.control(`/changes${query}`)).status).toBe(400)
    }
  })
})
