/**
 * Plain HTTP requests check the reference server against the rules of the API document outside its tables of fields. One test a sentence,
 * typed in by hand from its text, under its heading.
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
const WITH_OFFSET = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

let server: ReferenceServer
let surveys: readonly JsonObject[]
/** Every survey with its sources and progress, as the server's truth has it. */
let truth: readonly JsonObject[]
/** The progress of every survey, as its endpoint answers. */
let progresses: readonly JsonObject[]
/** The survey with the most interviews, and more than one source. */
let busy: JsonObject

beforeAll(async () => {
  server = await startWorld({ surveys: SURVEYS, accounts: 2, pageSize: PAGE_SIZE })
  surveys = await getRows(server, '/surveys', 'surveys')
  truth = await getTruth(server)
  progresses = await Promise.all(surveys.map(({ id }) => progressOf(id)))
  const several = truth.filter(({ sample_sources }) => asObjects(sample_sources).length > 1)
  const held = (survey: JsonObject) => Number(asObject(survey.fieldwork_progress).interviews_count)
  busy = asObject([...several].sort((one, other) => held(other) - held(one))[0])
})
afterAll(() => server.close())

const progressOf = async (id: unknown, query = ''): Promise<JsonObject> =>
  asObject((await getBody(server, `/surveys/${id}/fieldwork_progress${query}`)).fieldwork_progress)

/** Counts the interviews of these statuses in a progress. */
const individualsOf =
  (...statuses: readonly string[]) =>
  ({ interview_count_by_status: byStatus }: JsonObject): number =>
    statuses.reduce((sum, status) => sum + Number(asObject(asObject(byStatus)[status]).individuals), 0)

const allIndividuals = individualsOf(...INTERVIEW_STATUSES)

/** Every progress has part / whole as `name`, null where the whole is zero. At least one rate is between 0 and 1. */
const expectFormula = (name: string, part: string, whole: (progress: JsonObject) => number): void => {
  const served = progresses.map((progress) => progress[name])
  const expected = progresses.map((progress) =>
    whole(progress) === 0 ? null : individualsOf(part)(progress) / whole(progress),
  )
  expect(served).toEqual(expected)
  expect(expected.filter((value) => value !== null && value > 0 && value < 1)).not.toEqual([])
}

/** A number of the pagination of each page of the survey list. */
const ofPages = async (name: string) =>
  (await getPages(server, '/surveys')).map((body) => asObject(body.pagination)[name])

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
    'three operations exist, all reads (GET)': async () => {
      for (const path of ENDPOINTS()) {
        expect((await ask(server, path)).status).toBe(200)
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
          const { status, headers } = await ask(server, path, { method })
          expect([status, headers.get('allow')]).toEqual([405, 'GET'])
        }
      }
      for (const path of ['', '/survey', `/surveys/${busy.id}`, `/surveys/${busy.id}/quotas`]) {
        expect((await ask(server, path)).status).toBe(404)
      }
    },
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
  'Resources and their fields': {
    'timestamps are ISO 8601 strings with a time-zone offset': () => {
      const records = [...surveys, ...truth.flatMap(({ sample_sources }) => asObjects(sample_sources))]
      const times = records.flatMap(({ created_at, updated_at }) => [String(created_at), String(updated_at)])
      expect(times.filter((time) => !WITH_OFFSET.test(time) || Number.isNaN(Date.parse(time)))).toEqual([])
    },
    'hashid values are strings': () => {
      expect(new Set(surveys.map(({ hashid }) => typeof hashid))).toEqual(new Set(['string']))
    },
  },
  'Fieldwork progress': {
    'interviews_count is the number of complete interviews': () => {
      expect(progresses.map((one) => one.interviews_count)).toEqual(progresses.map(individualsOf('complete')))
    },
    'completion_rate = complete / sample_size': () =>
      expectFormula('completion_rate', 'complete', ({ sample_size }) => Number(sample_size)),
    'questionnaire_incidence_rate = complete / (complete + screen_out + quota_full + incomplete)': () =>
      expectFormula(
        'questionnaire_incidence_rate',
        'complete',
        individualsOf('complete', 'screen_out', 'quota_full', 'incomplete'),
      ),
    'target_incidence_rate = complete / (complete + screen_out)': () =>
      expectFormula('target_incidence_rate', 'complete', individualsOf('complete', 'screen_out')),
    'incidence_rate has the formula of target_incidence_rate': () =>
      expectFormula('incidence_rate', 'complete', individualsOf('complete', 'screen_out')),
    'drop_out_rate = incomplete / all interviews': () =>
      expectFormula('drop_out_rate', 'incomplete', allIndividuals),
    'length_of_interview is whole seconds': () => {
      const lengths = progresses.flatMap(({ length_of_interview: length }) =>
        length === null ? [] : [Number(length)],
      )
      expect(lengths).not.toEqual([])
      expect(lengths.filter((length) => !Number.isInteger(length) || length < 1)).toEqual([])
    },
    'interview_count_by_status has one entry per interview status': () => {
      for (const { interview_count_by_status } of progresses) {
        expect(Object.keys(asObject(interview_count_by_status))).toEqual(INTERVIEW_STATUSES)
      }
    },
    // test/unit/reference-server/indicators.test.ts checks in the world that there are such interviews, and how many.
    'interviews with the Ignored status are omitted': () => {
      expect(JSON.stringify(progresses)).not.toMatch(/ignored/i)
      for (const { interview_count_by_status } of progresses) {
        const entries = Object.values(asObject(interview_count_by_status)).map(asObject)
        const whole = entries.reduce((sum, { percentage }) => sum + Number(percentage), 0)
        expect(whole === 0 || Math.abs(whole - 100) < 1e-9).toBe(true)
      }
    },
  },
  'Pagination object': {
    'is at the end of every list response': async () => {
      for (const path of ['/surveys', '/surveys?page=2', `/surveys/${busy.id}/sample_sources`]) {
        expect(Object.keys(await getBody(server, path)).at(-1)).toBe('pagination')
      }
    },
    'current_page is the requested page, the first page if none was requested': async () => {
      expect(await ofPages('current_page')).toEqual([1, 2, 3, 4, 5, 6])
      expect((await getBody(server, '/surveys')).pagination).toMatchObject({ current_page: 1 })
    },
    'next_page is the next page number, null on the last page': async () =>
      expect(await ofPages('next_page')).toEqual([2, 3, 4, 5, 6, null]),
    'prev_page is the page number before, null on the first page': async () =>
      expect(await ofPages('prev_page')).toEqual([null, 1, 2, 3, 4, 5]),
    'total_pages is the number of pages that have records': async () => {
      expect(await ofPages('total_pages')).toEqual(Array(6).fill(6))
      expect((await getBody(server, '/surveys?page=7')).surveys).toEqual([])
    },
    'total_count is the number of records on all pages': async () => {
      expect(await ofPages('total_count')).toEqual(Array(6).fill(surveys.length))
      expect(new Set(surveys.map(({ id }) => id)).size).toBe(surveys.length)
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
    'updated_since returns the records modified since this date, the date itself included': async () => {
      const byUpdate = [...surveys].sort(
        (one, other) => Date.parse(String(other.updated_at)) - Date.parse(String(one.updated_at)),
      )
      const at = String(byUpdate[9]?.updated_at)
      const since = await getRows(server, `/surveys?updated_since=${encodeURIComponent(at)}`, 'surveys')
      expect(new Set(since.map(({ id }) => id))).toEqual(new Set(byUpdate.slice(0, 10).map(({ id }) => id)))
      const after = await getRows(server, `/surveys?updated_since=${utc(Date.parse(at) + 1_000)}`, 'surveys')
      expect(after.map(({ id }) => id)).not.toContain(byUpdate[9]?.id)
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
    'sample_source_id restricts the indicators to that source': async () => {
      const sources = asObjects(busy.sample_sources)
      const parts = await Promise.all(sources.map(({ id }) => progressOf(busy.id, `?sample_source_id=${id}`)))
      expect(parts.map(({ sample_size }) => sample_size)).toEqual(
        sources.map(({ sample_size }) => sample_size),
      )
      const sum = parts.reduce((before, part) => before + allIndividuals(part), 0)
      expect(sum).toBe(allIndividuals(await progressOf(busy.id)))
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
  Authentication: {
    'both headers must be sent on each request': async () => {
      const [account] = server.accounts
      const id = { 'Authorization-ID': String(account?.id) }
      const token = { 'Authorization-Token': String(account?.token) }
      const statuses = await Promise.all(
        [{}, id, token, { ...id, 'Authorization-Token': 'wrong' }, { ...id, ...token }].map(
          async (headers) => (await ask(server, '/surveys', { headers })).status,
        ),
      )
      expect(statuses).toEqual([401, 401, 401, 401, 200])
    },
  },
  Errors: {
    '429 when the rate cap is exceeded': async () => {
      expect(await statusesAt(capOf(2), Array(4).fill('/surveys'))).toEqual([200, 200, 429, 429])
    },
  },
  Limits: {
    '60 requests per minute by default': async () => {
      expect(await statusesAt({}, Array(61).fill('/surveys'))).toEqual([...Array(60).fill(200), 429])
    },
    'one cap holds for all endpoints together': async () => {
      const paths = ['/surveys', '/surveys/1/sample_sources', '/surveys/1/fieldwork_progress']
      expect(await statusesAt(capOf(2), paths)).toEqual([200, 404, 429])
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
