import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRateWindow } from '../../src/reference-server/api/rate-window.js'
import type { Api } from './support/api.js'
import { startApi } from './support/api.js'

const statuses = async (api: Api, count: number, account = 0): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, async () => (await api.ask('/surveys', account)).status))

const accepted = (all: readonly number[]): number => all.filter((status) => status === 200).length

describe('API document, "Limits": over real HTTP', () => {
  test.each(['sliding', 'fixed'] as const)(
    '%s: requests over the cap are 429 with Retry-After',
    async (rateWindow) => {
      await using api = await startApi({
        surveys: 1,
        rateWindow,
        rateLimit: { requests: 5, perMs: 3_600_000 },
      })
      const all = await statuses(api, 12)
      expect(accepted(all)).toBe(5)
      expect(all.filter((status) => status === 429).length).toBe(7)
      const refused = await api.ask('/surveys')
      expect(refused.json).toEqual({ error: expect.any(String) })
      const retryAfter = Number(refused.headers.get('retry-after'))
      expect(Number.isInteger(retryAfter)).toBe(true)
      expect(retryAfter).toBeGreaterThan(3_500)
      expect(retryAfter).toBeLessThanOrEqual(3_600)
    },
  )

  test('the cap is of all endpoints together, and of each account alone', async () => {
    await using api = await startApi({
      surveys: 1,
      accounts: 2,
      rateWindow: 'sliding',
      rateLimit: { requests: 3, perMs: 3_600_000 },
    })
    const { id } = (await api.readSurveys()).surveys[0]!
    expect((await api.ask(`/surveys/${id}/sample_sources`)).status).toBe(200)
    expect((await api.ask(`/surveys/${id}/fieldwork_progress`)).status).toBe(200)
    expect((await api.ask(`/surveys/${id}/fieldwork_progress`)).status).toBe(429)
    expect(accepted(await statuses(api, 5, 1))).toBe(3)
  })

  test('answers 400 and 404 of an endpoint count; 401, 405, unknown paths and refused requests do not', async () => {
    const rateLimit = { requests: 3, perMs: 3_600_000 }
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
    const rateLimit = { requests: 5, perMs: 2_000 }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit })
    const startedMs = performance.now()
    expect(accepted(await statuses(api, 8))).toBe(5)
    await api.moveTime({ advance: 'P2D' })
    const refused = await api.ask('/surveys')
    if (performance.now() - startedMs < rateLimit.perMs) expect(refused.status).toBe(429)
    await expect
      .poll(async () => (await api.ask('/surveys')).status, { timeout: 20_000, interval: 100 })
      .toBe(200)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(rateLimit.perMs)
  })

  test('a client that keeps hammering never gets more than the cap in any window, and is not locked out', async () => {
    const rateLimit = { requests: 5, perMs: 300 }
    await using api = await startApi({ surveys: 1, rateWindow: 'sliding', rateLimit })
    const endMs = performance.now() + 1_200
    while (performance.now() < endMs) await statuses(api, 4)
    const { requests } = (await api.control('/requests')).json as {
      requests: { at_ms: number; status: number }[]
    }
    const acceptedMs = requests.filter(({ status }) => status === 200).map(({ at_ms }) => at_ms)
    const refused = requests.filter(({ status }) => status === 429).length
    expect(acceptedMs.length).toBeGreaterThanOrEqual(10)
    expect(refused).toBeGreaterThan(0)
    for (const [place, atMs] of acceptedMs.entries()) {
      const sixth = acceptedMs[place + rateLimit.requests]
      if (sixth !== undefined) expect(sixth - atMs).toBeGreaterThanOrEqual(rateLimit.perMs - 0.01)
    }
  })

  test('none: there is no cap', async () => {
    await using api = await startApi({
      surveys: 1,
      rateWindow: 'none',
      rateLimit: { requests: 1, perMs: 3_600_000 },
    })
    expect(accepted(await statuses(api, 20))).toBe(20)
  })
})

describe('API document, "Limits": the arithmetic', () => {
  const limit = { requests: 3, perMs: 100 }
  const gaps = fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 60 })
  const admitted = (kind: 'sliding' | 'fixed', gapsMs: readonly number[], startMs: number) => {
    const window = createRateWindow(kind, limit, startMs)
    let nowMs = startMs
    return gapsMs.flatMap((gapMs) => {
      nowMs += gapMs
      return window.admit(nowMs) === 0 ? [nowMs] : []
    })
  }

  test('sliding: any span of the window’s length holds at most the cap, and no room is refused', () => {
    fc.assert(
      fc.property(gaps, (gapsMs) => {
        const window = createRateWindow('sliding', limit, 0)
        const taken: number[] = []
        let nowMs = 0
        for (const gapMs of gapsMs) {
          nowMs += gapMs
          const recent = taken.filter((atMs) => atMs > nowMs - limit.perMs)
          const waitMs = window.admit(nowMs)
          expect(waitMs === 0).toBe(recent.length < limit.requests)
          if (waitMs === 0) taken.push(nowMs)
          else expect(waitMs).toBe(recent[0]! + limit.perMs - nowMs)
        }
      }),
    )
  })

  test('fixed: each span counted from the start holds at most the cap; two at a border may hold twice that', () => {
    fc.assert(
      fc.property(gaps, (gapsMs) => {
        const spans = new Map<number, number>()
        for (const atMs of admitted('fixed', gapsMs, 1_000)) {
          const span = Math.floor((atMs - 1_000) / limit.perMs)
          spans.set(span, (spans.get(span) ?? 0) + 1)
        }
        for (const taken of spans.values()) expect(taken).toBeLessThanOrEqual(limit.requests)
      }),
    )
    expect(admitted('fixed', [99, 0, 0, 0, 1, 0, 0, 0], 0)).toEqual([99, 99, 99, 100, 100, 100])
    expect(createRateWindow('fixed', { requests: 1, perMs: 100 }, 0).admit(30)).toBe(0)
  })
})
