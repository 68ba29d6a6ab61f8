/** Tables for the requests and surveys that a plan expects of the next run. */
import { describe, expect, test } from 'vitest'
import { minusMs } from '../../../src/model/instant.js'
import type { PastRuns, PlannedSurvey } from '../../../src/model/plan-facts.js'
import type { RefreshRules, TaskReason } from '../../../src/model/run.js'
import { bundleRequests } from '../../../src/rules/estimate.js'
import {
  createPlan,
  expectedAt,
  fitPlan,
  type Plan,
  requestsWithin,
  timeAtCapMs,
} from '../../../src/rules/plan.js'
import { instantOf } from '../../support/time/instants.js'
import { onlySurveys, REFRESH_RULES } from '../../support/warehouse/run-dependencies.js'

const DAY_MS = 86_400_000
const AT = instantOf('2026-03-31T00:00:00Z')
const daysAgo = (days: number) => minusMs(AT, days * DAY_MS)
const msOf = (instant: bigint) => Number(instant / 1_000n)

const rules: RefreshRules = { ...REFRESH_RULES, settle_for: DAY_MS }
const discover = { overlap: 300_000, full_listing_every: 7 * DAY_MS }

let nextId = 0
const survey = (change: Partial<PlannedSurvey> = {}): PlannedSurvey => {
  nextId += 1
  return {
    id: nextId,
    status: 'fieldwork',
    createdAt: daysAgo(200),
    updatedAt: daysAgo(100),
    statusSince: change.updatedAt ?? daysAgo(100),
    refreshedAt: daysAgo(1),
    progressChangedAt: null,
    missing: false,
    listedAt: null,
    isTouched: false,
    sourcesChangedAt: null,
    changeAlone: false,
    leftOut: false,
    movedSources: 3,
    isWithoutInterviews: false,
    sources: 3,
    sourcesReadAt: daysAgo(2),
    sourceProgressReadAt: daysAgo(1),
    moved: null,
    daysOpen: 0,
    excludedBy: null,
    task: null,
    ...change,
  }
}

const past = (change: Partial<PastRuns> = {}): PastRuns => ({
  cursor: daysAgo(1),
  fullListedAt: daysAgo(1),
  countedAt: null,
  fullListingDue: false,
  hasLeftOut: false,
  listedAt: daysAgo(1),
  listedAtOurs: daysAgo(1),
  fullNextPage: null,
  pageRows: 50,
  everyMs: null,
  ...change,
})

const plan = (
  surveys: readonly PlannedSurvey[],
  change: { past?: Partial<PastRuns>; full?: boolean } = {},
): Plan => {
  const planned = createPlan(
    onlySurveys(surveys).totals,
    past(change.past),
    { at: AT, nowMs: msOf(AT) },
    { discover, refresh: rules, full: change.full ?? false },
    [],
  )
  for (const one of surveys) planned.add(one)
  return planned.plan()
}

const reasonsOf = ({ entries }: Plan) =>
  Object.fromEntries(entries.map(({ reason, surveys }) => [reason, surveys]))

const requestsOf = (sampleSources: number, progress: number, ofSources: number) => ({
  sample_sources: sampleSources,
  survey_progress: progress,
  sample_source_progress: ofSources,
})
const windows = (sources: boolean) => ({ daily_windows: { days: 7, time_zone: 'UTC', sources } })
const readAgo = (days: number): Partial<PlannedSurvey> => ({
  ...{ status: 'complete', moved: false },
  ...{ sourcesReadAt: daysAgo(days), sourceProgressReadAt: daysAgo(days) },
})
const SOURCES = { sample_source_progress: 3 }
const NO_SOURCES = { sample_source_progress: 0 }

test.each<[string, Partial<PlannedSurvey>, object, Partial<RefreshRules>?, TaskReason?]>([
  ['in field, read once before', { id: 1 }, requestsOf(0, 1, 3)],
  ['in field, read once before, the next one', { id: 2 }, requestsOf(0, 1, 2)],
  ['in field, of which one source moved', { id: 2, moved: true, movedSources: 1 }, requestsOf(0, 1, 2)],
  ['that had changed at its last reading', { status: 'pending', moved: true }, SOURCES],
  ['in field that had not changed at its last reading', { moved: false }, NO_SOURCES],
  ['pending, read once before', { id: 1, status: 'pending' }, SOURCES],
  ['that is closed, read once before', { status: 'complete' }, NO_SOURCES],
  ['without change, read a week ago', { moved: false, sourceProgressReadAt: daysAgo(7) }, SOURCES],
  ['without change, with skip_unchanged off', { moved: false }, SOURCES, { skip_unchanged: false }],
  ['whose sources were listed a week ago', { sourcesReadAt: daysAgo(7) }, { sample_sources: 1 }],
  ['that is closed, read 8 days ago', readAgo(8), requestsOf(0, 1, 0), {}, 'settling'],
  ['that is closed, read twelve weeks ago', readAgo(84), requestsOf(0, 1, 3), {}, 'old'],
  ['that is closed, listed 42 weeks ago', readAgo(294), requestsOf(1, 1, 3), {}, 'old'],
  ['never read', { refreshedAt: null, sources: 0 }, { sample_sources: 0, sample_source_progress: 2 }],
  ['in field, with daily windows', {}, { daily_progress: 8 * 4 }, windows(true)],
  [
    'that is closed, with days that are not final',
    { status: 'complete', moved: true, daysOpen: 5 },
    { daily_progress: 5 },
    { ...windows(false), skip_unchanged: false },
  ],
])('requests of a survey %s', (_, change, expected, more = {}, reason = 'active') => {
  const estimate = { rules: { ...rules, ...more }, sourcesEach: 2.4 }
  expect(bundleRequests(survey(change), reason, AT, estimate)).toMatchObject(expected)
})

describe('a plan', () => {
  test('has the due surveys by reason and those left over, but no resting ones', () => {
    const task = {
      reason: 'active',
      enqueuedAt: daysAgo(1),
      runId: 'run-0',
      requestsNeeded: null,
      refusals: 0,
      refusedAt: null,
      unfinished: 0,
      unfinishedAt: null,
    } as const
    const planned = plan([
      survey({ moved: true }),
      survey({ moved: true, task }),
      survey({ status: 'complete' }),
      survey({ status: 'complete', updatedAt: daysAgo(1.5) }),
      survey({ status: 'complete', refreshedAt: daysAgo(31) }),
      survey({ status: 'draft' }),
      survey({ missing: true }),
    ])
    expect(reasonsOf(planned)).toEqual({ listing: 0, left_over: 1, active: 1, settling: 1, old: 1 })
    expect(planned.requests).toBe(1 + 4 + 4 + 1 + 1)
  })

  test('expects as many changed and new surveys as in the previous week', () => {
    const changed = Array.from({ length: 14 }, () => survey({ status: 'complete', updatedAt: daysAgo(4) }))
    const created = Array.from({ length: 7 }, () =>
      survey({ status: 'draft', createdAt: daysAgo(3), updatedAt: daysAgo(3) }),
    )
    expect(reasonsOf(plan([...changed, ...created]))).toMatchObject({ listing: 3, changed: 3 })
    // For surveys that are due anyway a change adds only the list of their sources.
    const active = Array.from({ length: 14 }, () => survey({ updatedAt: daysAgo(4) }))
    const lists = (one: Plan) =>
      one.entries.find(({ reason }) => reason === 'changed')?.requests.sample_sources
    expect(lists(plan(active))).toBe(2)
    expect(lists(plan([...changed, ...created, ...active]))).toBe(3 + 2)
  })

  test('lists all pages if a full listing is due or requested, one page if no change is expected, and one more to count', () => {
    const surveys = Array.from({ length: 120 }, () => survey({ status: 'draft' }))
    const pages = (one: Plan) => one.entries[0]?.requests.surveys
    expect(pages(plan(surveys))).toBe(1)
    expect(pages(plan(surveys, { full: true }))).toBe(4)
    expect(pages(plan(surveys, { past: { fullListedAt: daysAgo(8) } }))).toBe(1 + 1)
    expect(plan(surveys, { past: { fullListedAt: daysAgo(28), pageRows: 20 } })).toMatchObject({
      listing: 'full',
      entries: [{ reason: 'listing', requests: { surveys: 7 } }],
    })
  })

  test('orders surveys like the queue', () => {
    const { tasks } = plan([
      survey({ status: 'pending', refreshedAt: daysAgo(3), moved: true }),
      survey({ refreshedAt: daysAgo(2) }),
      survey({ refreshedAt: daysAgo(1) }),
    ])
    expect(tasks.map(({ since }) => since)).toEqual([daysAgo(2), daysAgo(3), daysAgo(1)])
  })
})

test.each([
  ['a day after the last run if there was only one', null, 0, 1],
  ['after the usual interval', 2 * DAY_MS, 1, 2],
  ['now if the usual interval has passed', DAY_MS, 5, 5],
])('the next run is expected %s, by the clock of the server', (_, everyMs, daysLater, expected) => {
  const listedAt = instantOf('2026-03-01T00:00:00Z')
  // Our clock and the server's differ by months.
  const listedAtOurs = instantOf('2026-11-01T00:00:00Z')
  const nowMs = msOf(listedAtOurs) + daysLater * DAY_MS
  expect(expectedAt(past({ listedAt, listedAtOurs, everyMs }), nowMs)).toBe(
    minusMs(listedAt, -expected * DAY_MS),
  )
})

describe('at the cap', () => {
  const rate = { requests: 60, perMs: 60_000 }

  test.each([
    [0, 0],
    [1, 0],
    [60, 0],
    [61, 60_000],
    [120, 60_000],
    [121, 120_000],
    [7_000, 116 * 60_000],
  ])('%d requests take %d ms', (requests, ms) => {
    expect(timeAtCapMs(requests, rate)).toBe(ms)
    if (requests > 0) expect(requestsWithin(ms, rate)).toBeGreaterThanOrEqual(requests)
  })

  test('surveys fit in the order of the queue, and the others wait', () => {
    const planned = plan(
      Array.from({ length: 40 }, (_, at) => survey({ moved: true, refreshedAt: daysAgo(1 + at) })),
    )
    expect(planned.requests).toBe(1 + 40 * 4)
    const fits = (requestsMax: number | null, durationMsMax: number | null = null) =>
      fitPlan(planned, { requests_max: requestsMax, duration_max: durationMsMax }, rate)
    expect(fits(null)).toEqual({ surveys: 40, requests: 161, waiting: 0, oldestSince: null })
    // A survey takes 4 requests, and the budget reserves one more for its list of sources.
    expect(fits(42)).toEqual({ surveys: 10, requests: 41, waiting: 30, oldestSince: daysAgo(30) })
    expect(fits(41)).toEqual({ surveys: 9, requests: 37, waiting: 31, oldestSince: daysAgo(31) })
    expect(fits(null, 59_999)).toEqual({ surveys: 14, requests: 57, waiting: 26, oldestSince: daysAgo(26) })
    expect(fits(100, 60_000)).toMatchObject({ surveys: 24, waiting: 16 })
    // The smallest budget reads no survey as a whole.
    expect(fits(1)).toMatchObject({ surveys: 0, requests: 1, waiting: 40 })
    expect(fits(4)).toMatchObject({ surveys: 0, requests: 4, waiting: 40 })
  })
})
