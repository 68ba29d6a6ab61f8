/** The real command publishes Parquet. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey, scriptedSurveys } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { query } from '../support/warehouse/duckdb.js'

const currentOf = (warehouse: string) => join(warehouse, 'parquet', 'current')

test('a sync publishes every format that --publish names, with the same rows in each', async (context) => {
  const { warehouse, published, sync, rows } = await openTrial(context, scriptedSurveys(2))
  const ended = await sync(['--publish', 'duckdb,parquet'])
  expect(ended).toMatchObject({ code: 0, report: { publish_error: null } })
  expect(ended.report.published).toEqual([
    { format: 'duckdb', path: published, bytes: expect.any(Number) },
    { format: 'parquet', path: currentOf(warehouse), bytes: expect.any(Number) },
  ])
  const differing =
    await rows(`SELECT * FROM survey_progress EXCEPT ALL SELECT * EXCLUDE (created_month) REPLACE (CAST(_extra AS JSON) AS _extra)
      FROM (SELECT account, * EXCLUDE (account) FROM read_parquet('${currentOf(warehouse)}/survey_progress/**/*.parquet', hive_partitioning = true))`)
  expect(differing).toEqual([])
  const runs = `SELECT run_id, status, exit_code FROM read_parquet('${currentOf(warehouse)}/_sync/runs/data.parquet')`
  expect(await rows(runs)).toEqual([{ run_id: ended.run.run_id, status: 'complete', exit_code: 0 }])
})

test('with publish: [parquet] alone, status and plan work, a run rebuilds a lost work database, and a failed publish exits 7', async (context) => {
  const { warehouse, published, sync, runWarm, settings } = await openTrial(context, [scriptedSurvey(1)])
  const args = await settings({ publish: ['parquet'] })
  expect(await sync(args)).toMatchObject({ code: 0 })
  await expect(stat(published)).rejects.toThrow('ENOENT')
  const titles = `SELECT title FROM read_parquet('${currentOf(warehouse)}/surveys/**/*.parquet')`
  expect(await query(':memory:', titles)).toHaveLength(1)

  const status = await runWarm(['status', '--json'])
  expect(status).toMatchObject({ code: 0 })
  expect(JSON.parse(status.stdout)).toMatchObject({
    published: currentOf(warehouse),
    runs: [{ status: 'complete' }],
    tables: expect.arrayContaining([{ table: 'surveys', rows: 1 }]),
  })

  const plan = await runWarm(['plan', '--json'])
  expect(plan).toMatchObject({ code: 0, stderr: '' })

  await rm(currentOf(warehouse))
  await writeFile(currentOf(warehouse), 'precious')
  await rm(join(warehouse, 'work.duckdb'))
  const ended = await sync(args)
  expect(ended.stderr).toContain('the work database was lost and is rebuilt from published Parquet files')
  expect(ended.code).toBe(7)
  expect(ended.report.publish_error).toContain(`cannot publish ${currentOf(warehouse)}`)
  expect(await readFile(currentOf(warehouse), 'utf8')).toBe('precious')
})
