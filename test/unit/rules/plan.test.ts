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

const rules: RefreshRules = REFRESH_RULES
const discover = { overlap: 300_000, full_listing_every: 7 * DAY_MS }

let nextId = 0
const survey = (change: Partial<PlannedSurvey> = {}): PlannedSurvey => {
  nextId += 1
  return {
    id: nextId,
    status: 'fieldwork',
    createdAt: daysAgo(200),
    refreshedAt: daysAgo(1),
    changedAt: daysAgo(100),
    missing: false,
    listedAt: null,
    leftOut: false,
    sources: 3,
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
  cursorDatedAt: null,
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
const SOURCES = { sample_source_progress: 3 }
const NO_SOURCES = { sample_source_progress: 0 }

test.each<[string, Partial<PlannedSurvey>, object, Partial<RefreshRules>?, TaskReason?]>([
  ['in field, read once before', {}, requestsOf(1, 1, 3)],
  ['that had changed at its last reading', { status: 'pending', moved: true }, SOURCES],
  ['in field that had not changed at its last reading', { moved: false }, NO_SOURCES],
  ['pending, read once before', { status: 'pending' }, SOURCES],
  ['that is closed, read once before', { status: 'complete' }, NO_SOURCES, {}, 'inactive'],
  ['without change, read whole a week ago', { moved: false, sourceProgressReadAt: daysAgo(7) }, SOURCES],
  ['without change, with every survey read whole', { moved: false }, SOURCES, { recheck_sources_after: 0 }],
  [
    'that is closed, read whole a year ago',
    { status: 'complete', moved: false, sourceProgressReadAt: daysAgo(365) },
    requestsOf(1, 1, 0),
    {},
    'inactive',
  ],
  ['that somebody names', { status: 'complete', moved: false }, SOURCES, {}, 'requested'],
  ['never read', { refreshedAt: null, sources: 0 }, { sample_sources: 1, sample_source_progress: 2 }],
  ['in field, with daily windows', {}, { daily_progress: 8 * 4 }, windows(true)],
  [
    'that is closed, with days that are not final',
    { status: 'complete', moved: true, daysOpen: 5 },
    { daily_progress: 5 },
    { ...windows(false), recheck_sources_after: 0 },
  ],
])('requests of a survey %s', (_, change, expected, more = {}, reason = 'active') => {
  const estimate = { rules: { ...rules, ...more }, sourcesEach: 2.4 }
  expect(bundleRequests(survey(change), reason, AT, estimate)).toMatchObject(expected)
})

describe('a plan', () => {
  test('has the due surveys by reason and those left over, but no paused ones', () => {
    const task = {
      reason: 'active',
      enqueuedAt: daysAgo(1),
      runId: 'run-0',
      requestsNeeded: null,
      failedAt: null,
      refusals: 0,
      refusedAt: null,
      unfinished: 0,
      unfinishedAt: null,
    } as const
    const planned = plan([
      survey({ moved: true }),
      survey({ moved: true, task }),
      survey({ status: 'complete' }),
      survey({ status: 'complete', changedAt: daysAgo(1.5) }),
      survey({ status: 'draft', refreshedAt: daysAgo(31) }),
      survey({ status: 'draft' }),
      survey({ missing: true }),
    ])
    expect(reasonsOf(planned)).toEqual({ listing: 0, left_over: 1, active: 1, inactive: 2 })
    expect(planned.requests).toBe(1 + 5 + 5 + 2 + 2)
  })

  test('lists all pages if a full listing is due or requested, and otherwise one page, and one more to count', () => {
    const surveys = Array.from({ length: 120 }, () => survey({ status: 'draft' }))
    const pages = (one: Plan) => one.entries[0]?.requests.surveys
    expect(pages(plan(surveys))).toBe(1)
    expect(pages(plan(surveys, { full: true }))).toBe(4)
    expect(pages(plan(surveys, { past: { fullListedAt: daysAgo(8) } }))).toBe(1 + 1)
    expect(plan(surveys, { past: { fullListedAt: daysAgo(28), pageRows: 20 } })).toMatchObject({
      listing: 'full',
      entries: [{ reason: 'listing', requests: { surveys: 1 + 6 } }],
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
    expect(planned.requests).toBe(1 + 40 * 5)
    const fits = (requestsMax: number | null, durationMsMax: number | null = null) =>
      fitPlan(planned, { requests_max: requestsMax, duration_max: durationMsMax }, rate)
    expect(fits(null)).toEqual({ surveys: 40, requests: 201, waiting: 0, oldestSince: null })
    // A survey takes five requests.
    expect(fits(51)).toEqual({ surveys: 10, requests: 51, waiting: 30, oldestSince: daysAgo(30) })
    expect(fits(50)).toEqual({ surveys: 9, requests: 46, waiting: 31, oldestSince: daysAgo(31) })
    expect(fits(null, 59_999)).toEqual({ surveys: 11, requests: 56, waiting: 29, oldestSince: daysAgo(29) })
    expect(fits(100, 60_000)).toMatchObject({ surveys: 19, waiting: 21 })
    // The smallest budget reads no survey as a whole.
    expect(fits(1)).toMatchObject({ surveys: 0, requests: 1, waiting: 40 })
    expect(fits(4)).toMatchObject({ surveys: 0, requests: 4, waiting: 40 })
  })
})
