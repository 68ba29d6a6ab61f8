/** What the metrics say about accounts: their last sync, when it was last complete, queue, freshness and quarantine. */
import { expect, test } from 'vitest'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { readAccountStates } from '../../../../src/warehouse/history/account-states.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, runReport, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

type Change = Parameters<typeof runReport>[0]

const startOf = ({ runId, command, startedAt }: ReturnType<typeof runReport>) => ({
  runId,
  command,
  startedAt,
  version: '0.1.0',
})

const record = async ({ database }: TestWarehouse, runId: string, minutes: number, change: Change = {}) => {
  const report = runReport({ runId, startedAt: minute(minutes), endedAt: minute(minutes + 9), ...change })
  const account = accountWarehouse(database, report.account)
  await account.startRun(startOf(report))
  await account.finishRun(report)
}

const statesOf = ({ database }: TestWarehouse, accounts: readonly string[]) =>
  database.exclusively((sql) => readAccountStates(sql, accounts))

test('an account without an ended sync has no state', async () => {
  const warehouse = await emptyWarehouse()
  await warehouse.account.startRun(startOf(runReport({ runId: 'killed' })))
  await record(warehouse, 'replayed', 10, { command: 'replay' })
  expect(await statesOf(warehouse, ['acme'])).toEqual([])
})

test('the last sync counts, and the end of the last complete one, whatever came after it', async () => {
  const warehouse = await emptyWarehouse()
  await record(warehouse, 'a', 0, { status: 'partial', exitCode: 3 })
  await record(warehouse, 'b', 100)
  await record(warehouse, 'c', 200, { status: 'failed', exitCode: 4, rateLimited: 5, leftOver: 12 })
  await record(warehouse, 'd', 300, { command: 'replay' })
  const [state] = await statesOf(warehouse, ['acme'])
  expect(state).toMatchObject({
    firstRunAt: minute(0),
    lastCompleteAt: minute(109),
    startedAt: minute(200),
    endedAt: minute(209),
    exitCode: 4,
    rateLimited: 5,
    leftOver: 12,
  })
})

test('a run that a wrong clock dated in the future is not the last one', async () => {
  const warehouse = await emptyWarehouse()
  await record(warehouse, 'future', 600_000_000)
  await record(warehouse, 'now', 0, { status: 'partial', exitCode: 3 })
  const [state] = await statesOf(warehouse, ['acme'])
  expect(state).toMatchObject({ lastCompleteAt: null, startedAt: minute(0) })
})

test('only the accounts of the settings have a state', async () => {
  const warehouse = await emptyWarehouse()
  for (const account of ['acme', 'former', 'globex']) await record(warehouse, `of-${account}`, 0, { account })
  const states = await statesOf(warehouse, ['globex', 'acme', 'new'])
  expect(states.map(({ account }) => account)).toEqual(['acme', 'globex'])
})

test('the oldest refresh is that of active surveys that the API shows', async () => {
  const warehouse = await emptyWarehouse()
  const { account } = warehouse
  await list(
    account,
    [survey(1), survey(2), survey(3, { status: 'complete' }), survey(4, { status: 'draft' }), survey(5)],
    minute(0),
  )
  await account.commitBundles([bundle(3, minute(1), [source(30)], progress(1))], 'run-1')
  await account.commitBundles([bundle(1, minute(20), [source(10)], progress(1))], 'run-1')
  await account.commitBundles([bundle(2, minute(10), [source(20)], progress(1))], 'run-1')
  await warehouse.run("UPDATE surveys SET _missing_since = TIMESTAMPTZ '2026-03-01T00:00:00Z' WHERE id = 2")
  await record(warehouse, 'run-1', 0)
  const [state] = await statesOf(warehouse, ['acme'])
  expect(state).toMatchObject({
    oldestActiveRefreshAt: minute(20),
    tableRows: { surveys: 5, survey_progress: 3 },
  })
  expect([state?.active, state?.activeNeverRefreshed]).toEqual([2, 1])
})

test('queue, quarantine and drift are counted', async () => {
  const warehouse = await emptyWarehouse()
  await record(warehouse, 'run-2', 0)
  await warehouse.run(`INSERT INTO _sync.tasks (account, survey_id, reason, enqueued_at, enqueued_run_id, attempts, last_error)
    VALUES ('acme', 1, 'inactive', now(), 'run-2', 0, NULL), ('acme', 2, 'inactive', now(), 'run-2', 1, 'no'), ('globex', 3, 'changed', now(), 'run-2', 0, NULL)`)
  await warehouse.run(`INSERT INTO _sync.rejected_rows (account, run_id, rejected_at, endpoint, problem, raw, replayed_at)
    VALUES ('acme', 'run-1', now(), 'surveys', 'p', '{}', NULL), ('acme', 'run-1', now(), 'surveys', 'p', '{}', now())`)
  await warehouse.run(`INSERT INTO _sync.drift_events
    SELECT 'acme', 'survey', 'f' || n, NULL, 'unknown_field', 1, now(), run, now(), run FROM (VALUES (1, 'run-1'), (2, 'run-2'), (3, 'run-2')) t(n, run)`)
  const [state] = await statesOf(warehouse, ['acme'])
  expect(state).toMatchObject({
    queued: { changed: 0, active: 0, inactive: 2, missing: 0 },
    failing: 1,
    waitingRows: 1,
    newDriftEvents: 2,
  })
})
