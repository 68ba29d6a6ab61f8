/**
 * Runs the dbt sources in dbt on a published file. `dbt` with its DuckDB adapter is on the PATH, or
 * FIELDWORK_SYNC_TEST_DBT names it.
 */
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { scriptedSurvey, startScriptedApi } from '../../support/api/scripted-api.js'
import { run } from '../../support/command/command.js'
import { publishedFile, sync } from '../../support/command/sync.js'
import { dbtTables } from '../../support/dbt/dbt-sources.js'
import { temporaryDirectory } from '../../support/files/temporary.js'
import { lacks } from '../../support/suite/lacks.js'

const DBT = process.env.FIELDWORK_SYNC_TEST_DBT ?? 'dbt'

const hasDbt = async (): Promise<boolean> => /duckdb/.test((await execute(['--version'], '.')).output)

const execute = (args: readonly string[], directory: string) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const env = { PATH: process.env.PATH, HOME: directory, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' }
    execFile(DBT, args, { cwd: directory, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` })
    })
  })

test.skipIf(lacks('dbt with its DuckDB adapter', await hasDbt()))(
  'dbt reads the sources, passes a published file, and finds the errors that the test adds to it',
  async () => {
    const warehouse = await temporaryDirectory()
    const api = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3, {}, 0)])
    api.now = new Date()
    expect(await sync({ warehouse, env: api.env })).toMatchObject({ code: 0 })
    const project = await temporaryDirectory()
    const sources = await writeProject(project, publishedFile(warehouse))

    const parsed = await execute(['parse', '--show-all-deprecations'], project)
    expect(parsed, parsed.output).toMatchObject({ code: 0 })
    // dbt says of itself when its version is no longer supported.
    expect(parsed.output.replace(/This version of dbt is deprecated.*/, '')).not.toMatch(/deprecat|warn/i)
    const tested = await execute(['test'], project)
    expect(tested, tested.output).toMatchObject({ code: 0 })
    expect(await statuses(project)).toEqual(Array.from({ length: testsIn(sources) }, () => 'pass'))
    expect(await execute(['source', 'freshness'], project)).toMatchObject({ code: 0 })

    const damaged = join(project, 'damaged.duckdb')
    await copyFile(publishedFile(warehouse), damaged)
    await chmod(damaged, 0o644)
    await addErrors(damaged)
    await writeProject(project, damaged)
    expect(await execute(['test'], project)).toMatchObject({ code: 1 })
    const failing = await failures(project)
    expect(failing).toContain('fail fieldwork_surveys_key_is_unique')
    expect(failing).toContain('fail fieldwork_sample_sources_belong_to_surveys')
    expect(failing.filter((line) => line.startsWith('warn')).join()).toContain(
      'accepted_values_fieldwork_surveys_status',
    )
    expect(await execute(['source', 'freshness'], project)).toMatchObject({ code: 1 })
  },
)

/** Writes a dbt project that attaches `file`, as the first lines of the sources explain. */
const writeProject = async (directory: string, file: string): Promise<string> => {
  const { stdout } = await run(['schema', '--format', 'dbt'])
  await mkdir(join(directory, 'models'), { recursive: true })
  await writeFile(join(directory, 'models/fieldwork.yml'), stdout)
  await writeFile(join(directory, 'dbt_project.yml'), 'name: check\nprofile: check\nmodel-paths: [models]\n')
  const target = {
    type: 'duckdb',
    path: 'analytics.duckdb',
    attach: [{ path: file, alias: 'fieldwork', read_only: true }],
  }
  const profiles = { check: { target: 'dev', outputs: { dev: target } } }
  await writeFile(join(directory, 'profiles.yml'), JSON.stringify(profiles))
  return stdout
}

const testsIn = (yaml: string): number =>
  [...dbtTables(yaml).values()]
    .flatMap((table) => [table, ...table.columns])
    .reduce((sum, { data_tests }) => sum + data_tests.length, 0)

const runResults = z.object({ results: z.array(z.object({ status: z.string(), unique_id: z.string() })) })

const readResults = async (project: string) =>
  runResults.parse(JSON.parse(await readFile(join(project, 'target/run_results.json'), 'utf8'))).results

const statuses = async (project: string) => (await readResults(project)).map(({ status }) => status)

/** Each failed test as `fail name`, without the prefix and suffix that dbt adds to names. */
const failures = async (project: string) =>
  (await readResults(project))
    .filter(({ status }) => status !== 'pass')
    .map(({ status, unique_id }) => `${status} ${unique_id.replace(/^[^.]*\.[^.]*\.|\.\w{10}$/g, '')}`)

/** Adds a duplicate survey, a source without a survey, an undocumented status, and runs that ended long ago. */
const addErrors = async (file: string): Promise<void> => {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  for (const statement of [
    "INSERT INTO surveys BY NAME SELECT * REPLACE ('dreaming' AS status) FROM surveys WHERE id = 1",
    'INSERT INTO sample_sources BY NAME SELECT * REPLACE (99 AS survey_id) FROM sample_sources LIMIT 1',
    "UPDATE _sync.runs SET ended_at = TIMESTAMPTZ '2020-01-01 00:00:00Z'",
  ])
    await connection.run(statement)
  connection.closeSync()
  instance.closeSync()
}
