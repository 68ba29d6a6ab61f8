/**
 * Plain HTTP requests check the reference server against the rules of the API document outside its tables of fields. One test a sentence,
 * typed in by hand from its text, under its heading. Sentences that test/unit/reference-server checks in full are not repeated: the
 * indicators of a progress, the numbers of a pagination, `updated_since`, methods, credentials.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ReferenceServer } from '../../../src/reference-server/server.js'
import { INTERVIEW_STATUSES, page } from '../../support/api/api-document.js'
import {
  ask,
  asObject,
  asObjects,
  getBody,
  getPages,
  getRows,
  getTruth,
  type JsonObject,
  startWorld,
} from '../../support/api/reference-api.js'

const SURVEYS = 40
const PAGE_SIZE = 7

let server: ReferenceServer
let surveys: readonly JsonObject[]
/** Every survey with its sources and progress, as the server's truth has it. */
let truth: readonly JsonObject[]
/** The survey with the most interviews, and more than one source. */
let busy: JsonObject

beforeAll(async () => {
  server = await startWorld({ surveys: SURVEYS, accounts: 2, pageSize: PAGE_SIZE })
  surveys = await getRows(server, '/surveys', 'surveys')
  truth = await getTruth(server)
  const several = truth.filter(({ sample_sources }) => asObjects(sample_sources).length > 1)
  const held = (survey: JsonObject) => Number(asObject(survey.fieldwork_progress).interviews_count)
  busy = asObject([...several].sort((one, other) => held(other) - held(one))[0])
})
afterAll(() => server.close())

const progressOf = async (id: unknown, query = ''): Promise<JsonObject> =>
  asObject((await getBody(server, `/surveys/${id}/fieldwork_progress${query}`)).fieldwork_progress)

/** All interviews that a progress counts. */
const allIndividuals = ({ interview_count_by_status: byStatus }: JsonObject): number =>
  INTERVIEW_STATUSES.reduce(
    (sum, status) => sum + Number(asObject(asObject(byStatus)[status]).individuals),
    0,
  )

const expectNewestFirst = (records: readonly JsonObject[]): void => {
  const created = records.map(({ created_at }) => Date.parse(String(created_at)))
  expect(created).toEqual([...created].sort((one, other) => other - one))
}

const longestSources = (): JsonObject => {
  const count = (survey: JsonObject) => asObjects(survey.sample_sources).length
  return asObject([...truth].sort((one, other) => count(other) - count(one))[0])
}

const utc = (ms: number): string => new Date(ms).toISOString()

/** The second in which the busy survey's first interview started, found by halving a span of time. */
const firstStartMs = async (): Promise<number> => {
  let before = Date.parse('2020-01-01T00:00:00Z')
  let from = Date.parse('2027-01-01T00:00:00Z')
  while (from - before > 1_000) {
    const middle = before + Math.floor((from - before) / 2_000) * 1_000
    if (allIndividuals(await progressOf(busy.id, `?started_before=${utc(middle)}`)) > 0) from = middle
    else before = middle
  }
  return from
}

/** The statuses of requests for `paths` to a server with this cap, one after the other. */
const statusesAt = async (cap: Parameters<typeof startWorld>[0], paths: readonly string[]) => {
  await using other = await startWorld({ surveys: 3, rateWindow: 'sliding', ...cap })
  const statuses: number[] = []
  for (const path of paths) statuses.push((await ask(other, path)).status)
  return statuses
}

const capOf = (requests: number) => ({ rateLimit: { requests, perMs: 3_600_000 } })

const ENDPOINTS = () => [
  '/surveys',
  `/surveys/${busy.id}/sample_sources`,
  `/surveys/${busy.id}/fieldwork_progress`,
]

const CHECKS: Readonly<Record<string, Readonly<Record<string, () => Promise<void> | void>>>> = {
  'What the service does': {
    'every request is authenticated with an identifier and a token in headers': async () => {
      for (const path of ENDPOINTS()) expect((await ask(server, path, { headers: {} })).status).toBe(401)
    },
    'list operations are paginated': async () => {
      expect(await getPages(server, '/surveys')).toHaveLength(Math.ceil(surveys.length / PAGE_SIZE))
      const body = await getBody(server, `/surveys/${busy.id}/sample_sources`)
      expect(body.pagination).toMatchObject({ total_count: asObjects(body.sample_sources).length })
    },
    'list operations are sorted by creation date, most recent first': async () => {
      expectNewestFirst(surveys)
      const path = `/surveys/${longestSources().id}/sample_sources`
      const sources = await getRows(server, path, 'sample_sources')
      expect(sources.length).toBeGreaterThan(2)
      expectNewestFirst(sources)
    },
    'all endpoints are subject to a request rate cap': async () => {
      expect(await statusesAt(capOf(1), ['/surveys', '/surveys'])).toEqual([200, 429])
      for (const path of ['/surveys/1/sample_sources', '/surveys/1/fieldwork_progress'])
        expect(await statusesAt(capOf(1), [path, path])).toEqual([404, 429])
    },
    'the base address ends with the path prefix /api/v1': () => {
      expect(server.baseUrl).toMatch(/^http:\/\/[^/]+\/api\/v1$/)
    },
  },
  'Pagination object': {
    'is at the end of every list response': async () => {
      for (const path of ['/surveys', '/surveys?page=2', `/surveys/${busy.id}/sample_sources`]) {
        expect(Object.keys(await getBody(server, path)).at(-1)).toBe('pagination')
      }
    },
  },
  'List surveys': {
    "returns the surveys of the caller's organization, and no others": async () => {
      expect(surveys).toHaveLength(SURVEYS)
      expect(new Set(surveys.map((survey) => survey.owner_organization_id)).size).toBe(1)
      const others = await getRows(server, '/surveys', 'surveys', 1)
      const ids = new Set([...surveys, ...others].map(({ id }) => id))
      expect([others.length, ids.size]).toEqual([SURVEYS, 2 * SURVEYS])
    },
    'status filters on one value': async () => {
      const complete = surveys.filter(({ status }) => status === 'complete')
      expect(complete).not.toEqual([])
      expect(await getRows(server, '/surveys?status=complete', 'surveys')).toEqual(complete)
    },
    'status[] filters on several values': async () => {
      const filter = ['fieldwork', 'complete', 'draft']
      const query = filter.map((status) => `status[]=${status}`).join('&')
      const expected = surveys.filter(({ status }) => filter.includes(String(status)))
      expect(new Set(expected.map(({ status }) => status)).size).toBe(3)
      expect(await getRows(server, `/surveys?${query}`, 'surveys')).toEqual(expected)
    },
    'page picks the page': async () => {
      const { surveys: second } = await getBody(server, '/surveys?page=2')
      expect(second).toEqual(surveys.slice(PAGE_SIZE, 2 * PAGE_SIZE))
    },
  },
  'List the sample sources of a survey': {
    'returns the sources of that survey alone': async () => {
      const lists = await Promise.all(
        truth.map(({ id }) => getRows(server, `/surveys/${id}/sample_sources`, 'sample_sources')),
      )
      expect(lists).toEqual(truth.map(({ sample_sources }) => sample_sources))
      const ids = lists.flat().map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    },
    'page picks the page': async () => {
      await using small = await startWorld({ surveys: SURVEYS, pageSize: 2 })
      const { id, sample_sources } = longestSources()
      const { sample_sources: second } = await getBody(small, `/surveys/${id}/sample_sources?page=2`)
      expect(second).toEqual(asObjects(sample_sources).slice(2, 4))
    },
  },
  'View the fieldwork progress of a survey': {
    'is one object with one key, without pagination': async () => {
      const body = await getBody(server, `/surveys/${busy.id}/fieldwork_progress`)
      expect(Object.keys(body)).toEqual(['fieldwork_progress'])
    },
    'started_after keeps interviews that started on or after it; left out, there is no lower bound':
      async () => {
        const first = await firstStartMs()
        const all = allIndividuals(await progressOf(busy.id))
        expect(allIndividuals(await progressOf(busy.id, `?started_after=${utc(first)}`))).toBe(all)
        const after = allIndividuals(await progressOf(busy.id, `?started_after=${utc(first + 1_000)}`))
        expect(after).toBeLessThan(all)
      },
    'started_before keeps interviews that started on or before it; left out, there is no upper bound':
      async () => {
        const first = await firstStartMs()
        const upTo = allIndividuals(await progressOf(busy.id, `?started_before=${utc(first)}`))
        expect(upTo).toBeGreaterThan(0)
        expect(allIndividuals(await progressOf(busy.id, `?started_before=${utc(first - 1_000)}`))).toBe(0)
        const rest = allIndividuals(await progressOf(busy.id, `?started_after=${utc(first + 1_000)}`))
        expect(upTo + rest).toBe(allIndividuals(await progressOf(busy.id)))
      },
  },
  Limits: {
    '60 requests per minute by default': async () => {
      expect(await statusesAt({}, Array(61).fill('/surveys'))).toEqual([...Array(60).fill(200), 429])
    },
  },
  Versioning: {
    'the version is in the path prefix': async () => {
      const [account] = server.accounts
      const headers = { 'Authorization-ID': `${account?.id}`, 'Authorization-Token': `${account?.token}` }
      for (const prefix of ['', '/api', '/v1', '/api/v2']) {
        expect((await fetch(`${server.origin}${prefix}/surveys`, { headers })).status).toBe(404)
      }
    },
  },
}

test('every section is a heading of the API document', () => {
  for (const section of Object.keys(CHECKS)) expect(page).toMatch(new RegExp(`^#{2,3} ${section}$`, 'm'))
})

for (const [section, checks] of Object.entries(CHECKS)) {
  describe(`API document, "${section}"`, () => {
    for (const [rule, check] of Object.entries(checks)) test(rule, check)
  })
}
