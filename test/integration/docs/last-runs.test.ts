/** Runs the query of the last runs in docs/reference/queries.md on rows whose results were computed by hand. */
import { expect, test } from 'vitest'
import { openReader } from '../../support/warehouse/duckdb.js'
import { sqlOf } from './queries.js'

test('the last runs: a complete run after a partial one has no reason', async () => {
  using hand = await openReader(':memory:')
  await hand.query('CREATE SCHEMA _sync')
  await hand.query(`CREATE TABLE _sync.runs AS SELECT * FROM (VALUES
    ('a', 1, 91, 92, 'partial', 'stopped by --max-requests 20', 54), ('a', 2, 3, 4, 'complete', NULL, 0),
    ('b', 1, 1, 2, 'complete', NULL, 0), ('b', 2, 3, 4, 'partial', 'stopped by a signal', 7)
  ) t(account, run_number, started_at, ended_at, status, reason, left_over)`)
  expect(await hand.query(sqlOf('The last runs'))).toEqual([
    { account: 'a', last_complete_at: 4, last_status: 'complete', last_reason: null, left_over: 0 },
    {
      account: 'b',
      last_complete_at: 2,
      last_status: 'partial',
      last_reason: 'stopped by a signal',
      left_over: 7,
    },
  ])
})

test('the last runs: a killed run shows no count of an earlier one', async () => {
  using hand = await openReader(':memory:')
  await hand.query('CREATE SCHEMA _sync')
  await hand.query(`CREATE TABLE _sync.runs AS SELECT * FROM (VALUES
    ('a', 1, 1, 2, 'partial', 'stopped by a signal', 7), ('a', 2, 3, NULL, 'killed', 'it was killed', NULL)
  ) t(account, run_number, started_at, ended_at, status, reason, left_over)`)
  expect(await hand.query(sqlOf('The last runs'))).toEqual([
    {
      account: 'a',
      last_complete_at: null,
      last_status: 'killed',
      last_reason: 'it was killed',
      left_over: null,
    },
  ])
})
