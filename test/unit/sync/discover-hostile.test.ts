/**
 * Whatever a server says of its pages: a listing ends within a bound, by itself or with a clear error, and the cursor
 * never passes what was not read.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unlimitedAllowance } from '../../../src/base/allowance.js'
import { ExpectedError } from '../../../src/base/errors.js'
import { instantToMs } from '../../../src/model/instant.js'
import type { SurveySource } from '../../../src/model/survey-source.js'
import type { AccountWarehouse } from '../../../src/model/warehouse.js'
import { createSurveySource } from '../../../src/survey-api/survey-source.js'
import { createBudget } from '../../../src/sync/budget/budget.js'
import { readSources } from '../../../src/sync/bundle/sources.js'
import type { RunDependencies } from '../../../src/sync/dependencies.js'
import { discover } from '../../../src/sync/discover.js'
import {
  EndlessListError,
  PAGES_MAX,
  PAGES_MORE_MAX,
  pagesMaxOf,
} from '../../../src/sync/listing/endless-list.js'
import { createRunState, type Discovery } from '../../../src/sync/run-state.js'
import { accountWarehouse } from '../../../src/warehouse/account-warehouse.js'
import { memorySource } from '../../support/api/memory-source.js'
import { CASES_TIMEOUT_MS, cases } from '../../support/suite/cases.js'
import { minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import { source } from '../../support/warehouse/rows.js'
import { runDependencies } from '../../support/warehouse/run-dependencies.js'
import { testWarehouse } from '../../support/warehouse/warehouse.js'
import {
  type Asked,
  ENDLESS,
  honestTurn,
  lyingApi,
  lyingTurn,
  type Turn,
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
  /** Our clock, since the run before. */
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
  /** How many answers there were before and after it. */
  readonly from: number
  readonly to: number
}

/** Runs one discovery after the other against one API and one warehouse. */
const play = async (
  world: World,
  planned: readonly Run[],
  warehouse: AccountWarehouse,
): Promise<{ readonly done: readonly Done[]; readonly asked: readonly Asked[] }> => {
  const clock = testClock()
  const { http, asked } = lyingApi(world, START_MS)
  const source = createSurveySource(http, clock, 2)
  const listSurveys: SurveySource['listSurveys'] = (query, context) =>
    source.listSurveys(query, context).catch((error: unknown) => {
      // Whatever it said, nothing of it was used.
      const last = asked.at(-1)
      if (last !== undefined) last.answered = null
      throw error
    })
  const base = runDependencies({ account: warehouse, log: SILENT }, { ...source, listSurveys })
  const done: Done[] = []
  for (const { requestsMax, full, afterHours } of planned) {
    const from = asked.length
    const dependencies: RunDependencies = { ...base, clock, rules: { ...base.rules, full } }
    const budget = createBudget({ requestsMax, durationMsMax: null }, clock)
    const result = await discover(dependencies, budget, createRunState()).catch((error: unknown) => {
      expect(error).toBeInstanceOf(ExpectedError)
      expect((error as Error).message).toMatch(/^[^\p{Cc}]+$/u)
      return 'failed' as const
    })
    const { cursor } = await warehouse.position()
    done.push({ result, cursorMs: cursor === null ? null : instantToMs(cursor), from, to: asked.length })
    clock.advance(afterHours * HOUR_MS)
  }
  return { done, asked }
}

const SILENT = {
  lines: [],
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** The numbers that a run read must be bounded by what the first pages announced. */
const expectBounded = (asked: readonly Asked[]): void => {
  const totals = asked.map(({ answered }) => Number(answered?.total)).filter(Number.isSafeInteger)
  const script = asked.filter(({ lied }) => !lied).length
  expect(asked.length).toBeLessThanOrEqual(script + LISTINGS_MAX * pagesMaxOf(Math.max(0, ...totals)) + 1)
}

/**
 * The cursor has moved: then from an answer to page 1 on that was dated with it and the overlap, every page to the last was
 * read, in order, none announced fewer than the one before, and as many surveys were seen as the first of them announced.
 */
const expectSeen = (asked: readonly Asked[], cursorMs: number): void => {
  const begins = asked
    .map((_, index) => index)
    .filter((index) => asked[index]?.page === 1 && asked[index]?.answered !== null)
    .filter((index) => asked[index]?.dateMs === null || asked[index]?.dateMs === cursorMs + OVERLAP_MS)
  // After a listing that was resumed comes one of the changes since.
  const wholes = begins.flatMap((begin) =>
    asked.slice(begin).map((_, last) => asked.slice(begin, begin + last + 1)),
  )
  expect(wholes.some(isWholeListing)).toBe(true)
}

const isWholeListing = (answers: readonly Asked[]): boolean => {
  let next: unknown = 1
  let reached = 0
  let total = 0
  const ids = new Set<string>()
  for (const [index, { page, answered }] of answers.entries()) {
    if (answered === null) continue
    // A listing that was interrupted goes on one page back.
    if (page !== next && page !== reached) return false
    if (Number(answered.total) < total) return false
    total = Number(answered.total)
    next = answered.next
    reached = page
    // A row whose id cannot be read counts as a survey wherever it stands.
    for (const [at, id] of answered.rows.entries()) ids.add(id === 0 ? `${index}/${at}` : String(id))
  }
  return (
    next === null && ids.size >= Number(answers.find(({ answered }) => answered !== null)?.answered?.total)
  )
}

const holds = ({ done, asked }: Awaited<ReturnType<typeof play>>): void => {
  let cursorMs: number | null = null
  for (const run of done) {
    expectBounded(asked.slice(run.from, run.to))
    if (run.result === 'complete') {
      if (run.cursorMs === null) throw new Error('a complete listing leaves a cursor')
      expectSeen(asked.slice(0, run.to), run.cursorMs)
    } else if (run.cursorMs !== null && run.cursorMs !== cursorMs)
      expectSeen(asked.slice(0, run.to), run.cursorMs)
    cursorMs = run.cursorMs
  }
}

test('a server that lies about its pages, in memory', { timeout: CASES_TIMEOUT_MS }, async () => {
  const results = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(worldOf(lyingTurn, Object.keys(ENDLESS)), runs, async (world, planned) => {
      const played = await play(world, planned, memoryListing().account)
      for (const { result } of played.done) results.set(result, (results.get(result) ?? 0) + 1)
      holds(played)
    }),
    cases(100),
  )
  // Every way to end was taken: the cases are worth something.
  for (const result of ['complete', 'interrupted', 'drifted', 'failed'])
    expect(results.get(result) ?? 0).toBeGreaterThan(0)
})

test('a server that tells the truth of a list that changes: what was there all the while was seen', {
  timeout: CASES_TIMEOUT_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(worldOf(honestTurn, ['truth']), runs, async (world, planned) => {
      const memory = memoryListing()
      const played = await play(world, planned, memory.account)
      holds(played)
      let begin = 0
      for (const { result, to } of played.done) {
        if (result !== 'complete') continue
        const during = played.asked.slice(begin, to)
        const always = during[0]?.truth.filter((id) => during.every(({ truth }) => truth.includes(id))) ?? []
        for (const id of always) expect(memory.surveys.has(id)).toBe(true)
        begin = to
      }
    }),
    cases(100),
  )
})

test('the same with DuckDB, which tells what the maps tell', { timeout: CASES_TIMEOUT_MS }, async () => {
  const warehouse = await testWarehouse()
  let accounts = 0
  await fc.assert(
    fc.asyncProperty(worldOf(lyingTurn, ['truth']), runs, async (world, planned) => {
      accounts += 1
      const account = `account ${accounts}`
      const real = await play(world, planned, accountWarehouse(warehouse.database, account))
      holds(real)
      const memory = memoryListing()
      expect(real).toEqual(await play(world, planned, memory.account))
      expect(
        await warehouse.rows(`SELECT id, title FROM surveys WHERE account = '${account}' ORDER BY id`),
      ).toEqual(
        [...memory.surveys.values()].sort((a, b) => a.id - b.id).map(({ id, title }) => ({ id, title })),
      )
    }),
    cases(2, 300),
  )
})

/** What the properties taught: each of these went on for ever, or lost a survey, before there was a rule for it. */
const turn = (change: Partial<Turn>): Turn => ({
  change: null,
  lie: null,
  fails: false,
  afterSeconds: 1,
  ...change,
})
const RUN: Run = { requestsMax: null, full: false, afterHours: 1 }

test('pages without end are given up after as many as there are records, and some for new ones', async () => {
  for (const endless of ['one page more, and a new survey on each', 'one page more, with the same surveys']) {
    const world = { surveys: 0, pageSize: 1, turns: [], endless }
    const memory = memoryListing()
    const { done } = await play(world, [RUN], memory.account)
    // The first page announces two records.
    expect(done).toEqual([{ result: 'failed', cursorMs: null, from: 0, to: 2 + PAGES_MORE_MAX }])
    // The next run begins at page 1, not in the middle of what never ends.
    expect((await memory.account.position()).listing).toBeNull()
  }
})

test('whatever the first page announces, there is a last page to be read', () => {
  expect(pagesMaxOf(2 ** 53 - 1)).toBe(PAGES_MAX)
  expect(pagesMaxOf(0)).toBe(PAGES_MORE_MAX)
})

test('sample sources without end fail their task, in one line', async () => {
  const endless: SurveySource = {
    ...memorySource(),
    listSampleSources: (_, page) =>
      Promise.resolve({
        readAt: minute(0),
        serverDate: null,
        rows: [source(page)],
        rejections: [],
        drift: [],
        pagination: {
          current_page: page,
          next_page: page + 1,
          prev_page: null,
          total_pages: page + 1,
          total_count: page + 1,
        },
      }),
  }
  const failure = await readSources(endless, 7, {
    signal: new AbortController().signal,
    allowance: unlimitedAllowance,
  }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(EndlessListError)
  expect(failure).toMatchObject({
    endsRun: false,
    message:
      "the list of sample sources of survey 7 does not end: there is still a next page after page 502, and its first page announced 2 records in all; tell the API's owner",
  })
})

test('a cursor that lies ahead of the server’s clock is not believed: everything is listed, and it moves back', async () => {
  // The second answer comes two hours "before" the first: what changed in these two hours is older than the cursor.
  const world: World = {
    surveys: 2,
    pageSize: 2,
    turns: [turn({ afterSeconds: 7_200 }), turn({ afterSeconds: -7_200 })],
    endless: 'truth',
  }
  const { asked, done } = await play(world, [RUN, RUN, RUN], memoryListing().account)
  expect(done.map(({ result }) => result)).toEqual(['complete', 'complete', 'complete'])
  expect(asked.map(({ since }) => since)).toEqual([
    null,
    '2026-03-01T01:55:00Z',
    null,
    '2026-02-28T23:55:01Z',
  ])
})
