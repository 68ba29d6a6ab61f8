/** The real command publishes Parquet. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PUBLISHED_VIEWS } from '../../src/model/publish-formats.js'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { query } from '../support/warehouse/duckdb.js'

const currentOf = (warehouse: string) => join(warehouse, 'parquet', 'current')

test('the views of publish.views are beside the tables and equal those of the database; without them the next version has none', async (context) => {
  const surveys = [1, 2, 3].map((id) =>
    scriptedSurvey(id, { title: `=${id}\u0007<b>`, status: 'deviating_from_specs' }, id),
  )
  const { warehouse, published, sync, runWarm, settings } = await openTrial(context, surveys)
  const formats = ['duckdb', 'parquet']
  expect(await sync(await settings({ publish: formats }))).toMatchObject({ code: 0 })
  expect(await sync(await settings({ publish: formats }))).toMatchObject({ code: 0 })
  for (const view of PUBLISHED_VIEWS) {
    const [files, rows] = [
      `(SELECT * FROM read_parquet('${currentOf(warehouse)}/${view}/**/*.parquet', hive_partitioning = true))`,
      `(SELECT * EXCLUDE (numbers), CAST(numbers AS VARCHAR) AS numbers FROM ${view})`,
    ]
    const stored = view === 'needs_action' ? rows : `(FROM ${view})`
    const columns = (await query(published, `SELECT column_name FROM (DESCRIBE FROM ${stored})`))
      .map(({ column_name }) => `"${column_name}"`)
      .join(', ')
    const [one, other] = [`SELECT ${columns} FROM ${files}`, `SELECT ${columns} FROM ${stored}`]
    const differing = `(${one} EXCEPT ALL ${other}) UNION ALL (${other} EXCEPT ALL ${one})`
    expect(await query(published, differing), view).toEqual([])
    expect(await query(published, `SELECT 1 FROM ${files} LIMIT 1`), view).toHaveLength(1)
  }
  expect(await runWarm(['verify', '--local'])).toMatchObject({ code: 0 })

  expect(await sync(await settings({ publish: { formats, views: ['survey_pace'] } }))).toMatchObject({
    code: 0,
  })
  const names = await readdir(currentOf(warehouse))
  expect(PUBLISHED_VIEWS.filter((view) => names.includes(view))).toEqual(['survey_pace'])
  // Only the views of the settings are written; commands that read have all of them.
  const exported = await runWarm([
    'export',
    '--format',
    'csv',
    '--out',
    join(warehouse, 'out'),
    '--tables',
    'surveys_today',
  ])
  expect(exported).toMatchObject({ code: 0 })
  const wrong = await runWarm([
    'sync',
    ...(await settings({ publish: { formats, views: ['surveys_toady'] } })),
  ])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('publish.views must name known views, such as surveys_today, not ')
})
