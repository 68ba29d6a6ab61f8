import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { buildMutant } from '../support/command/mutant.js'
import { openTrial } from '../support/command/trial.js'
import { slow } from '../support/suite/slow.js'

/** Makes the process write the CommonJS modules that it has loaded to a file when it exits. */
const listModules = (file: string) => {
  const list = `import { writeFileSync } from 'node:fs'; import { Module } from 'node:module'
    process.on('exit', () => writeFileSync('${file}', Object.keys(Module._cache).join('\\n')))`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(list)}` }
}

const packagesIn = async (file: string): Promise<ReadonlySet<string | undefined>> =>
  new Set(
    (await readFile(file, 'utf8')).split('\n').map((path) => /.*\/node_modules\/([^/]+)\//.exec(path)?.[1]),
  )

test('a first sync publishes every survey with its sources and progress, and loads no client that it does not use', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3, {}, 0)])
  const loaded = join(await trial.temporary(), 'loaded')
  const ended = await trial.run(['sync', '--json', '--log-level', 'debug'], listModules(loaded))
  expect(ended).toMatchObject({ code: 0, signal: null })
  expect(ended.stderr).not.toContain('no copy of the empty warehouse')
  const report = JSON.parse(ended.stdout)
  expect(report).toMatchObject({ status: 'complete', exit_code: 0 })
  const logged = ended.stderr.trimEnd().split('\n')
  expect(logged.length).toBeGreaterThan(5)
  expect(new Set(logged.map((line) => JSON.parse(line).run_id))).toEqual(new Set([report.accounts[0].run_id]))
  const packages = await packagesIn(loaded)
  expect(packages).toContain('@duckdb')
  for (const unused of ['ioredis', 'fastify', 'pino-pretty', '@aws-sdk'])
    expect(packages).not.toContain(unused)
  expect(
    await trial.rows('SELECT id, interviews_count, sample_sources_count FROM survey_overview ORDER BY id'),
  ).toEqual([
    { id: 1, interviews_count: 10, sample_sources_count: 2 },
    { id: 2, interviews_count: 10, sample_sources_count: 2 },
    { id: 3, interviews_count: 10, sample_sources_count: 0 },
  ])
  // The warehouse began as a copy of an older file.
  expect(
    await trial.rows(
      'SELECT applied_at::DATE >= started_at::DATE AS today FROM _sync.schema_version, _sync.runs',
    ),
  ).toEqual([{ today: true }])
})

slow(
  'a first sync creates the tables where the empty warehouse of the package is damaged',
  async (context) => {
    const main = await buildMutant()
    await writeFile(join(main, '../warehouse/empty.duckdb'), 'not a database')
    const trial = await openTrial(context, [scriptedSurvey(1)])
    const ended = await trial.run(['sync'], {}, main)
    expect(ended).toMatchObject({ code: 0, signal: null })
    expect(ended.stderr).toContain('no copy of the empty warehouse')
    expect(await trial.rows('SELECT id FROM surveys')).toEqual([{ id: 1 }])
    await trial.expectSound()
  },
)
