import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { retryAfterHeaders } from '../../../src/reference-server/api/rate-limit.js'
import type { Api } from './support/api.js'
import { startApi } from './support/api.js'

const HOUR_MS = 3_600_000

const statuses = async (api: Api, count: number, account = 0): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, async () => (await api.ask('/surveys', account)).status))

const accepted = (all: readonly number[]): number => all.filter((status) => status === 200).length

describe('API document, "Limits": over real HTTP', () => {
  test('the cap counts all endpoints together, and each account by itself', async () => {
    const rateLimit = { requests: 3, perMs: HOUR_MS }
    await using api = await startApi({ surveys: 1, accounts: 2, rateWindow: 'sliding', rateLimit })
    const { id } = (await api.readSurveys()).surveys[0]!
    expect((await api.ask(`/surveys/${id}/sample_sources`)).status).toBe(200)
    expect((await api.ask(`/surveys/${id}/fieldwork_progress`)).status).toBe(200)
    expect((await api.ask(`/surveys/${id}/fieldwork_progress`)).status).toBe(429)
    expect(accepted(await statuses(api, 5, 1))).toBe(3)
  })

  test('answers 400 and 404 of an endpoint count; 401, 405, unknown paths and refused requests do not', async () => {
    const rateLimit = { requests: 3, perMs: HOUR_MS }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit })
    const headers = api.credentials()
    for (let time = 0; time < 5; time++) {
      await api.fetchText(`${api.server.baseUrl}/surveys`, {
        headers: { ...headers, 'Authorization-Token': 'wrong' },
      })
      await api.fetchText(`${api.server.baseUrl}/surveys`, { method: 'POST', headers })
      await api.ask('/nowhere')
    }
    expect((await api.ask('/surveys?page=0')).status).toBe(400)
    expect((await api.ask('/surveys/1/sample_sources')).status).toBe(404)
    expect((await api.ask('/surveys')).status).toBe(200)
    expect((await api.ask('/surveys')).status).toBe(429)
  })

  test('the window runs on real time: it opens again by itself, and moving the world’s clock does not open it', async () => {
    const rateLimit = { requests: 5, perMs: 800 }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit })
    const startedMs = performance.now()
    const first = accepted(await statuses(api, 8))
    if (performance.now() - startedMs < rateLimit.perMs) expect(first).toBe(5)
    await api.moveTime({ advance: 'P2D' })
    const refused = await api.ask('/surveys')
    if (performance.now() - startedMs < rateLimit.perMs) expect(refused.status).toBe(429)
    await expect.poll(async () => (await api.ask('/surveys')).status, { interval: 20 }).toBe(200)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(rateLimit.perMs)
  })
})

/** What a client reads from an answer 429: the seconds to wait, and whether they came as a date. */
const retryAfterOf = (headers: Headers): { seconds: number; isDate: boolean } => {
  const text = headers.get('retry-after') ?? ''
  const isDate = text.endsWith(' GMT')
  const seconds = isDate ? (Date.parse(text) - Date.parse(headers.get('date') ?? '')) / 1_000 : Number(text)
  return { seconds, isDate }
}

describe('API document, "Errors": an answer 429 says how long to wait', () => {
  test.each(['seconds', 'date', 'none'] as const)('%s', async (retryAfter) => {
    const rateLimit = { requests: 1, perMs: HOUR_MS }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit, retryAfter })
    const { headers } = await api.ask('/surveys')
    expect(headers.get('retry-after')).toBeNull()
    const refused = await api.ask('/surveys')
    expect(refused.status).toBe(429)
    if (retryAfter === 'none') {
      expect(refused.headers.get('retry-after')).toBeNull()
      return
    }
    const { seconds, isDate } = retryAfterOf(refused.headers)
    expect(isDate).toBe(retryAfter === 'date')
    expect(seconds).toBeGreaterThan(3_500)
    expect(seconds).toBeLessThanOrEqual(3_600)
  })

  test('a date is in the time of the world, which may be years away from real time', async () => {
    const rateLimit = { requests: 1, perMs: HOUR_MS }
    const startAt = '2031-12-31T23:30:00.500Z'
    const options = { surveys: 1, rateWindow: 'fixed', rateLimit, retryAfter: 'date', startAt } as const
    await using api = await startApi(options)
    await api.ask('/surveys')
    const { headers } = await api.ask('/surveys')
    expect(headers.get('date')).toBe('Wed, 31 Dec 2031 23:30:00 GMT')
    expect(headers.get('retry-after')).toMatch(/^Thu, 01 Jan 2032 00:(29|30):\d\d GMT$/)
  })

  const at = Date.parse('2026-03-01T00:00:00Z') * 1_000
  test.each([
    [0.001, 0, '1', '00:00:01'],
    [1_000, 0, '1', '00:00:01'],
    [1_000.001, 0, '2', '00:00:02'],
    [59_999.5, 0, '60', '00:01:00'],
    // `Date` says 00:00:00 while the world is past it: both the moment and the difference must suffice.
    [1_000, 1, '1', '00:00:02'],
    [1_000, 999_999, '1', '00:00:02'],
    [500, 500_000, '1', '00:00:01'],
  ])(
    'a wait of %f ms that begins %i µs after a full second is %s s, or until %s',
    (waitMs, micros, seconds, time) => {
      expect(retryAfterHeaders('seconds', waitMs, at + micros)).toEqual({ 'retry-after': seconds })
      expect(retryAfterHeaders('date', waitMs, at + micros)).toEqual({
        'retry-after': `Sun, 01 Mar 2026 ${time} GMT`,
      })
      expect(retryAfterHeaders('none', waitMs, at + micros)).toEqual({})
    },
  )
})

describe('foreign load, over real HTTP', () => {
  test('foreign requests count against the cap and are not in the request log', async () => {
    const rateLimit = { requests: 20, perMs: 500 }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit, foreignLoad: 12 })
    // After a whole window, foreign requests have filled it.
    await setTimeout(rateLimit.perMs + 50)
    expect(accepted(await statuses(api, 30))).toBeGreaterThanOrEqual(8)
    const { requests } = (await api.control('/requests')).json as {
      requests: { at_ms: number; status: number }[]
    }
    expect(requests.length).toBe(30)
    const acceptedMs = requests.filter(({ status }) => status === 200).map(({ at_ms }) => at_ms)
    for (const [place, atMs] of acceptedMs.entries()) {
      const ninth = acceptedMs[place + 8]
      if (ninth !== undefined) expect(ninth - atMs).toBeGreaterThanOrEqual(rateLimit.perMs - 0.01)
    }
  })
})
