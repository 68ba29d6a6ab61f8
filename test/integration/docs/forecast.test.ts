/** Runs the forecast of docs/reference/queries.md on rows whose results were computed by hand. */
import { expect, test } from 'vitest'
import { openReader } from '../../support/warehouse/duckdb.js'
import { asText } from './queries.js'

test('the forecast handles a pace, none, a negative one, one that is too slow, a reached target, no target, one day, and a removed target', async () => {
  using hand = await openReader(':memory:')
  await hand.query(`CREATE TABLE progress_daily AS SELECT 'a' AS account, * FROM (VALUES
    (1, DATE '2026-03-01', 0, 100), (1, DATE '2026-03-03', 10, 100), (1, DATE '2026-03-10', 45, 100),
    (2, DATE '2026-03-03', 45, 100), (2, DATE '2026-03-10', 45, 100),
    (3, DATE '2026-03-03', 46, 100), (3, DATE '2026-03-10', 45, 100),
    (4, DATE '2026-03-03', 90, 100), (4, DATE '2026-03-10', 100, 100),
    (5, DATE '2026-03-03', 10, NULL), (5, DATE '2026-03-10', 45, NULL),
    (6, DATE '2026-03-10', 45, 100),
    (7, DATE '2026-03-03', 44, 100000000000), (7, DATE '2026-03-10', 45, 100000000000),
    (8, DATE '2026-03-03', 10, 100), (8, DATE '2026-03-10', 45, NULL)
  ) t(survey_id, day, interviews_count, sample_size)`)
  await hand.query(`CREATE TABLE survey_overview AS SELECT 'a' AS account, unnest(range(1, 9)) AS id, '' AS title,
    'fieldwork' AS status, CAST(NULL AS TIMESTAMPTZ) AS _missing_since`)
  const rows = await hand.query(asText('Forecast of completion', ['as_of', 'expected_on']))
  // 35 interviews in 7 days are 5 a day, and 55 are missing, so the target is reached in 11 days.
  expect(rows.map(({ survey_id, per_day, expected_on }) => [survey_id, per_day, expected_on])).toEqual([
    [4, 10 / 7, '2026-03-10'],
    [1, 5, '2026-03-21'],
    [2, 0, null],
    [3, -1 / 7, null],
    [5, 5, null],
    [6, null, null],
    [7, 1 / 7, null],
    [8, 5, null],
  ])
})
