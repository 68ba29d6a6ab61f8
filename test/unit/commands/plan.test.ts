/** What `plan` prints about the surveys that are known to be due. */
import { expect, test } from 'vitest'
import { expectedParts, planToJson, renderPlans } from '../../../src/commands/plan.js'
import { fitPlan, type Plan } from '../../../src/rules/plan.js'
import type { Task } from '../../../src/rules/queue.js'
import { minute } from '../../support/time/instants.js'

const rate = { requests: 60, perMs: 60_000 }
const task: Task = {
  surveyId: 1,
  reason: 'active',
  isQueued: false,
  isNightly: true,
  isLeftOver: false,
  isUnseen: false,
  isBegun: false,
  hasFailed: false,
  refusals: 0,
  requests: { survey_progress: 1, sample_source_progress: 2 },
  reserve: 4,
  since: minute(0),
  urgency: 4,
  createdAt: 0,
}
const listing = { reason: 'listing', surveys: 1, requests: { surveys: 1 } } as const
const active = {
  reason: 'active',
  surveys: 3,
  requests: { survey_progress: 3, sample_source_progress: 6 },
} as const
const excluded = { surveys: 0, requests: {} }
const plan = { at: minute(1_440), listing: 'incremental', tasks: [task, task, task], excluded } as const
const planned: Plan = { ...plan, entries: [listing, active], requests: 10 }

const linesOf = (one: Plan, requestsMax: number | null): readonly string[] => {
  const budget = { requests_max: requestsMax, duration_max: null }
  const fit = fitPlan(one, budget, rate)
  return renderPlans([{ account: 'acme', rate, plan: one, fit }], budget)
    .split('\n')
    .map((line) => line.trim().replace(/ {2,}/g, ' | '))
}

test('the text names what fits into a budget, and waiting surveys unless all fit', () => {
  expect(linesOf(planned, 8)).toContain('active | 3 | 9 | - | 3 | 6')
  expect(linesOf(planned, 8).slice(-3, -1)).toEqual([
    '7 requests fit into --max-requests 8: the listing, and 2 of the 3 surveys that are known to be due',
    '1 survey waits for the run after it, the oldest since 2026-03-01T00:00:00Z',
  ])
  expect(linesOf(planned, 11).at(-2)).toBe('all requests fit into --max-requests 11')
  expect(linesOf(planned, null).slice(-2)).toEqual([
    '0 ms at the cap of 60 per min',
    'the surveys that the listing brings come on top',
  ])
})

test('the JSON has an entry for each reason', () => {
  const json = planToJson([{ account: 'acme', rate, plan: planned, fit: null }], {
    requests_max: null,
    duration_max: null,
  })
  expect(json.accounts[0]?.entries).toEqual([listing, active])
})

test.each([
  ['each needs more than there is', 30, [99, 99], [15, 15]],
  ['one leaves requests to the others', 30, [4, 99, 99], [4, 13, 13]],
  ['all need less', 30, [4, 9], [4, 9]],
  ['the need of one is unknown', 10, [Number.POSITIVE_INFINITY, 2], [8, 2]],
  ['the budget is zero', 0, [4], [0]],
])('the part of each account when %s', (_, total, needs, expected) => {
  expect(expectedParts(total, needs)).toEqual(expected)
})
