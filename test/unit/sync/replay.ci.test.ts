/** Quarantined rows that can be typed now: which enter the tables, which wait, and which are outdated. */
import { expect, test } from 'vitest'
import { StoppedError } from '../../../src/base/errors.js'
import type { Instant } from '../../../src/model/instant.js'
import type { RunReport } from '../../../src/model/run.js'
import type { Rejection } from '../../../src/model/survey-source.js'
import type { AccountWarehouse } from '../../../src/model/warehouse.js'
import { decodeAgain } from '../../../src/survey-api/resources.js'
import { replayAccount } from '../../../src/sync/replay.js'
import { scriptedProgress, scriptedSource, scriptedSurvey } from '../../support/api/scripted-api.js'
import { unsoundnessIn } from '../../support/oracle/soundness.js'
import { instantOf, minute } from '../../support/time/instants.js'
import { testClock } from '../../support/time/test-clock.js'
import {
  begin,
  bundle,
  commitPage,
  list,
  progress,
  rejection,
  source,
  survey,
} from '../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse } from '../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** A row of the listing that an older version could not type. */
const rejectedSurvey = (id: number, change: object = {}, readable = true): Rejection => {
  const raw = JSON.stringify({ ...scriptedSurvey(id).survey, ...change })
  const ids = readable ? { surveyId: id, rowId: id } : {}
  return rejection({ ...ids, problem: 'status: not understood', raw })
}

const rejectedProgress = (surveyId: number): Rejection =>
  rejection({ endpoint: 'fieldwork_progress', surveyId, raw: JSON.stringify(scriptedProgress(10)) })

const rejectedSource = (surveyId: number, id: number): Rejection => {
  const raw = JSON.stringify(scriptedSource(id, '2026-01-01T00:00:00Z'))
  return rejection({ endpoint: 'sample_sources', surveyId, sampleSourceId: id, rowId: id, raw })
}

/** Commits a listing page with these rejected rows, read at `at`. */
const reject = async (account: AccountWarehouse, at: Instant, rejections: readonly Rejection[]) => {
  await begin(account, at, 'incremental')
  await commitPage(account, [], at, { kind: 'incremental', runId: `run-${at}`, rejections })
}

type Dependencies = Parameters<typeof replayAccount>[0]
const replay = (account: AccountWarehouse, change: Partial<Dependencies> = {}): Promise<RunReport> =>
  replayAccount({
    warehouse: account,
    decodeAgain,
    clock: testClock('2026-04-01T00:00:00Z'),
    signal: new AbortController().signal,
    rules: { contract: 'evolve', limits: { rejected_rows_max: 0 } },
    runId: 'replay-1',
    version: '1.2.3',
    ...change,
  })

const refreshed = async ({ account }: TestWarehouse, id: number, at: Instant) => {
  await list(account, [survey(id)], at)
  await account.commitBundles([bundle(id, at, [source(id * 100 + 1)], progress(1))], 'run-0')
}

const results = (warehouse: TestWarehouse) =>
  warehouse.rows(`SELECT endpoint, survey_id, rejected_at, replay_result FROM _sync.rejected_rows
    ORDER BY rejected_at, endpoint, survey_id, sample_source_id`)

const soundness = async (warehouse: TestWarehouse) =>
  unsoundnessIn({ query: async (sql) => [...(await warehouse.rows(sql))] })

test('a survey that was never typed is merged with the time of its reading and queued, and the run is recorded', async () => {
  const warehouse = await emptyWarehouse()
  await reject(warehouse.account, minute(1), [rejectedSurvey(7, { title: 'Seven', mood: 'good' })])
  const report = await replay(warehouse.account)
  expect(report).toMatchObject({
    command: 'replay',
    status: 'complete',
    exitCode: 0,
    reason: null,
    requests: 0,
    leftOver: 1,
    driftEvents: 1,
    rowsByTable: { surveys: { added: 1, changed: 0, unchanged: 0 } },
    replayed: { merged: 1, queued: 0, outdated: 0, waiting: 0 },
  })
  await warehouse.expectRows(
    `SELECT id, title, _extra, _first_seen_at, _synced_at, valid_from, confirmed_until FROM surveys
        JOIN survey_periods USING (account, id, title, _extra)`,
    [
      [
        7,
        'Seven',
        '{"mood":"good"}',
        '2026-03-01T00:01:00Z',
        '2026-03-01T00:01:00Z',
        '2026-03-01T00:01:00Z',
        '2026-03-01T00:01:00Z',
      ],
    ],
  )
  await warehouse.expectRows('SELECT survey_id, reason, enqueued_run_id FROM _sync.tasks', [
    [7, 'changed', 'replay-1'],
  ])
  await warehouse.expectRows(
    'SELECT replayed_at, replayed_run_id, replay_result, problem FROM _sync.rejected_rows',
    [['2026-04-01T00:00:00Z', 'replay-1', 'merged', 'status: not understood']],
  )
  await warehouse.expectRows(
    "SELECT command, status, exit_code, requests, rows_replayed, rejected_rows FROM _sync.runs WHERE run_id = 'replay-1'",
    [['replay', 'complete', 0, 0, 1, 0]],
  )
  expect((await replay(warehouse.account, { runId: 'replay-2' })).replayed).toEqual({
    merged: 0,
    queued: 0,
    outdated: 0,
    waiting: 0,
  })
  expect(await soundness(warehouse)).toEqual([])
})

test('a changed survey with stored sources and progress waits for its task, as after a listing', async () => {
  const warehouse = await emptyWarehouse()
  await refreshed(warehouse, 1, minute(0))
  await reject(warehouse.account, minute(5), [rejectedSurvey(1, { status: 'complete' })])
  expect(await replay(warehouse.account)).toMatchObject({ replayed: { merged: 1 }, leftOver: 1 })
  await warehouse.expectRows('SELECT status FROM surveys', [['fieldwork']])
  await warehouse.expectRows('SELECT status, _synced_at FROM _sync.pending_surveys', [
    ['complete', '2026-03-01T00:05:00Z'],
  ])
  await warehouse.account.commitBundles([bundle(1, minute(9), [source(101)], progress(2))], 'run-2')
  await warehouse.expectRows('SELECT status, valid_from FROM surveys_history ORDER BY valid_from', [
    ['fieldwork', '2026-03-01T00:00:00Z'],
    ['complete', '2026-03-01T00:05:00Z'],
  ])
  expect(await soundness(warehouse)).toEqual([])
})

test('the last of several rows of a survey is merged, and never overwrites a later reading', async () => {
  const warehouse = await emptyWarehouse()
  const { account } = warehouse
  // 1 was rejected twice. 2 was typed since. 3 was listed again unchanged, which only freshness shows.
  await list(account, [survey(3)], minute(0))
  await reject(
    account,
    minute(1),
    [1, 2, 3].map((id) => rejectedSurvey(id, { title: `first ${id}` })),
  )
  await reject(account, minute(2), [rejectedSurvey(1, { title: 'second 1' })])
  await list(account, [survey(2), survey(3)], minute(3))
  // 4 has gone missing since. 5 waits with a newer row. 6 came twice without a readable id.
  await list(account, [survey(4)], minute(3))
  await reject(account, minute(4), [rejectedSurvey(4, {}), rejectedSurvey(5)])
  await account.commitBundles([{ kind: 'gone', surveyId: 4, at: minute(5) }], 'run-3')
  await refreshed(warehouse, 5, minute(1))
  await list(account, [survey(5, { title: 'waits' })], minute(6))
  await reject(account, minute(7), [rejectedSurvey(6, { title: 'older' }, false)])
  await reject(account, minute(8), [rejectedSurvey(6, { title: 'newer' }, false)])
  expect(await replay(account)).toMatchObject({
    exitCode: 0,
    replayed: { merged: 2, queued: 0, outdated: 6, waiting: 0 },
  })
  await warehouse.expectRows('SELECT id, title FROM surveys_history ORDER BY id, valid_from', [
    [1, 'second 1'],
    [2, 'Survey 2'],
    [3, 'Survey 3'],
    [4, 'Survey 4'],
    [5, 'Survey 5'],
    [6, 'newer'],
  ])
  await warehouse.expectRows('SELECT id, title FROM _sync.pending_surveys', [[5, 'waits']])
  expect(await soundness(warehouse)).toEqual([])
})

test('rejected sources and progress queue their survey, unless it was read again since or is missing', async () => {
  const warehouse = await emptyWarehouse()
  const { account } = warehouse
  const rejections = (id: number) => [rejectedProgress(id), rejectedSource(id, id * 100 + 1)]
  for (const id of [1, 2, 3]) {
    await list(account, [survey(id, { status: 'complete' })], minute(0))
    await account.commitBundles(
      [bundle(id, minute(2), [], null, { rejections: rejections(id), sourceProgressRead: 'some' })],
      'run-1',
    )
  }
  await account.commitBundles([bundle(2, minute(4), [source(201)], progress(3))], 'run-2')
  await account.commitBundles([{ kind: 'gone', surveyId: 3, at: minute(4) }], 'run-2')
  expect(await replay(account)).toMatchObject({
    replayed: { merged: 0, queued: 2, outdated: 4, waiting: 0 },
    leftOver: 1,
    rowsByTable: { surveys: { added: 0, changed: 0 } },
  })
  await warehouse.expectRows('SELECT survey_id, reason, enqueued_at FROM _sync.tasks', [
    [1, 'changed', '2026-03-01T00:02:00Z'],
  ])
  expect(new Set((await results(warehouse)).map((row) => `${row.survey_id} ${row.replay_result}`))).toEqual(
    new Set(['1 queued', '2 outdated', '3 outdated']),
  )
  await warehouse.expectRows('SELECT count(*) AS rows FROM survey_progress WHERE survey_id = 1', [[0]])
})

test('a survey row dated ahead of now is not merged: its true time is unknown, so a full listing becomes due', async () => {
  const { account, expectRows } = await emptyWarehouse()
  await list(account, [survey(9)], minute(0))
  await reject(account, minute(1), [rejectedSurvey(1)])
  await reject(account, instantOf('2027-04-05T00:00:00Z'), [rejectedSurvey(2), rejectedSurvey(3)])
  expect(await replay(account)).toMatchObject({
    exitCode: 0,
    replayed: { merged: 1, outdated: 2, waiting: 0 },
  })
  await expectRows('SELECT id FROM surveys ORDER BY id', [[1], [9]])
  await expectRows('SELECT full_listing_due FROM _sync.cursors', [[true]])
})

test('rows that still cannot be typed stay in quarantine: exit 5, or exit 0 within rejected_rows_max', async () => {
  const { account, expectRows } = await emptyWarehouse()
  await reject(account, minute(1), [rejectedSurvey(1), rejectedSurvey(2, { title: 7 })])
  expect(await replay(account)).toMatchObject({
    status: 'failed',
    exitCode: 5,
    reason: '1 row still cannot be typed (_sync.rejected_rows)',
    replayed: { merged: 1, waiting: 1 },
    rejectedRows: 0,
    rejections: [{ endpoint: 'surveys', problem: 'status: not understood', rows: 1 }],
  })
  await expectRows('SELECT survey_id FROM _sync.rejected_rows WHERE replayed_at IS NULL', [[2]])
  const rules = { contract: 'evolve', limits: { rejected_rows_max: 1 } } as const
  expect(await replay(account, { rules })).toMatchObject({ exitCode: 0, replayed: { merged: 0, waiting: 1 } })
})

test('drift in a replayed row counts as in a sync, under contract: freeze too', async () => {
  const { account } = await emptyWarehouse()
  await reject(account, minute(1), [rejectedSurvey(1, { status: 'archived' })])
  const rules = { contract: 'freeze', limits: { rejected_rows_max: 0 } } as const
  expect(await replay(account, { rules })).toMatchObject({
    exitCode: 5,
    reason:
      '1 difference from the API document under contract: freeze (survey.status "archived"; _sync.drift_events)',
    replayed: { merged: 1 },
  })
})

test('a replay stops between batches, and the next one continues where it was stopped or killed', async () => {
  const { account, expectRows } = await emptyWarehouse()
  const first = Array.from({ length: 500 }, (_, index) => rejectedSurvey(index + 1))
  await reject(account, minute(1), first)
  await reject(account, minute(2), [rejectedSurvey(501)])
  await reject(account, minute(3), [rejectedSurvey(502)])
  const stop = new AbortController()
  const stopping: AccountWarehouse = {
    ...account,
    commitReplay: async (batch, stamp) => {
      const done = await account.commitReplay(batch, stamp)
      stop.abort(new StoppedError('stopped by SIGTERM'))
      return done
    },
  }
  expect(await replay(stopping, { signal: stop.signal, runId: 'replay-1' })).toMatchObject({
    status: 'partial',
    exitCode: 3,
    reason: 'stopped by a signal: the other rows stay in quarantine',
    replayed: { merged: 500, waiting: 2 },
  })
  const failing: AccountWarehouse = { ...account, commitReplay: () => Promise.reject(new Error('killed')) }
  await expect(replay(failing, { runId: 'replay-2' })).rejects.toThrow('killed')
  expect(await replay(account, { runId: 'replay-3' })).toMatchObject({ replayed: { merged: 2, waiting: 0 } })
  await expectRows("SELECT status FROM _sync.runs WHERE command = 'replay' ORDER BY run_id", [
    ['partial'],
    ['killed'],
    ['complete'],
  ])
  await expectRows('SELECT count(*) AS surveys, count(DISTINCT id) AS ids FROM surveys', [[502, 502]])
})
