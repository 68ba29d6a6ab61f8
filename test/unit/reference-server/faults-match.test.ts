/** Which requests a fault acts on, by match, after, times and probability; and which requests reach the faults. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesPath } from '../../../src/reference-server/faults/declaration.js'
import { createFaults } from '../../../src/reference-server/faults/faults.js'
import { startApi } from './support/api.js'
import { countsOf, loggedFaults, putFaults } from './support/faulty.js'

describe('match', () => {
  const list = '/surveys'
  const sources = '/surveys/1/sample_sources'
  const progress = '/surveys/1/fieldwork_progress'
  /** Each row below lists the places of the requests that match. */
  const REQUESTS = [
    list,
    `${list}?page=1`,
    `${list}?page=2&status[]=draft&status[]=complete`,
    sources,
    progress,
    `${progress}?page=1`,
    '/surveys/2/sample_sources?page=2',
    `${list}?page=01`,
    '/%73urveys',
  ]
  const MATCHES: readonly (readonly [object, readonly number[]])[] = [
    [{}, [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [{ path: '/surveys' }, [0, 1, 2, 7, 8]],
    [{ path: '/api/v1/surveys' }, [0, 1, 2, 7, 8]],
    [{ path: sources }, [3]],
    [{ path: '/surveys/*/sample_sources' }, [3, 6]],
    [{ path: '/surveys/{SURVEY_ID}/sample_sources' }, [3, 6]],
    [{ path: '/surveys/1/*' }, [3, 4, 5]],
    [{ path: '/*/*/*' }, [3, 4, 5, 6]],
    [{ path: '/**' }, [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [{ path: '/surveys/**' }, [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [{ path: '/**/fieldwork_progress' }, [4, 5]],
    [{ page: 1 }, [0, 1, 3, 8]],
    [{ page: 2 }, [2, 6]],
    [{ page: 2, path: list }, [2]],
  ]

  test('path and page choose requests, and all parts must hold', async () => {
    await using api = await startApi({ surveys: 1, accounts: 2 })
    for (const [match, acting] of MATCHES) {
      await putFaults(api, [{ match, times: 'always', action: { status: 418 } }])
      const statuses = []
      for (const request of REQUESTS) statuses.push((await api.ask(request)).status)
      const places = statuses.flatMap((status, place) => (status === 418 ? [place] : []))
      expect([match, places]).toEqual([match, acting])
      expect(await countsOf(api)).toEqual([[acting.length, acting.length]])
    }
  })

  test('** matches any number of segments at any place', () => {
    const segment = fc.constantFrom('a', 'b', 'c')
    const path = fc.array(segment, { maxLength: 5 })
    fc.assert(
      fc.property(path, path, path, (before, between, after) => {
        const text = (parts: readonly string[]) => parts.map((part) => `/${part}`).join('')
        const pattern = text([...before, '**', ...after])
        expect(matchesPath(pattern, text([...before, ...between, ...after]))).toBe(true)
        expect(matchesPath(pattern, text([...before, 'x']))).toBe(after.length === 0)
      }),
    )
  })
})

const EVERY = { match: {}, after: 0, times: 1 as number | 'always', probability: 1, action: { reset: true } }
const REQUEST = { path: '/api/v1/surveys', query: new URLSearchParams(), paged: true }

/** For each of `count` requests: the places of the faults that act. */
const meet = (faults: readonly (typeof EVERY)[], count: number, seed = 42): number[][] => {
  const register = createFaults({ seed, organizations: [], latest: 0 })
  register.replace(faults)
  return Array.from({ length: count }, () => register.actingOn(REQUEST).map(({ index }) => index))
}

describe('after, times and probability', () => {
  test('a fault lets `after` matching requests through, then acts on `times` of them', () => {
    const counts = fc.integer({ min: 0, max: 20 })
    const times = fc.oneof(fc.constant('always' as const), fc.integer({ min: 1, max: 20 }))
    fc.assert(
      fc.property(counts, times, counts, (after, times, requests) => {
        const acting = meet([{ ...EVERY, after, times }], requests).flatMap(({ length }, place) =>
          length === 0 ? [] : [place],
        )
        const last = times === 'always' ? requests : after + times
        expect(acting).toEqual([...Array(requests).keys()].filter((place) => place >= after && place < last))
      }),
    )
  })

  test('it acts on about `probability` of the requests, the same ones for the same seed, and `times` counts those', () => {
    const seed = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(seed, fc.double({ min: 0, max: 1, noNaN: true }), (seed, probability) => {
        const fault = { ...EVERY, times: 'always' as const, probability }
        const acting = meet([fault], 400, seed)
        expect(meet([fault], 400, seed)).toEqual(acting)
        const part = acting.flat().length / 400
        expect(Math.abs(part - probability)).toBeLessThan(0.15)
        const bounded = meet([{ ...fault, times: 5 }], 400, seed)
        expect(bounded.flat().length).toBe(Math.min(5, acting.flat().length))
      }),
      { numRuns: 20, seed: 1 },
    )
  })

  test('another fault in the list and another seed draw other requests', () => {
    const half = { ...EVERY, times: 'always' as const, probability: 0.5 }
    const [one, other] = [0, 1].map((place) => meet([half, half], 64).map((places) => places.includes(place)))
    expect(one).not.toEqual(other)
    expect(meet([half], 64, 1)).not.toEqual(meet([half], 64, 2))
    expect(meet([half], 64, 1)).not.toEqual(meet([half], 64, 1 + 2 ** 32))
    expect(meet([half, { ...EVERY, probability: 0 }], 64)).toEqual(meet([half], 64))
  })
})

describe('API document, "Limits": faults and the cap', () => {
  test('a request that meets a fault counts against the cap; a refused one meets no fault', async () => {
    await using api = await startApi({
      surveys: 1,
      rateWindow: 'sliding',
      rateLimit: { requests: 3, perMs: 3_600_000 },
      faults: [{ times: 'always', action: { status: 503 } }],
    })
    const statuses = []
    for (let time = 0; time < 5; time++) statuses.push((await api.ask('/surveys')).status)
    expect(statuses).toEqual([503, 503, 503, 429, 429])
    expect(await countsOf(api)).toEqual([[3, 3]])
    expect((await loggedFaults(api)).map(([, faults]) => faults)).toEqual([[0], [0], [0], [], []])
  })

  test('a request with a wrong path, method or credentials meets no fault', async () => {
    await using api = await startApi({ surveys: 1, faults: [{ times: 'always', action: { status: 503 } }] })
    const headers = api.credentials()
    const url = `${api.server.baseUrl}/surveys`
    expect((await api.ask('/nowhere')).status).toBe(404)
    expect((await api.fetchText(url, { method: 'POST', headers })).status).toBe(405)
    expect((await api.fetchText(url, { method: 'HEAD', headers })).status).toBe(405)
    expect((await api.fetchText(url)).status).toBe(401)
    expect(await countsOf(api)).toEqual([[0, 0]])
    expect((await api.ask('/surveys/1/sample_sources')).status).toBe(503)
    expect((await api.ask('/surveys?page=0')).status).toBe(503)
    expect(await countsOf(api)).toEqual([[2, 2]])
  })
})

describe('several faults', () => {
  test('all matching ones act in their order, and replacing them starts the counts again from 0', async () => {
    await using api = await startApi({ surveys: 1 })
    const faults = [
      { after: 1, action: { status: 500, body: { a: 1 } } },
      { after: 1, action: { patch: { a: 2 } } },
      { match: { path: '/surveys/*/*' }, action: { status: 501 } },
    ]
    for (let time = 0; time < 2; time++) {
      await putFaults(api, faults)
      expect((await api.ask('/surveys')).status).toBe(200)
      expect((await api.ask('/surveys')).text).toBe('{"a":2}')
      expect(await countsOf(api)).toEqual([
        [2, 1],
        [2, 1],
        [0, 0],
      ])
    }
    expect((await loggedFaults(api)).map(([, acting]) => acting)).toEqual([[], [0, 1], [], [0, 1]])
  })
})
