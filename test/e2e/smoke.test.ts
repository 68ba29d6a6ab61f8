import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'

/** The packages that a process loaded. V8 lists its scripts in the file of its coverage. */
const packagesIn = async (directory: string): Promise<ReadonlySet<string>> => {
  const files = await readdir(directory)
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')))
  return new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/"url":"file:[^"]*\/node_modules\/([^/"]+)\//g)].map(([, name = '']) => name),
    ),
  )
}

test('a first sync publishes every survey with its sources and progress, and loads no client that it does not use', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3, {}, 0)])
  const loaded = join(await trial.temporary(), 'loaded')
  const ended = await trial.run(['sync', '--json', '--log-level', 'debug'], {
    NODE_V8_COVERAGE: loaded,
  })
  expect(ended).toMatchObject({ code: 0, signal: null })
  const report = JSON.parse(ended.stdout)
  expect(report).toMatchObject({ status: 'complete', exit_code: 0 })
  const logged = ended.stderr.trimEnd().split('\n')
  expect(logged.length).toBeGreaterThan(5)
  expect(new Set(logged.map((line) => JSON.parse(line).run_id))).toEqual(new Set([report.accounts[0].run_id]))
  const packages = await packagesIn(loaded)
  expect(packages).toContain('@duckdb')
  for (const unused of ['@redis', 'fastify', 'pino-pretty', '@aws-sdk'])
    expect(packages).not.toContain(unused)
  expect(
    await trial.rows('SELECT id, interviews_count, sample_sources_count FROM survey_overview ORDER BY id'),
  ).toEqual([
    { id: 1, interviews_count: 10, sample_sources_count: 2 },
    { id: 2, interviews_count: 10, sample_sources_count: 2 },
    { id: 3, interviews_count: 10, sample_sources_count: 0 },
  ])
})
