import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/command.js'
import { query } from '../support/duckdb.js'
import { scriptedSurvey, startScriptedApi } from '../support/scripted-api.js'
import { temporaryDirectory } from '../support/temporary.js'

test('a first sync publishes every survey with its sources and progress', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3, {}, 0)])
  const ended = await run(['sync', '--json'], { ...api.env, FIELDWORK_SYNC_WAREHOUSE: warehouse })
  expect(ended).toMatchObject({ code: 0, signal: null })
  expect(JSON.parse(ended.stdout)).toMatchObject({ status: 'complete', exit_code: 0 })
  const published = join(warehouse, 'fieldwork.duckdb')
  expect(
    await query(
      published,
      'SELECT id, interviews_count, sample_sources_count FROM survey_overview ORDER BY id',
    ),
  ).toEqual([
    { id: 1, interviews_count: 10, sample_sources_count: 2 },
    { id: 2, interviews_count: 10, sample_sources_count: 2 },
    { id: 3, interviews_count: 10, sample_sources_count: 0 },
  ])
})
