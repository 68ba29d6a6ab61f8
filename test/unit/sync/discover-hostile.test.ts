/**
 * Whatever a server says about its pages, a listing ends within a bound: it completes or fails with a clear error. The
 * cursor never passes a change that was not read.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ExpectedError } from '../../../src/base/errors.js'
import type { HttpClient } from '../../../src/http/client.js'
import { instantToMs } from '../../../src/model/instant.js'
import type { SurveySource } from '../../../src/model/survey-source.js'
import type { AccountWarehouse } from '../../../src/model/warehouse.js'
import { createSurveySource } from '../../../src/survey-api/survey-source.js'
import { RunBudget } from '../../../src/sync/budget.js'
import { discover } from '../../../src/sync/discover.js'
import { PAGES_MAX, PAGES_MORE_MAX, pagesMaxOf } from '../../../src/sync/list-checks.js'
import type { RunDependencies } from '../../../src/sync/run-state.js'
import { createRunState, type Discovery } from '../../../src/sync/run-state.js'
import { readSources } from '../../../src/sync/sources.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { unlimitedAllowance } from '../../support/api/allowance.js'
import { pageOf } from '../../support/api/api-document.js'
import { memorySource } from '../../support/api/memory-source.js'
import { testLog } from '../../support/log/test-log.js'
import { cases } from '../../support/suite/cases.js'
import { testClock } from '../../support/time/test-clock.js'
import { source } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'
import { survey } from '../survey-api/example-rows.js'
import {
  ENDLESS,
  honestStep,
  lyingApi,
  lyingStep,
  type SentRequest,
  type Step,
  type World,
  worldOf,
} from './lying-listing.js'
import { memoryListing } from './memory-listing.js'

const START_MS = Date.parse('2026-03-01T00:00:00Z')
const OVERLAP_MS = 5 * 60_000
const HOUR_MS = 3_600_000
/** A listing, and two more when surveys moved. */
const LISTINGS_MAX = 3

interface Run {
  readonly requestsMax: number | null
  readonly full: boolean
  /** How far our clock moves on after this run. */
  readonly afterHours: number
}

const runs: fc.Arbitrary<readonly Run[]> = fc.array(
  fc.record({
    requestsMax: fc.option(fc.integer({ min: 1, max: 4 })),
    full: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
    afterHours: fc.constantFrom(1, 13, 25, 24 * 8),
  }),
  { minLength: 1, maxLength: 4 },
)

interface Done {
  readonly result: Discovery | 'failed'
  readonly cursorMs: number | null
  /** The number of requests before and after the run. */
  readonly from: number
  readonly to: number
}

/** Runs several discoveries in sequence against one API and one warehouse. */
const play = async (
  world: World,
  planned: readonly Run[],
  warehouse: AccountWarehouse,
): Promise<{ readonly done: readonly Done[]; readonly requests: readonly SentRequest[] }> => {
  const clock = testClock()
  const { http, requests } = lyingApi(world, START_MS)
  const source = createSurveySource(http, clock, 2)
  const listSurveys: SurveySource['listSurveys'] = (query, context) =>
    source.listSurveys(query, context).catch((error: unknown) => {
      // The answer was refused, so nothing of it was used.
      const last = requests.at(-1)
      if (last !== undefined) last.answered = null
      throw error
    })
  const base = runDependencies({ account: warehouse, log: testLog() }, { ...source, listSurveys })
  const done: Done[] = []
  for (const { requestsMax, full, afterHours } of planned) {
    const from = requests.length
    const dependencies: RunDependencies = { ...base, clock, rules: { ...base.rules, full } }
    const budget = new RunBudget({ requests_max: requestsMax, duration_max: null }, clock)
    const position = await warehouse.position()
    const result = await discover({ ...dependencies, budget, state: createRunState() }, position).catch(
      (error: unknown) => {
        expect(error).toBeInstanceOf(ExpectedError)
        expect((error as Error).message).toMatch(/^[^\p{Cc}]+$/u)
        return 'failed' as const
      },
    )
    const { cursor } = await warehouse.position()
    done.push({ result, cursorMs: cursor === null ? null : instantToMs(cursor), from, to: requests.length })
    clock.advance(afterHours * HOUR_MS)
  }
  return { done, requests }
}

/** The announced totals bound the number of requests of a run. */
const expectBounded = (requests: readonly SentRequest[]): void => {
  const totals = requests.map(({ answered }) => Number(answered?.total)).filter(Number.isSafeInteger)
  const script = requests.filter(({ lied }) => !lied).length
  expect(requests.length).toBeLessThanOrEqual(script + LISTINGS_MAX * pagesMaxOf(Math.max(0, ...totals)) + 1)
}

/**
 * A cursor that has moved follows from a whole listing, of all surveys or of the changes. It began with an answer to page 1 that was dated
 * with the cursor and the overlap. Every page to the last was read in order; pages are read again if fewer surveys are announced than
 * before. In all, at least as many surveys were seen as any page announced. Before the first cursor, all surveys were listed.
 */
const expectSeen = (requests: readonly SentRequest[], cursorMs: number): void => {
  const wholes = wholeListings(requests)
  expect(wholes.some(({ since }) => since === null)).toBe(true)
  // After a clock that was ahead, the first answer may date a listing of all surveys whose pages are read later.
  const isDated = ({ dateMs, since }: SentRequest) =>
    dateMs === null || dateMs === cursorMs + OVERLAP_MS || (since === null && dateMs > cursorMs + OVERLAP_MS)
  expect(wholes.some(isDated)).toBe(true)
}

/** The first requests of all whole listings. */
const wholeListings = (requests: readonly SentRequest[]): readonly SentRequest[] =>
  requests.filter((first, index) => {
    if (first.page !== 1 || first.answered === null) return false
    const since = requests.slice(index)
    const [own, others] = [true, false].map((isOwn) =>
      since.filter((one) => ((one.since === null) === (first.since === null)) === isOwn),
    )
    // A listing of all surveys takes those that the changes show meanwhile as seen.
    const more = first.since === null ? (others ?? []) : []
    return own?.some((_, last) => isWholeListing(own.slice(0, last + 1), more)) ?? false
  })

const isWholeListing = (answers: readonly SentRequest[], more: readonly SentRequest[]): boolean => {
  /** All rows up to this page have been read. */
  let frontier = 1
  let isAtEnd = false
  let total: number | null = null
  let least = Number.POSITIVE_INFINITY
  const ids = new Set(
    more.flatMap(({ answered }) => (answered?.rows ?? []).filter((id) => id > 0).map(String)),
  )
  for (const [index, { page, answered }] of answers.entries()) {
    if (answered === null) continue
    if (page > frontier) return false
    const gone = Math.max(0, (total ?? 0) - Number(answered.total))
    frontier = Math.max(1, frontier - Math.ceil(gone / Math.max(1, answered.rows.length)))
    if (page <= frontier) frontier = Math.max(frontier, page + 1)
    total = Number(answered.total)
    least = Math.min(least, total)
    isAtEnd = answered.next === null && page < frontier
    // Each row with an unreadable id counts as a survey of its own.
    for (const [at, id] of answered.rows.entries()) ids.add(id === 0 ? `${index}/${at}` : String(id))
  }
  return isAtEnd && ids.size >= least
}

const holds = ({ done, requests }: Awaited<ReturnType<typeof play>>): void => {
  let cursorMs: number | null = null
  for (const run of done) {
    expectBounded(requests.slice(run.from, run.to))
    if (run.result === 'complete') {
      if (run.cursorMs === null) throw new Error('a complete listing leaves a cursor')
      expectSeen(requests.slice(0, run.to), run.cursorMs)
    } else if (run.cursorMs !== null && run.cursorMs !== cursorMs)
      expectSeen(requests.slice(0, run.to), run.cursorMs)
    cursorMs = run.cursorMs
  }
}

const SHORT = ['truth', 'fewer surveys than it announces']
/** The others go on for hundreds of pages, so they come less often. */
const ENDS = [...Object.keys(ENDLESS), ...SHORT, ...SHORT, ...SHORT]

test('listings of a server that lies about its pages end, and the cursor passes no unread change (in memory)', async () => {
  const results = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(worldOf(lyingStep, ENDS), runs, async (world, planned) => {
      const played = await play(world, planned, memoryListing().account)
      for (const { result } of played.done) results.set(result, (results.get(result) ?? 0) + 1)
      holds(played)
    }),
    cases(60),
  )
  // Every kind of result occurred, so the cases cover what they should.
  for (const result of ['complete', 'interrupted', 'drifted', 'failed'])
    expect(results.get(result) ?? 0).toBeGreaterThan(0)
})

test('listings of an honest server with a changing list see every survey that was listed all the time', async () => {
  await fc.assert(
    fc.asyncProperty(worldOf(honestStep, ['truth']), runs, async (world, planned) => {
      const memory = memoryListing()
      const played = await play(world, planned, memory.account)
      holds(played)
      let begin = 0
      for (const { result, to } of played.done) {
        if (result !== 'complete') continue
        const during = played.requests.slice(begin, to)
        const always = during[0]?.truth.filter((id) => during.every(({ truth }) => truth.includes(id))) ?? []
        for (const id of always) expect(memory.surveys.has(id)).toBe(true)
        begin = to
      }
    }),
    cases(40),
  )
})

test('listings have the same results in DuckDB as in memory', async () => {
  const warehouse = await testWarehouse()
  let accounts = 0
  await fc.assert(
    fc.asyncProperty(worldOf(lyingStep, ['truth']), runs, async (world, planned) => {
      accounts += 1
      const account = `account ${accounts}`
      const real = await play(world, planned, accountWarehouse(warehouse.database, account))
      holds(real)
      const memory = memoryListing()
      expect(real).toEqual(await play(world, planned, memory.account))
      await warehouse.expectRows(
        `SELECT id, title FROM surveys WHERE account = '${account}' ORDER BY id`,
        [...memory.surveys.values()].sort((a, b) => a.id - b.id).map(({ id, title }) => ({ id, title })),
      )
    }),
    cases(2, 300),
  )
})

// Cases that the properties found. Each ran for ever, or lost a survey, until a rule handled it.

const step = (change: Partial<Step>): Step => ({
  change: null,
  lie: null,
  fails: false,
  afterSeconds: 1,
  ...change,
})
const RUN: Run = { requestsMax: null, full: false, afterHours: 1 }

test('an endless list is given up after as many pages as announced records, and some more for new records', async () => {
  for (const endless of [
    'always a next page, with a new survey on each',
    'always a next page, with the same surveys',
  ]) {
    const world = { surveys: 0, pageSize: 1, steps: [], endless }
    const memory = memoryListing()
    const { done } = await play(world, [RUN], memory.account)
    // The first page announces two records.
    expect(done).toEqual([{ result: 'failed', cursorMs: null, from: 0, to: 2 + PAGES_MORE_MAX }])
    // The next run begins at page 1, not in the middle of the endless list.
    expect((await memory.account.position()).listings.full).toBeNull()
  }
})

test('the number of pages has a limit, whatever the first page announces', () => {
  expect(pagesMaxOf(2 ** 53 - 1)).toBe(PAGES_MAX)
  expect(pagesMaxOf(0)).toBe(PAGES_MORE_MAX)
})

test('an endless list of sample sources fails its task with a message of one line', async () => {
  const endless = memorySource({ 7: { sources: [], progress: null, sourceProgress: {} } })
  endless.pageSize = 1
  const { sources } = endless.surveys.get(7)!
  sources.push(source(0))
  endless.before = () => void sources.push(source(sources.length))
  const context = { signal: new AbortController().signal, allowance: unlimitedAllowance }
  const readPage = (page: number) => endless.listSampleSources(7, page, context)
  await expect(readSources(7, readPage, () => undefined)).rejects.toMatchObject({
    code: 'endless_list',
    endsRun: false,
    message:
      'the list of sample sources of survey 7 has no end: page 502 still announces a next page, but the first page announced 2 records. Report this to the owner of the API',
  })
})

test('a cursor ahead of the server’s clock is ignored: everything is listed, and the cursor moves back', async () => {
  // The second answer is dated two hours before the first. Changes in these two hours are older than the cursor.
  const world: World = {
    surveys: 2,
    pageSize: 2,
    steps: [step({ afterSeconds: 7_200 }), step({ afterSeconds: -7_200 })],
    endless: 'truth',
  }
  const { requests, done } = await play(world, [RUN, RUN, RUN], memoryListing().account)
  expect(done.map(({ result }) => result)).toEqual(['complete', 'complete', 'complete'])
  expect(requests.map(({ since }) => since)).toEqual([
    null,
    '2026-03-01T01:55:00Z',
    null,
    '2026-02-28T23:55:01Z',
    // An hour has passed by our clock, and a second by the server's.
    '2026-02-28T22:55:02Z',
  ])
})

/** A list with these rows on its pages; every reading shows the same. */
const fixedList = (pages: readonly (readonly Row[])[], total: number) => {
  const memory = memoryListing()
  const clock = testClock()
  const log = testLog()
  const asked: number[] = []
  const json = (page: number) => {
    const { rows, pagination } = pageOf(pages, page, 1)
    const surveys = rows.flat().map(([id, title, minutes]) => ({
      ...{ ...survey, id, title },
      updated_at: `2026-02-01T00:${String(minutes).padStart(2, '0')}:00Z`,
    }))
    return { surveys, pagination: { ...pagination, total_count: total } }
  }
  const http: HttpClient = {
    ...lyingApi({ surveys: 0, pageSize: 1, steps: [], endless: 'truth' }, START_MS).http,
    getJson: async (_, query) => {
      const page = Number(new Map(query).get('page'))
      asked.push(page)
      const body = json(page)
      return await Promise.resolve({ body, text: JSON.stringify(body), dateMs: START_MS })
    },
  }
  const base = runDependencies({ account: memory.account, log }, createSurveySource(http, clock, 2))
  const budget = new RunBudget({ requests_max: null, duration_max: null }, clock)
  const state = createRunState()
  return {
    memory,
    asked,
    warnings: () => log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message),
    state,
    discover: async () => await discover({ ...base, clock, budget, state }, await memory.account.position()),
  }
}

type Row = readonly [id: number, title: string | number, minutes: number]

const ON_ONE_PAGE: readonly Row[] = [
  [7, 'newer', 9],
  [7, 'older', 1],
]
const ONE_TWICE = 'survey 7 more than once on page 2'

test.each([
  ['the newer row first', ON_ONE_PAGE],
  ['the newer row last', ON_ONE_PAGE.toReversed()],
])('a page with a survey twice, and all that are announced, is a whole list: %s', async (_, twins) => {
  const list = fixedList([[[9, 'a', 1]], twins, [[5, 'b', 1]]], 3)
  expect(await list.discover()).toBe('complete')
  expect(list.memory.surveys.get(7)?.title).toBe('newer')
  expect(list.asked).toEqual([1, 2, 3])
  expect(list.warnings()).toEqual([`the list of surveys shows ${ONE_TWICE}; the newer row counts`])
})

test.each([
  ['two rows that can be typed', ON_ONE_PAGE, 'newer'],
  [
    'two equal times',
    [
      [7, 'first', 1],
      [7, 'last', 1],
    ] as const,
    'last',
  ],
  [
    'one row that cannot be typed',
    [
      [7, 5, 9],
      [7, 'older', 1],
    ] as const,
    'older',
  ],
])('a page with a survey twice in the place of another is no drift: %s', async (_, twins, title) => {
  const list = fixedList([[[9, 'a', 1]], twins, [[5, 'b', 1]]], 4)
  expect(await list.discover()).toBe('drifted')
  expect(list.state.repeated).toBe(ONE_TWICE)
  expect(list.memory.surveys.get(7)?.title).toBe(title)
  expect([...list.memory.surveys.keys()].toSorted()).toEqual([5, 7, 9])
  // Another reading would show the same.
  expect(list.asked).toEqual([1, 2, 3])
  // What is missing may have changed, so the next run lists it again.
  expect(await list.memory.account.position()).toMatchObject({ cursor: null, listings: { full: null } })
})

test.each([
  ['the newer row first', ON_ONE_PAGE],
  ['the newer row last', ON_ONE_PAGE.toReversed()],
])(
  'a survey on two pages in two readings is no drift, and the newer row counts: %s',
  async (_, [one, two]) => {
    const list = fixedList(
      [
        [[9, 'a', 1], one!],
        [two!, [5, 'b', 1]],
      ],
      4,
    )
    expect(await list.discover()).toBe('drifted')
    expect(list.state.repeated).toBe('survey 7 on page 1 and on page 2')
    expect(list.memory.surveys.get(7)?.title).toBe('newer')
    expect(list.asked).toEqual([1, 2, 1, 2])
  },
)

test('fewer surveys than announced, and none twice, is drift', async () => {
  const list = fixedList([[[9, 'a', 1]], [[7, 'b', 1]]], 3)
  expect(await list.discover()).toBe('drifted')
  expect(list.state.repeated).toBeNull()
  expect(list.asked).toHaveLength(6)
})
