/** The real command publishes Parquet. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey, startScriptedApi } from '../support/api/scripted-api.js'
import { publishedFile, syncWarm, withSettings } from '../support/command/sync.js'
import { runWarm } from '../support/command/warm.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { query } from '../support/warehouse/duckdb.js'

const currentOf = (warehouse: string) => join(warehouse, 'parquet', 'current')

test('a sync publishes every format that --publish names, with the same rows in each', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi([1, 2].map((id) => scriptedSurvey(id)))
  const ended = await syncWarm({ warehouse, env: api.env, args: ['--publish', 'duckdb,parquet'] })
  expect(ended).toMatchObject({ code: 0, report: { publish_error: null } })
  expect(ended.report.published).toEqual([
    { format: 'duckdb', path: publishedFile(warehouse), bytes: expect.any(Number) },
    { format: 'parquet', path: currentOf(warehouse), bytes: expect.any(Number) },
  ])
  const differing = await query(
    publishedFile(warehouse),
    `SELECT * FROM survey_progress EXCEPT ALL SELECT * EXCLUDE (created_month) REPLACE (CAST(_extra AS JSON) AS _extra)
      FROM (SELECT account, * EXCLUDE (account) FROM read_parquet('${currentOf(warehouse)}/survey_progress/**/*.parquet', hive_partitioning = true))`,
  )
  expect(differing).toEqual([])
  const runs = `SELECT run_id, status, exit_code FROM read_parquet('${currentOf(warehouse)}/_sync/runs/data.parquet')`
  expect(await query(publishedFile(warehouse), runs)).toEqual([
    { run_id: ended.run.run_id, status: 'complete', exit_code: 0 },
  ])
})

test('with publish: [parquet] alone, status and plan work, a run rebuilds a lost work database, and a failed publish exits 7', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi([scriptedSurvey(1)])
  const args = await withSettings({ publish: ['parquet'] })
  expect(await syncWarm({ warehouse, env: api.env, args })).toMatchObject({ code: 0 })
  await expect(stat(publishedFile(warehouse))).rejects.toThrow('ENOENT')
  const titles = `SELECT title FROM read_parquet('${currentOf(warehouse)}/surveys/**/*.parquet')`
  expect(await query(':memory:', titles)).toHaveLength(1)

  const status = await runWarm(['status', '--json'], { ...api.env, FIELDWORK_SYNC_WAREHOUSE: warehouse })
  expect(status).toMatchObject({ code: 0 })
  expect(JSON.parse(status.stdout)).toMatchObject({
    published: currentOf(warehouse),
    runs: [{ status: 'complete' }],
    tables: expect.arrayContaining([{ table: 'surveys', rows: 1 }]),
  })

  const plan = await runWarm(['plan', '--json'], { ...api.env, FIELDWORK_SYNC_WAREHOUSE: warehouse })
  expect(plan).toMatchObject({ code: 0, stderr: '' })

  await rm(currentOf(warehouse))
  await writeFile(currentOf(warehouse), 'precious')
  await rm(join(warehouse, 'work.duckdb'))
  const ended = await syncWarm({ warehouse, env: api.env, args })
  expect(ended.stderr).toContain('the work database was lost and is rebuilt from published Parquet files')
  expect(ended.code).toBe(7)
  expect(ended.report.publish_error).toContain(`cannot publish ${currentOf(warehouse)}`)
  expect(await readFile(currentOf(warehouse), 'utf8')).toBe('precious')
})
