/** The queue: who is next, what it will take, and what failures leave behind; and the record of runs. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SurveyFacts, urgency } from '../../src/model/refresh-rules.js'
import type { AccountWarehouse } from '../../src/model/warehouse.js'
import { accountWarehouse } from '../../src/warehouse/account-warehouse.js'
import { cases } from '../support/cases.js'
import {
  bundle,
  list,
  minute,
  progress,
  RUN,
  runReport,
  source,
  survey,
  testWarehouse,
} from '../support/warehouse.js'

const next = async (
  account: AccountWarehouse,
  at: number,
  change: { runId?: string; excluding?: number[] } = {},
) =>
  (await account.nextTasks({ runId: RUN, now: minute(at), limit: 100, excluding: [], ...change })).map(
    ({ surveyId }) => surveyId,
  )

const refreshed = (id: number, at: number, sources = 0) =>
  bundle(
    id,
    minute(at),
    Array.from({ length: sources }, (_, index) => source(id * 100 + index)),
    progress(1),
  )

const queue = (account: AccountWarehouse, at: number, priorities: Record<number, number>, runId = RUN) =>
  account.enqueue(
    Object.entries(priorities).map(([id, priority]) => ({ surveyId: Number(id), reason: 'live', priority })),
    { runId, at: minute(at) },
  )

describe('the next task', () => {
  test('is the one whose age, times its weight, is the greatest', async () => {
    const { account } = await testWarehouse()
    await list(account, [survey(1), survey(2), survey(3)], minute(0), 'full')
    await account.commitBundles([refreshed(1, 0), refreshed(2, 60), refreshed(3, 90)], RUN)
    await queue(account, 100, { 1: 1, 2: 2, 3: 4 })
    // At minute 100: 100 x 1, 40 x 2, 10 x 4. At 140: 140, 160, 200.
    expect(await next(account, 100)).toEqual([1, 2, 3])
    expect(await next(account, 140)).toEqual([3, 2, 1])
  })

  test('counts from when it was queued where the survey was never refreshed, and queueing it again does not move that', async () => {
    const { account, rows } = await testWarehouse()
    await queue(account, 0, { 1: 1 }, 'run-1')
    await queue(account, 50, { 2: 1 }, 'run-1')
    await account.enqueue([{ surveyId: 1, reason: 'missing', priority: 2 }], {
      runId: 'run-2',
      at: minute(80),
    })
    expect(await next(account, 100)).toEqual([1, 2])
    expect(
      await rows(
        'SELECT survey_id, reason, priority, enqueued_at, enqueued_run_id, attempts FROM _sync.tasks ORDER BY 1',
      ),
    ).toEqual([
      {
        survey_id: 1,
        reason: 'missing',
        priority: 2,
        enqueued_at: '2026-03-01T00:00:00Z',
        enqueued_run_id: 'run-1',
        attempts: 0,
      },
      {
        survey_id: 2,
        reason: 'live',
        priority: 1,
        enqueued_at: '2026-03-01T00:50:00Z',
        enqueued_run_id: 'run-1',
        attempts: 0,
      },
    ])
  })

  test('is the newest survey among equals, and one that is not stored comes after those that are', async () => {
    const { account } = await testWarehouse()
    await list(account, [survey(1), survey(3), survey(2)], minute(10), 'full')
    await queue(account, 10, { 9: 4, 8: 4 })
    expect(await next(account, 10)).toEqual([3, 2, 1, 9, 8])
    // A server whose clock has gone back makes nothing negative: all are equally urgent then.
    expect(await next(account, 5)).toEqual([3, 2, 1, 9, 8])
  })

  test('is none that this run has tried, none that is excluded, and no more than asked for', async () => {
    const { account } = await testWarehouse()
    await list(account, [survey(1), survey(2), survey(3)], minute(0), 'full')
    await account.commitBundles(
      [
        {
          kind: 'failed',
          surveyId: 3,
          at: minute(1),
          error: 'answered 500',
          isRefused: false,
          mayBeGone: false,
        },
      ],
      'run-1',
    )
    expect(await next(account, 9, { runId: 'run-1', excluding: [2, 77] })).toEqual([1])
    expect(await next(account, 9, { runId: 'run-2' })).toEqual([3, 2, 1])
    const two = await account.nextTasks({ runId: 'run-2', now: minute(9), limit: 2, excluding: [] })
    expect(two).toHaveLength(2)
    expect(await account.queue('run-1')).toMatchObject({ tasks: 3, untried: 2 })
  })
})

describe('requests that a task is expected to take', () => {
  test('a page of sources, the whole progress, and one for each source that is not missing', async () => {
    const { account } = await testWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    await account.commitBundles([refreshed(1, 1, 5)], RUN)
    await account.commitBundles([refreshed(1, 2, 3)], RUN)
    await queue(account, 3, { 1: 4 })
    expect(await account.nextTasks({ runId: RUN, now: minute(3), limit: 1, excluding: [] })).toMatchObject([
      { surveyId: 1, requests: 5 },
    ])
  })

  test('as many sources as surveys have on average where it was never read, rounded up, and at least one', async () => {
    const { account } = await testWarehouse()
    await queue(account, 0, { 9: 4 })
    expect(await account.queue(RUN)).toEqual({ tasks: 1, untried: 1, requests: 3 })
    await list(account, [survey(1), survey(2), survey(3)], minute(0), 'full')
    await account.commitBundles([refreshed(1, 1, 2), refreshed(2, 1, 3), refreshed(3, 1, 0)], RUN)
    expect(await account.queue(RUN)).toEqual({ tasks: 1, untried: 1, requests: 5 })
    await queue(account, 2, { 3: 4 })
    expect(await account.queue(RUN)).toEqual({ tasks: 2, untried: 2, requests: 5 + 2 })
  })

  test('what a budget has found out, until it is done', async () => {
    const { account } = await testWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    await account.commitBundles([{ kind: 'oversized', surveyId: 1, at: minute(1), requestsNeeded: 250 }], RUN)
    expect(await account.queue(RUN)).toEqual({ tasks: 1, untried: 1, requests: 250 })
    await account.commitBundles([refreshed(1, 2, 1)], RUN)
    await queue(account, 3, { 1: 4 })
    expect(await account.queue(RUN)).toEqual({ tasks: 1, untried: 1, requests: 3 })
  })
})

describe('a task', () => {
  test('that failed stays queued with its error, which freshness shows, and a later success clears it', async () => {
    const { account, rows } = await testWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    for (const runId of ['run-1', 'run-2'])
      await account.commitBundles(
        [
          {
            kind: 'failed',
            surveyId: 1,
            at: minute(1),
            error: `${runId}: 500`,
            isRefused: false,
            mayBeGone: false,
          },
        ],
        runId,
      )
    expect(await rows('SELECT attempts, last_error, last_run_id FROM _sync.tasks')).toEqual([
      { attempts: 2, last_error: 'run-2: 500', last_run_id: 'run-2' },
    ])
    const fresh = () => rows('SELECT refreshed_at, source_progress_read_at, last_error FROM freshness')
    expect(await fresh()).toEqual([
      { refreshed_at: null, source_progress_read_at: null, last_error: 'run-2: 500' },
    ])
    await account.commitBundles([refreshed(1, 5)], 'run-3')
    const at = '2026-03-01T00:05:00Z'
    expect(await fresh()).toEqual([{ refreshed_at: at, source_progress_read_at: at, last_error: null }])
    expect(await account.hasTasks()).toBe(false)
  })

  test('of a survey that is gone is done, and one that was stopped is not touched', async () => {
    const { account, rows } = await testWarehouse()
    await list(account, [survey(1), survey(2)], minute(0), 'full')
    await account.commitBundles(
      [
        { kind: 'gone', surveyId: 1, at: minute(1) },
        { kind: 'oversized', surveyId: 2, at: minute(1), requestsNeeded: 9 },
      ],
      RUN,
    )
    expect(await rows('SELECT survey_id, attempts, last_error, last_run_id FROM _sync.tasks')).toEqual([
      { survey_id: 2, attempts: 0, last_error: null, last_run_id: null },
    ])
    expect(await rows('SELECT survey_id, refreshed_at FROM freshness ORDER BY 1')).toEqual([
      { survey_id: 1, refreshed_at: '2026-03-01T00:01:00Z' },
      { survey_id: 2, refreshed_at: null },
    ])
  })
})

test('facts of every survey that is not queued come in batches, by ascending id', async () => {
  const { account, run } = await testWarehouse()
  await list(
    account,
    Array.from({ length: 10_005 }, (_, index) => survey(index + 1)),
    minute(0),
    'full',
  )
  await account.commitBundles([refreshed(2, 1), refreshed(3, 1)], RUN)
  // As ten thousand more commits would leave them: refreshed, and not queued any more.
  await run(`UPDATE freshness SET refreshed_at = (SELECT refreshed_at FROM freshness WHERE survey_id = 2)
    WHERE survey_id BETWEEN 4 AND 10004`)
  await run('DELETE FROM _sync.tasks WHERE survey_id BETWEEN 4 AND 10004')
  await account.commitBundles([{ kind: 'gone', surveyId: 3, at: minute(2) }], RUN)
  const batches: (readonly SurveyFacts[])[] = []
  for await (const batch of account.unqueuedSurveys()) batches.push(batch)
  expect(batches.map((batch) => batch.length)).toEqual([10_000, 3])
  const facts = batches.flat()
  expect(facts.map(({ id }) => id)).toEqual(Array.from({ length: 10_003 }, (_, index) => index + 2))
  expect(facts.slice(0, 2)).toEqual([
    {
      id: 2,
      status: 'fieldwork',
      updatedAt: survey(2).updated_at,
      refreshedAt: minute(1),
      progressChangedAt: null,
      missing: false,
    },
    {
      id: 3,
      status: 'fieldwork',
      updatedAt: survey(3).updated_at,
      refreshedAt: minute(2),
      progressChangedAt: null,
      missing: true,
    },
  ])
})

test('facts say when progress was found to have changed, not when it was first read', async () => {
  const { account } = await testWarehouse()
  await list(account, [survey(1), survey(2)], minute(0), 'full')
  await account.commitBundles([refreshed(1, 1), refreshed(2, 1)], RUN)
  await account.commitBundles([bundle(1, minute(5), [], progress(2)), refreshed(2, 5)], RUN)
  await account.commitBundles([bundle(1, minute(9), [], progress(2))], RUN)
  const facts: (readonly SurveyFacts[])[] = []
  for await (const batch of account.unqueuedSurveys()) facts.push(batch)
  expect(facts.flat().map(({ id, progressChangedAt }) => ({ id, progressChangedAt }))).toEqual([
    { id: 1, progressChangedAt: minute(5) },
    { id: 2, progressChangedAt: null },
  ])
})

test('queued surveys take the weights of the settings, by the status that they will have', async () => {
  const { account, rows } = await testWarehouse()
  await list(account, [survey(1), survey(2, { status: 'pending' }), survey(3)], minute(0), 'full')
  await account.commitBundles([refreshed(3, 1)], RUN)
  // The new row of 3 waits for its task; of 9 nothing is known.
  await list(account, [survey(3, { status: 'complete' })], minute(2))
  await queue(account, 2, { 9: 4 })
  const weights: Record<string, number> = { fieldwork: 40, pending: 20, complete: 10 }
  await account.weighTasks((status) => weights[status] ?? 0)
  expect(await rows('SELECT survey_id AS id, priority FROM _sync.tasks ORDER BY 1')).toEqual([
    { id: 1, priority: 40 },
    { id: 2, priority: 20 },
    { id: 3, priority: 10 },
    { id: 9, priority: 4 },
  ])
})

test('the order of the queue is that of urgency, whatever the ages and weights', async () => {
  const { account, run } = await testWarehouse()
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 100 })), {
        minLength: 1,
        maxLength: 8,
        // Equally urgent ones are ordered by what else is known.
        selector: ([waited, weight]) => urgency(waited, weight),
      }),
      async (drawn) => {
        await run('DELETE FROM _sync.tasks')
        for (const [place, [waited, weight]] of drawn.entries())
          await queue(account, 500 - waited, { [place]: weight })
        const ordered = drawn
          .map(([waited, weight], place) => ({ place, urgency: urgency(waited, weight) }))
          .toSorted((one, other) => other.urgency - one.urgency)
        expect(await next(account, 500)).toEqual(ordered.map(({ place }) => place))
      },
    ),
    cases(10, 1_000),
  )
})

describe('the record of runs', () => {
  const start = (account: AccountWarehouse, runId: string) =>
    account.startRun({ runId, command: 'sync', version: '1.2.3', startedAt: minute(0) })

  test('says how each has ended, and what a report gives, a second time too', async () => {
    const { account, rows } = await testWarehouse()
    await start(account, RUN)
    expect(await rows('SELECT status, ended_at, exit_code FROM _sync.runs')).toEqual([
      { status: 'running', ended_at: null, exit_code: null },
    ])
    await account.finishRun(runReport())
    await account.finishRun(
      runReport({
        status: 'failed',
        exitCode: 7,
        reason: 'not published: disk full',
        requests: 8,
        requestsEstimated: 650,
        spending: [{ kind: 'surveys', reason: 'listing', requests: 8, saved: 3 }],
        leftOver: 2,
      }),
    )
    expect(await rows('SELECT * FROM _sync.requests')).toEqual([
      { run_id: RUN, account: 'acme', reason: 'listing', kind: 'surveys', made: 8, saved: 3 },
    ])
    expect(await rows('SELECT * FROM _sync.runs')).toEqual([
      {
        run_id: RUN,
        account: 'acme',
        version: '1.2.3',
        command: 'sync',
        started_at: '2026-03-01T00:00:00Z',
        ended_at: '2026-03-01T00:09:00Z',
        status: 'failed',
        exit_code: 7,
        reason: 'not published: disk full',
        listing: 'full',
        cursor_before: null,
        cursor_after: '2026-02-28T23:55:00Z',
        requests_estimated: 650,
        requests: 8,
        retries: 1,
        refusals: 0,
        surveys_listed: 3,
        surveys_refreshed: 2,
        surveys_failed: 0,
        left_over: 2,
        rejected_rows: 0,
        drift_events: 0,
        history_rows_compacted: 0,
        rows_replayed: null,
        rows_by_table: JSON.stringify(runReport().rowsByTable),
      },
    ])
  })

  test('marks as killed what ended without a word, of any account, but not the accounts beside it', async () => {
    const { account, database, rows } = await testWarehouse()
    const other = accountWarehouse(database, 'globex')
    await start(account, 'run-1')
    await start(other, 'run-1')
    await start(account, 'run-2')
    await account.finishRun(runReport({ runId: 'run-2' }))
    await start(account, 'run-3')
    await start(other, 'run-3')
    expect(
      await rows(
        'SELECT run_id, account, status, reason IS NOT NULL AS has_reason FROM _sync.runs ORDER BY ALL',
      ),
    ).toEqual([
      { run_id: 'run-1', account: 'acme', status: 'killed', has_reason: true },
      { run_id: 'run-1', account: 'globex', status: 'killed', has_reason: true },
      { run_id: 'run-2', account: 'acme', status: 'complete', has_reason: false },
      { run_id: 'run-3', account: 'acme', status: 'running', has_reason: false },
      { run_id: 'run-3', account: 'globex', status: 'running', has_reason: false },
    ])
  })
})
