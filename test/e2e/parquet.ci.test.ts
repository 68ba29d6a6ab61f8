/** The real command publishes Parquet. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { query } from '../support/warehouse/duckdb.js'

const currentOf = (warehouse: string) => join(warehouse, 'parquet', 'current')

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
