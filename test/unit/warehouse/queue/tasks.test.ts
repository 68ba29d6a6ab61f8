/** The queue: which task is next, how many requests it needs, and what failures leave behind. Also the record of runs. */
import { describe, expect, test } from 'vitest'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { minute } from '../../../support/time/instants.js'
import {
  bundle,
  failedTask,
  list,
  progress,
  RUN,
  runReport,
  source,
  survey,
} from '../../../support/warehouse/rows.js'
import { plannedSurveys, queuedTasks } from '../../../support/warehouse/run-dependencies.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const next = async (account: AccountWarehouse, at: number) =>
  (await queuedTasks(account, minute(at))).map(({ surveyId }) => surveyId)

const reserves = async (account: AccountWarehouse, at: number) =>
  Object.fromEntries(
    (await queuedTasks(account, minute(at))).map(({ surveyId, reserve }) => [surveyId, reserve]),
  )

const refreshed = (id: number, at: number, sources = 0) =>
  bundle(
    id,
    minute(at),
    Array.from({ length: sources }, (_, index) => source(id * 100 + index)),
    progress(1),
  )

const queue = (account: AccountWarehouse, at: number, ids: readonly number[], runId = RUN) =>
  account.enqueue(
    ids.map((surveyId) => ({ surveyId, reason: 'active' })),
    { runId, at: minute(at) },
  )

describe('the next task', () => {
  test('ages from its queueing when the survey was never refreshed, and queueing it again does not reset that', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    await list(account, [survey(2)], minute(50))
    await account.enqueue([{ surveyId: 1, reason: 'missing' }], { runId: 'run-2', at: minute(80) })
    expect(await next(account, 100)).toEqual([1, 2])
    await expectRows(
      'SELECT survey_id, reason, enqueued_at, enqueued_run_id, attempts FROM _sync.tasks ORDER BY 1',
      [
        [1, 'missing', '2026-03-01T00:00:00Z', 'run-1', 0],
        [2, 'changed', '2026-03-01T00:50:00Z', 'run-1', 0],
      ],
    )
  })

  test('is left over when an earlier run queued it', async () => {
    const { account } = await emptyWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    expect(await queuedTasks(account, minute(1), { runId: RUN })).toMatchObject([{ isLeftOver: false }])
    expect(await queuedTasks(account, minute(1), { runId: 'run-2' })).toMatchObject([{ isLeftOver: true }])
    expect((await account.runFacts(RUN)).leftOver).toBe(1)
  })
})

describe('the requests that are reserved for a task', () => {
  test('are a page of sources, the progress of the survey, and one for each source that is not missing', async () => {
    const { account } = await emptyWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    await account.commitBundles([refreshed(1, 1, 5)], RUN)
    await account.commitBundles([refreshed(1, 2, 3)], RUN)
    await queue(account, 3, [1])
    const week = 7 * 24 * 60
    // Its last reading was unchanged, so the requests for its sources are expected to be skipped for a week.
    expect(await queuedTasks(account, minute(3))).toMatchObject([
      { requests: { sample_sources: 1, survey_progress: 1, sample_source_progress: 0 }, reserve: 5 },
    ])
    expect(await queuedTasks(account, minute(3 + week))).toMatchObject([
      { requests: { sample_sources: 1, survey_progress: 1, sample_source_progress: 3 }, reserve: 5 },
    ])
  })

  test('count the average number of sources for a survey that was never read, rounded up, and at least one', async () => {
    const { account } = await emptyWarehouse()
    await list(account, [survey(1), survey(2), survey(3), survey(9)], minute(0), 'full')
    expect(await reserves(account, 0)).toEqual({ 1: 3, 2: 3, 3: 3, 9: 3 })
    await account.commitBundles([refreshed(1, 1, 2), refreshed(2, 1, 3), refreshed(3, 1, 0)], RUN)
    expect(await reserves(account, 2)).toEqual({ 9: 5 })
    await queue(account, 2, [3])
    expect(await reserves(account, 2)).toEqual({ 9: 5, 3: 2 })
  })

  test('are those that an oversized bundle reported, until the survey has been refreshed', async () => {
    const { account } = await emptyWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    await account.commitBundles([{ kind: 'oversized', surveyId: 1, at: minute(1), requestsNeeded: 250 }], RUN)
    expect(await queuedTasks(account, minute(1))).toMatchObject([
      { requests: { sample_sources: 1, survey_progress: 1, sample_source_progress: 248 }, reserve: 250 },
    ])
    await account.commitBundles([refreshed(1, 2, 1)], RUN)
    await queue(account, 3, [1])
    expect(await reserves(account, 3)).toEqual({ 1: 3 })
  })
})

describe('a task', () => {
  test('that failed stays queued with its error, which freshness shows until a later success', async () => {
    const { account, rows, expectRows } = await emptyWarehouse()
    await list(account, [survey(1)], minute(0), 'full')
    for (const runId of ['run-1', 'run-2'])
      await account.commitBundles([failedTask(1, minute(1), `${runId}: 500`)], runId)
    await expectRows('SELECT attempts, last_error, last_run_id FROM _sync.tasks', [
      [2, 'run-2: 500', 'run-2'],
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

  test('of a survey that is gone is done, and one of an oversized bundle stays as it is', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await list(account, [survey(1), survey(2)], minute(0), 'full')
    await account.commitBundles(
      [
        { kind: 'gone', surveyId: 1, at: minute(1) },
        { kind: 'oversized', surveyId: 2, at: minute(1), requestsNeeded: 9 },
      ],
      RUN,
    )
    await expectRows('SELECT survey_id, attempts, last_error, last_run_id FROM _sync.tasks', [
      [2, 0, null, null],
    ])
    await expectRows('SELECT survey_id, refreshed_at FROM freshness ORDER BY 1', [
      [1, '2026-03-01T00:01:00Z'],
      [2, null],
    ])
  })
})

const TASK = {
  runId: RUN,
  requestsNeeded: null,
  failedAt: null,
  refusals: 0,
  refusedAt: null,
  unfinished: 0,
  unfinishedAt: null,
}

test('plannedSurveys returns the stored facts of surveys, whether they are missing, and their tasks', async () => {
  const { account } = await emptyWarehouse()
  await list(account, [survey(1), survey(2), survey(3)], minute(0), 'full')
  await account.commitBundles([refreshed(2, 1, 2), refreshed(3, 1)], RUN)
  await account.commitBundles([{ kind: 'gone', surveyId: 3, at: minute(2) }], RUN)
  await account.enqueue([{ surveyId: 3, reason: 'missing' }], { runId: RUN, at: minute(3) })
  const facts = (await plannedSurveys(account)).toSorted((one, other) => one.id - other.id)
  const stored = (id: number) => ({
    id,
    status: 'fieldwork',
    createdAt: survey(id).created_at,
    changedAt: survey(id).updated_at,
    listedAt: minute(0),
    leftOut: false,
    moved: null,
    daysOpen: 0,
    excludedBy: null,
  })
  expect(facts).toEqual([
    {
      ...stored(1),
      refreshedAt: null,
      missing: false,
      sources: 0,
      sourceProgressReadAt: null,
      task: { ...TASK, reason: 'changed', enqueuedAt: minute(0) },
    },
    {
      ...stored(2),
      refreshedAt: minute(1),
      missing: false,
      sources: 2,
      sourceProgressReadAt: minute(1),
      task: null,
    },
    {
      ...stored(3),
      moved: false,
      refreshedAt: minute(2),
      missing: true,
      sources: 0,
      sourceProgressReadAt: minute(1),
      task: { ...TASK, reason: 'missing', enqueuedAt: minute(3) },
    },
  ])
})

test('a survey last changed with its row, its progress or one of its sources, also with a row that waits', async () => {
  const { account } = await emptyWarehouse()
  const ids = [1, 2, 3, 4]
  await list(
    account,
    ids.map((id) => survey(id, { updated_at: minute(-9) })),
    minute(0),
    'full',
  )
  const sources = [source(11, { updated_at: minute(-8) })]
  await account.commitBundles(
    ids.map((id) => bundle(id, minute(1), id === 1 ? [] : sources, progress(1))),
    RUN,
  )
  await account.commitBundles(
    [
      bundle(3, minute(5), sources, progress(2)),
      bundle(4, minute(5), [], progress(1), { listedSourceIds: [] }),
    ],
    RUN,
  )
  const changed = async () =>
    Object.fromEntries((await plannedSurveys(account)).map(({ id, changedAt }) => [id, changedAt]))
  expect(await changed()).toEqual({ 1: minute(-9), 2: minute(-8), 3: minute(5), 4: minute(5) })
  await list(account, [survey(2, { updated_at: minute(8) })], minute(9), 'incremental')
  expect(await changed()).toMatchObject({ 2: minute(8) })
})

test('queued surveys have the weights of the settings, by the status of their pending row', async () => {
  const { account } = await emptyWarehouse()
  await list(account, [survey(1), survey(2, { status: 'pending' }), survey(3)], minute(0), 'full')
  await account.commitBundles([refreshed(3, 1)], RUN)
  // The new row of survey 3 waits for its task.
  await list(account, [survey(3, { status: 'complete' })], minute(2))
  const tasks = await queuedTasks(account, minute(11), { weights: { fieldwork: 40, active: 20, other: 10 } })
  expect(tasks.map(({ surveyId, urgency }) => ({ surveyId, urgency }))).toEqual([
    { surveyId: 1, urgency: 11 * 60_000 * 40 },
    { surveyId: 2, urgency: 11 * 60_000 * 20 },
    { surveyId: 3, urgency: 10 * 60_000 * 10 },
  ])
})

describe('the record of runs', () => {
  const start = (account: AccountWarehouse, runId: string) =>
    account.startRun({ runId, command: 'sync', version: '1.2.3', startedAt: minute(0) })

  test('holds how each run has ended, and every value of its report, the second time too', async () => {
    const { account, expectRows } = await emptyWarehouse()
    await start(account, RUN)
    await expectRows('SELECT status, ended_at, exit_code FROM _sync.runs', [['running', null, null]])
    await account.finishRun(runReport())
    await account.finishRun(
      runReport({
        status: 'failed',
        exitCode: 7,
        reason: 'not published: disk full',
        requests: 8,
        requestsEstimated: 650,
        requestUsage: [{ kind: 'surveys', reason: 'listing', requests: 8, saved: 3 }],
        leftOver: 2,
      }),
    )
    await expectRows('SELECT * FROM _sync.requests', [
      { run_id: RUN, account: 'acme', reason: 'listing', kind: 'surveys', made: 8, saved: 3 },
    ])
    await expectRows('SELECT * FROM _sync.runs', [
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
        error_code: null,
        listing: 'full',
        cursor_before: null,
        cursor_after: '2026-02-28T23:55:00Z',
        requests_estimated: 650,
        requests: 8,
        retries: 1,
        rate_limited: 0,
        surveys_listed: 3,
        surveys_refreshed: 2,
        surveys_left_out: 0,
        sources_left_out: 0,
        surveys_unconfirmed: 0,
        surveys_failed: 0,
        left_over: 2,
        rejected_rows: 0,
        drift_events: 0,
        history_rows_compacted: 0,
        rows_replayed: null,
        rows_by_table: JSON.stringify(runReport().rowsByTable),
        run_number: 1,
      },
    ])
  })

  test('marks unfinished runs of every account as killed, but not other accounts of the current run', async () => {
    const { account, database, expectRows } = await emptyWarehouse()
    const other = accountWarehouse(database, 'globex')
    await start(account, 'run-1')
    await start(other, 'run-1')
    await start(account, 'run-2')
    await account.finishRun(runReport({ runId: 'run-2' }))
    await start(account, 'run-3')
    await start(other, 'run-3')
    await expectRows(
      'SELECT run_id, account, status, reason IS NOT NULL AS has_reason FROM _sync.runs ORDER BY ALL',
      [
        ['run-1', 'acme', 'killed', true],
        ['run-1', 'globex', 'killed', true],
        ['run-2', 'acme', 'complete', false],
        ['run-3', 'acme', 'running', false],
        ['run-3', 'globex', 'running', false],
      ],
    )
  })
})
