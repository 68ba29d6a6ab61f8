/** The queue of a run is a pure function of the stored surveys and tasks. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PlannedSurvey } from '../../../src/model/plan-facts.js'
import { DEFAULT_WEIGHTS, refreshWeight, urgency } from '../../../src/rules/queue.js'
import { cases } from '../../support/suite/cases.js'
import { minute } from '../../support/time/instants.js'
import { onlySurveys, queueOf, REFRESH_RULES } from '../../support/warehouse/run-dependencies.js'

const STATUSES = ['fieldwork', 'pending', 'complete'] as const
const KINDS = { fieldwork: 'fieldwork', pending: 'active', complete: 'other' } as const

const queued = (change: Partial<PlannedSurvey>, enqueuedAt: bigint, refusals = 0): PlannedSurvey => ({
  id: 1,
  status: 'fieldwork',
  createdAt: minute(-1_000),
  refreshedAt: null,
  changedAt: minute(-1_000),
  missing: false,
  listedAt: null,
  leftOut: false,
  sources: 3,
  sourceProgressReadAt: null,
  moved: null,
  daysOpen: 0,
  excludedBy: null,
  task: {
    reason: 'changed',
    enqueuedAt,
    runId: 'run-0',
    requestsNeeded: null,
    failedAt: null,
    refusals,
    refusedAt: refusals === 0 ? null : minute(0),
    unfinished: 0,
    unfinishedAt: null,
  },
  ...change,
})

test('the queue is ordered by urgency, then newest survey first, for any ages and weights', () => {
  const weight = fc.integer({ min: 1, max: 100 })
  const drawnSurvey = fc.record({
    waited: fc.integer({ min: 1, max: 20 }),
    age: fc.integer({ min: 1, max: 3 }),
    status: fc.constantFrom(...STATUSES),
    wasRead: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(drawnSurvey, { minLength: 1, maxLength: 12 }),
      fc.record({ fieldwork: weight, active: weight, other: weight }),
      (drawn, weights) => {
        const surveys = drawn.map(({ waited, age, status, wasRead }, id) => {
          const since = minute(500 - waited)
          return wasRead
            ? queued({ id, status, createdAt: minute(-age), refreshedAt: since }, minute(499))
            : queued({ id, status, createdAt: minute(-age) }, since)
        })
        const rules = { refresh: { ...REFRESH_RULES, weights }, full: false }
        const { tasks } = queueOf(onlySurveys(surveys), minute(500), rules, 'run-1')
        const expected = drawn
          .map(({ waited, age, status }, id) => ({
            surveyId: id,
            urgency: urgency(waited * 60_000, weights[KINDS[status]]),
            age,
          }))
          .toSorted(
            (one, other) =>
              other.urgency - one.urgency || one.age - other.age || other.surveyId - one.surveyId,
          )
        expect(tasks.map(({ surveyId }) => surveyId)).toEqual(expected.map(({ surveyId }) => surveyId))
        expect(tasks.map((task) => task.urgency)).toEqual(expected.map((one) => one.urgency))
      },
    ),
    cases(100, 1_000),
  )
})

test('a first load reads surveys in fieldwork first, then other active ones, each from the newest on', () => {
  const listed = (id: number, status: string, age: number, page: number) =>
    queued({ id, status, createdAt: minute(-age) }, minute(page))
  const surveys = [
    listed(1, 'complete', 1, 1),
    listed(2, 'pending', 3, 1),
    listed(3, 'fieldwork', 4, 2),
    listed(4, 'complete', 2, 2),
    listed(5, 'fieldwork', 3, 3),
    listed(6, 'pending', 2, 3),
  ]
  const left = queued({ id: 7, status: 'complete' }, minute(-1_440))
  const order = (...more: readonly PlannedSurvey[]) => {
    const rules = { refresh: REFRESH_RULES, full: false, begunAt: minute(0) }
    const { tasks } = queueOf(onlySurveys([...surveys, ...more]), minute(3), rules, 'run-0')
    return tasks.map(({ surveyId }) => surveyId)
  }
  expect(order()).toEqual([5, 3, 6, 2, 1, 4])
  expect(order(left)).toEqual([7, 5, 3, 6, 2, 1, 4])
})

test('a queued survey is due even while it is missing, and a repeatedly refused one rests', () => {
  const surveys = [
    queued({ id: 1, missing: true }, minute(0)),
    queued({ id: 2 }, minute(0), 3),
    queued({ id: 3, refreshedAt: minute(1), task: null, status: 'draft', sources: 4 }, minute(0)),
    queued({ id: 4, refreshedAt: minute(1), task: null, missing: true }, minute(0)),
  ]
  const queue = (full: boolean) =>
    queueOf(onlySurveys(surveys), minute(10), { refresh: REFRESH_RULES, full }, null)
  const idsOf = (full: boolean) => queue(full).tasks.map(({ surveyId }) => surveyId)
  expect(idsOf(false)).toEqual([1])
  expect(idsOf(true)).toEqual([2, 1])
  const { paused, notDue } = queue(false)
  expect(paused).toBe(1)
  expect(notDue).toEqual({ sample_sources: 1, survey_progress: 1, sample_source_progress: 4 })
})

test('the budget reserves all requests of a survey, even if no change is expected', () => {
  const read = { refreshedAt: minute(1), sourceProgressReadAt: minute(1) }
  const [task] = queueOf(
    onlySurveys([queued({ ...read, moved: false, task: null }, minute(0))]),
    minute(10),
    { refresh: REFRESH_RULES, full: false },
    null,
  ).tasks
  expect(task).toMatchObject({
    reason: 'active',
    isQueued: false,
    isNightly: true,
    isLeftOver: false,
    isUnseen: false,
    requests: { sample_sources: 1, survey_progress: 1, sample_source_progress: 0 },
    reserve: 1 + 1 + 3,
  })
})

test.each<[string, Partial<PlannedSurvey>, bigint | null, boolean]>([
  ['no page of a run that lists all surveys has shown it', { listedAt: minute(4) }, minute(5), true],
  ['no page has ever shown it', { listedAt: null }, minute(5), true],
  ['a page of this run has shown it', { listedAt: minute(5) }, minute(5), false],
  ['the run lists changes alone', { listedAt: minute(4) }, null, false],
])('whether a survey may have gone: %s', (_, change, listsAllSince, isUnseen) => {
  const rules = { refresh: REFRESH_RULES, full: false, listsAllSince }
  const [task] = queueOf(onlySurveys([queued(change, minute(0))]), minute(10), rules, null).tasks
  expect(task).toMatchObject({ isUnseen })
})

test.each<[string, Partial<PlannedSurvey>, boolean]>([
  ['rests when nothing of it was read', { refreshedAt: minute(-99) }, false],
  ['is read when only another endpoint than its progress refuses it', { refreshedAt: minute(0) }, true],
  ['rests when it is not due either', { refreshedAt: minute(0), status: 'complete' }, false],
])('a survey that was refused three times %s', (_, change, isDue) => {
  const surveys = onlySurveys([queued({ ...change, changedAt: minute(-99_000) }, minute(0), 3)])
  const { tasks, paused } = queueOf(surveys, minute(60), { refresh: REFRESH_RULES, full: false }, 'run-1')
  expect([tasks.length, paused]).toEqual(isDue ? [1, 0] : [0, 1])
})

test('an excluded survey is counted and not read, unless somebody asks for it', () => {
  const rules = { refresh: REFRESH_RULES, full: false }
  const surveys = onlySurveys([queued({ excludedBy: 'id' }, minute(0), 3), queued({ id: 2, task: null }, 0n)])
  const night = queueOf(surveys, minute(10_000), rules, null)
  expect(night.tasks.map(({ surveyId }) => surveyId)).toEqual([2])
  expect(night.excluded).toMatchObject({ surveys: 1, requests: { sample_sources: 1, survey_progress: 1 } })
  const asked = queueOf(surveys, minute(1), { ...rules, isRequested: true }, null)
  expect(asked.excluded.surveys).toBe(0)
  expect(asked.tasks.map(({ surveyId, reason, isLeftOver }) => [surveyId, reason, isLeftOver])).toEqual([
    [1, 'requested', false],
    [2, 'requested', false],
  ])
})

test('a failed attempt is a turn: the survey waits since then, unless its time is ahead of now', () => {
  const failing = (id: number, failedAt: bigint, refreshedAt: bigint | null): PlannedSurvey => {
    const { task, ...survey } = queued({ id, refreshedAt }, minute(0))
    return { ...survey, task: task && { ...task, failedAt } }
  }
  const surveys = [
    failing(1, minute(50), minute(1)),
    failing(2, minute(40), null),
    failing(3, minute(30), minute(60)),
    failing(4, minute(200), minute(10)),
    queued({ id: 5, refreshedAt: minute(20) }, minute(0)),
  ]
  const { tasks } = queueOf(onlySurveys(surveys), minute(100), { refresh: REFRESH_RULES, full: false }, null)
  const waiting = { 4: 10, 5: 20, 2: 40, 1: 50, 3: 60 }
  expect(tasks.map(({ surveyId }) => surveyId)).toEqual([4, 5, 2, 1, 3])
  for (const { surveyId, since } of tasks)
    expect(since).toBe(minute(waiting[surveyId as keyof typeof waiting]))
  expect(tasks.map(({ hasFailed }) => hasFailed)).toEqual([true, false, true, true, true])
})

describe('a survey waits', () => {
  test.each([
    ['fieldwork', 4],
    ['pending', 2],
    ['deviating_from_specs', 2],
    ['data_processing', 2],
    ['archived', 2],
    ['complete', 1],
    ['draft', 1],
    ['user_demo', 1],
  ])('with a weight that depends on its status: %s %d', (status, weight) => {
    expect(refreshWeight(status, DEFAULT_WEIGHTS)).toBe(weight)
  })

  test('with the weights from the settings', () => {
    const weights = { fieldwork: 9, active: 3, other: 2 }
    expect(
      ['fieldwork', 'pending', 'archived', 'complete', 'draft'].map((status) =>
        refreshWeight(status, weights),
      ),
    ).toEqual([9, 3, 3, 2, 2])
  })
})
