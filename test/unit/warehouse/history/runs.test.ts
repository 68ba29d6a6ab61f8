/** Which run is the last, whatever the clocks of the machines said. */
import { expect, test } from 'vitest'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { NUMBERED_RUNS, readLastRun } from '../../../../src/warehouse/history/runs.js'
import { minute } from '../../../support/time/instants.js'
import { runReport } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const FUTURE = 600_000_000

const start = ({ database }: TestWarehouse, runId: string, minutes: number, account = 'acme') =>
  accountWarehouse(database, account).startRun({
    runId,
    command: 'sync',
    version: '0.1.0',
    startedAt: minute(minutes),
  })

const lastOf = ({ database }: TestWarehouse) => database.exclusively(readLastRun)
const numbersOf = (warehouse: TestWarehouse, runs = '_sync.runs') =>
  warehouse.rows(`SELECT run_id, run_number AS n FROM ${runs} ORDER BY run_number, account`)

test('a warehouse without runs has no last run', async () => {
  expect(await lastOf(await emptyWarehouse())).toEqual({ runs: 0, run_id: null })
})

test('runs are numbered in the order in which they start, and accounts of a run share its number', async () => {
  const warehouse = await emptyWarehouse()
  await start(warehouse, 'ahead', FUTURE)
  await start(warehouse, 'now', 0)
  await start(warehouse, 'now', 0, 'globex')
  await start(warehouse, 'behind', -FUTURE)
  expect(await lastOf(warehouse)).toEqual({ runs: 4, run_id: 'behind' })
  expect(await numbersOf(warehouse)).toEqual([
    { run_id: 'ahead', n: 1 },
    { run_id: 'now', n: 2 },
    { run_id: 'now', n: 2 },
    { run_id: 'behind', n: 3 },
  ])
})

test('the numbers stay when a run ends, and count on after they are written again', async () => {
  const warehouse = await emptyWarehouse()
  await start(warehouse, 'a', FUTURE)
  await warehouse.account.finishRun(runReport({ runId: 'a', startedAt: minute(FUTURE) }))
  await start(warehouse, 'b', 0)
  await warehouse.account.finishRun(runReport({ runId: 'b', startedAt: minute(0), status: 'partial' }))
  expect(await numbersOf(warehouse)).toEqual([
    { run_id: 'a', n: 1 },
    { run_id: 'b', n: 2 },
  ])
})

test('runs of an older version get their numbers in the order in which they were recorded', async () => {
  const warehouse = await emptyWarehouse()
  for (const [runId, minutes] of [
    ['c', 0],
    ['a', FUTURE],
    ['b', 10],
  ] as const)
    await start(warehouse, runId, minutes)
  await warehouse.run('UPDATE _sync.runs SET run_number = NULL')
  await start(warehouse, 'now', 20)
  expect((await numbersOf(warehouse)).map(({ run_id }) => run_id)).toEqual(['c', 'a', 'b', 'now'])
})

test('in a published state of an older version, a run that is dated in the future comes first', async () => {
  const warehouse = await testWarehouse()
  await start(warehouse, 'old', 0)
  await start(warehouse, 'ahead', FUTURE)
  await start(warehouse, 'new', 10)
  await warehouse.run('ALTER TABLE _sync.runs DROP run_number')
  expect(await lastOf(warehouse)).toEqual({ runs: 3, run_id: 'new' })
  expect((await numbersOf(warehouse, NUMBERED_RUNS)).map(({ run_id }) => run_id)).toEqual([
    'ahead',
    'old',
    'new',
  ])
})
