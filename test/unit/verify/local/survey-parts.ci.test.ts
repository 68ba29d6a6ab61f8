/** Two million readings: each survey is in one part, with all of its rows. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { surveyParts } from '../../../../src/verify/local/survey-parts.js'
import { bigintCell } from '../../../../src/warehouse/connection/cells.js'
import { withTemporaryViews } from '../../../../src/warehouse/views/all.js'
import { minute } from '../../../support/time/instants.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const SURVEYS = 300
const READINGS = 7_000

test('each survey is in one part with all of its rows, also one without readings', async () => {
  const { account, database, run } = await testWarehouse()
  // Surveys 0 to 299 have readings, those around them have none.
  await list(
    account,
    Array.from({ length: SURVEYS + 2 }, (_, index) => survey(index - 1)),
    minute(0),
    'full',
  )
  await run(`INSERT INTO sample_source_progress_history (account, survey_id, sample_source_id, observed_at, day)
    SELECT 'acme', i // ${READINGS}, 1, make_timestamptz(i), DATE '2026-01-01' FROM range(${SURVEYS * READINGS}) t(i)`)
  const row = z.object({ surveys: bigintCell, readings: bigintCell, first: bigintCell, last: bigintCell })
  const parts = await database.exclusively(async (sql) => {
    const found = []
    for (const tables of await surveyParts(sql))
      found.push(
        ...(await withTemporaryViews(sql, tables, [], () =>
          sql.rows(
            row,
            `SELECT count(*) AS surveys, min(id) AS first, max(id) AS last,
              (SELECT count(*) FROM main.sample_source_progress_history) AS readings FROM main.surveys_history`,
          ),
        )),
      )
    return found
  })
  expect(parts).toEqual([
    { surveys: 144, readings: 143 * READINGS, first: -1, last: 142 },
    { surveys: 143, readings: 143 * READINGS, first: 143, last: 285 },
    { surveys: 15, readings: 14 * READINGS, first: 286, last: 300 },
  ])
})
