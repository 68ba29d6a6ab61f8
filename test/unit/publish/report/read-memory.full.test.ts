/** What a report reads of the years behind it. */
import { expect, test } from 'vitest'
import {
  freshness,
  sampleSourceProgress,
  sampleSources,
  surveyProgress,
  surveyProgressHistory,
  surveys,
  surveysHistory,
} from '../../../../src/model/tables.js'
import { readReport } from '../../../../src/publish/report/read.js'
import { insertRows } from '../../../support/warehouse/long-table.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

test('surveys that closed long ago take no memory', async () => {
  const { database, run } = await testWarehouse()
  for (const table of [surveys, surveyProgress, sampleSources, sampleSourceProgress, freshness])
    await run(insertRows(table, 200_000))
  for (const history of [surveysHistory, surveyProgressHistory]) await run(insertRows(history, 1))
  await run(`UPDATE main.surveys SET status = CASE WHEN id = 1 THEN 'fieldwork' ELSE 'complete' END, _missing_since = NULL;
    UPDATE main.sample_sources SET _missing_since = NULL; SET memory_limit = '160MB'`)

  const { inField } = await database.transaction(readReport)

  expect(inField).toHaveLength(1)
})
