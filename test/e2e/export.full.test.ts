/** Exports hold every value of one published state. They are read with plain tools, and they overwrite no foreign file. */
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ALL_VIEWS } from '../../src/warehouse/views/all.js'
import { startWorld } from '../support/api/reference-api.js'
import { MAIN } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'
import { envOf } from '../support/oracle/rate.js'
import { boundByModes, lacksUsers } from '../support/process/users.js'
import { openReader } from '../support/warehouse/duckdb.js'
import { MAIN_TABLES, openPublished } from './export-shared.js'

test('a Parquet export of either form has all rows and types, or only what is chosen', async (context) => {
  const trial = await openPublished(context, 'duckdb,parquet')
  const out = join(await trial.temporary(), 'parquet')
  const args = ['export', '--format', 'parquet', '--out', out]
  expect(await trial.run(args)).toMatchObject({ code: 0, stderr: '' })
  {
    using reader = await openReader(trial.published)
    for (const { name } of await reader.query(MAIN_TABLES)) {
      const file = `'${join(out, `${name}.parquet`)}'`
      const json = await reader.query(
        `SELECT column_name AS c FROM duckdb_columns() WHERE table_name = '${name}' AND data_type = 'JSON'`,
      )
      const texts = json.map(({ c }) => `"${c}"::VARCHAR AS "${c}"`)
      const stored = `SELECT * ${texts.length === 0 ? '' : `REPLACE (${texts.join(', ')})`} FROM main.${name}`
      expect(
        await reader.query(`(${stored} EXCEPT FROM ${file}) UNION ALL (FROM ${file} EXCEPT ${stored})`),
        String(name),
      ).toEqual([])
      expect(
        await reader.query(
          `SELECT (SELECT count(*) FROM ${file}) = (SELECT count(*) FROM main.${name}) AS same`,
        ),
      ).toEqual([{ same: true }])
    }
    expect(
      await reader.query(
        `SELECT value::VARCHAR AS comment FROM parquet_kv_metadata('${join(out, 'surveys.parquet')}') WHERE key::VARCHAR = 'fieldwork_sync.comment'`,
      ),
    ).toEqual([{ comment: 'Current surveys; one row per survey' }])
    expect(
      await reader.query(
        `SELECT DISTINCT compression FROM parquet_metadata('${join(out, 'surveys.parquet')}')`,
      ),
    ).toEqual([{ compression: 'ZSTD' }])
  }
  // Published Parquet gives the same export, which replaces the previous one.
  const settings = await trial.settings({ publish: ['parquet'] })
  const before = await readFile(join(out, 'surveys.parquet'))
  const tables = ['--tables', 'surveys,_sync.runs,freshness']
  const ended = await trial.run([...args, ...tables, ...settings, '--json'])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(ended.stdout)).toMatchObject({
    source: expect.stringMatching(/parquet\/versions\/000001$/),
    tables: [
      { table: 'surveys', rows: 3 },
      { table: '_sync.runs', rows: 1 },
      { table: 'freshness', rows: 3 },
    ],
  })
  expect((await readdir(out)).sort()).toEqual([
    '_sync.runs.parquet',
    'export.json',
    'freshness.parquet',
    'surveys.parquet',
  ])
  expect(await trial.run([...args, '--tables', 'surveys', ...settings])).toMatchObject({ code: 0 })
  expect(await readFile(join(out, 'surveys.parquet'))).toEqual(before)
})

test.concurrent('every view is exported from either published form, with the same rows', async (context) => {
  const trial = await openPublished(context, 'duckdb,parquet')
  const root = await trial.temporary()
  const views = ALL_VIEWS.map(({ name }) => name)
  const settings = await trial.settings({ publish: ['parquet'] })
  const exported = async (name: string, ...more: readonly string[]) => {
    const out = join(root, name)
    const args = ['export', '--format', 'csv', '--out', out, '--tables', views.join(','), '--json', ...more]
    const ended = await trial.runWarm(args)
    expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' })
    return JSON.parse(ended.stdout).tables
  }
  const tables = await exported('duckdb')
  expect(tables.map(({ table }: { table: string }) => table)).toEqual(views)
  expect(tables[0]).toMatchObject({ table: 'survey_overview', rows: 3 })
  expect(await exported('parquet', ...settings)).toEqual(tables)
})

test.skipIf(lacksUsers())('a killed export that cannot be removed is named', async (context) => {
  const trial = await openPublished(context)
  const root = await trial.temporary()
  const left = join(root, '.out.999999999.00000000-0000-4000-8000-000000000000.exporting')
  await mkdir(left)
  await writeFile(join(left, 'surveys.csv'), '')
  const { uid, gid } = boundByModes
  // What another user put there is not ours to remove.
  if (uid !== undefined && gid !== undefined) await chown(left, uid, gid)
  await chmod(left, 0o555)
  context.onTestFinished(() => chmod(left, 0o755))
  await chmod(root, 0o777)
  const { warehouse } = trial
  await chmod(dirname(warehouse), 0o755)
  const out = join(root, 'out')
  const args = ['export', '--format', 'csv', '--out', out, '--warehouse', warehouse]
  const options = { ...boundByModes, env: {}, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], options)
  expect(status).toBe(7)
  expect(stderr).toContain(`cannot export to ${out}: EACCES: permission denied`)
})

test.concurrent('every view fits the memory of an export', async (context) => {
  const trial = await openTrial(context)
  await using server = await startWorld({ surveys: 120 })
  expect(await trial.runWarm(['sync'], envOf(server))).toMatchObject({ code: 0 })
  const out = join(await trial.temporary(), 'csv')
  for (const { name } of ALL_VIEWS) {
    const ended = await trial.runWarm(['export', '--format', 'csv', '--tables', name, '--out', out])
    expect(ended, `${name}: ${ended.stderr}`).toMatchObject({ code: 0 })
  }
})
