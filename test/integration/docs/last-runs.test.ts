/** Runs the query of the last runs in docs/reference/queries.md on rows whose results were computed by hand. */
import { expect, test } from 'vitest'
import { openReader } from '../../support/warehouse/duckdb.js'
import { sqlOf } from './queries.js'

test('the last runs: a complete run after a partial one has no reason, and a killed one no count of an earlier one', async () => {
  using hand = await openReader(':memory:')
  await hand.query('CREATE SCHEMA _sync')
  await hand.query(`CREATE TABLE _sync.runs AS SELECT * FROM (VALUES
    ('a', 1, 91, 92, 'partial', 'stopped by --max-requests 20', 54), ('a', 2, 3, 4, 'complete', NULL, 0),
    ('b', 1, 1, 2, 'complete', NULL, 0), ('b', 2, 3, 4, 'partial', 'stopped by a signal', 7),
    ('c', 1, 1, 2, 'partial', 'stopped by a signal', 7), ('c', 2, 3, NULL, 'killed', 'it was killed', NULL)
  ) t(account, run_number, started_at, ended_at, status, reason, left_over)`)
  const rows = await hand.query(sqlOf('The last runs'))
  expect(Object.keys(rows[0] ?? {})).toEqual([
    'account',
    'last_complete_at',
    'last_status',
    'last_reason',
    'left_over',
  ])
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['a', 4, 'complete', null, 0],
    ['b', 2, 'partial', 'stopped by a signal', 7],
    ['c', null, 'killed', 'it was killed', null],
  ])
})
