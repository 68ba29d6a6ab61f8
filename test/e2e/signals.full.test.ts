import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { buildMutantUntil } from '../support/command/mutant.js'
import { lastLine, openSynced, stderrShows, stopWith } from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'

const surveys = () => [1, 2, 3].map((id) => scriptedSurvey(id, {}, 1))

const NOT_PUBLISHED = 'stopped by SIGTERM before it was published; the next run publishes it'

/** A build in which no proof of a published file ends: it first reads a view that is endless there. */
const publishingForEver = (finished: Finished): Promise<string> =>
  buildMutantUntil(finished, {
    file: 'publish/duckdb.js',
    from: 'SELECT count(*) AS surveys FROM main.survey_overview',
    to: 'SELECT count(*) AS surveys FROM range(1_000_000_000_000) t(i) WHERE hash(i) = 7',
  })

test.concurrent('SIGTERM in an endless publish exits 3, and the next run publishes', async (context) => {
  const trial = await openSynced(context, surveys())
  const before = await readFile(trial.published)
  const running = trial.start(
    ['sync', '--log-level', 'debug'],
    {},
    await publishingForEver(context.onTestFinished),
  )
  await stderrShows(running, /"msg":"publishing"/)
  const ended = await stopWith(running, 'SIGTERM')
  expect(ended).toMatchObject({ code: 3, signal: null })
  expect(lastLine(ended)).toBe(`partial (exit 3): ${NOT_PUBLISHED}; nothing is queued.`)
  expect((await readFile(trial.published)).equals(before)).toBe(true)
  expect((await readdir(trial.warehouse)).filter((name) => name.startsWith('.'))).toEqual([])
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await trial.runs()).toMatchObject([
    { status: 'complete' },
    { status: 'partial', exit_code: 3, reason: NOT_PUBLISHED },
    { status: 'complete' },
  ])
  await trial.expectSound()
})

test('a stopped run gives up an endless publish at the shutdown deadline, and says so', async (context) => {
  const trial = await openSynced(context, surveys())
  const before = await readFile(trial.published)
  trial.api.hook = ({ path }) => path === '/surveys'
  const arrived = trial.api.arrived(({ path }) => path === '/surveys')
  const running = trial.start(['sync'], {}, await publishingForEver(context.onTestFinished))
  await arrived
  const ended = await stopWith(running, 'SIGTERM')
  expect(ended).toMatchObject({ code: 3, signal: null })
  expect(lastLine(ended)).toMatch(
    /^partial \(exit 3\): stopped by SIGTERM; the shutdown deadline of 8 s passed before it was published; the next run publishes it/,
  )
  expect((await readFile(trial.published)).equals(before)).toBe(true)
  trial.api.hook = () => false
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect((await trial.runs()).map(({ status }) => status)).toEqual(['complete', 'partial', 'complete'])
})
