import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { otherBuild } from '../support/command/mutant.js'
import { answered, lastLine, openTrial, stderrShows, stopWith, type Trial } from '../support/command/trial.js'
import { SLOW } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const surveys = () => [1, 2, 3].map((id) => scriptedSurvey(id, {}, 1))

const count = async (trial: Trial, table: string): Promise<unknown> =>
  (await query(trial.published, `SELECT count(*) AS n FROM ${table}`))[0]?.n

const progressOf = (id: number) => `/surveys/${id}/fieldwork_progress`

// test/unit/http/client-stopping ends each wait, and the simulation stops at every step.
test.concurrent('SIGINT in a request that hangs ends the run, and the next run completes', async (context) => {
  const trial = await openTrial(context, surveys())
  trial.api.hook = ({ path }) => path === progressOf(2)
  const patient = await trial.settings({ limits: { request_timeout: '10m' } })
  const running = trial.start(['sync', '--log-level', 'debug', ...patient])
  // The listing, three lists of sources, and the progress of two surveys and of one source of each.
  await stderrShows(running, answered(8))
  const ended = await stopWith(running, 'SIGINT')
  expect(ended).toMatchObject({ code: 3, signal: null })
  expect(lastLine(ended)).toMatch(/^partial \(exit 3\): stopped by SIGINT/)
  expect(await trial.runs()).toEqual([
    { status: 'partial', exit_code: 3, reason: expect.stringMatching('^stopped by SIGINT') },
  ])
  expect([await count(trial, 'surveys'), await count(trial, 'survey_progress')]).toEqual([3, 2])
  trial.api.hook = () => false
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect([await count(trial, 'surveys'), await count(trial, 'survey_progress')]).toEqual([3, 3])
  expect((await trial.runs()).map(({ status }) => status)).toEqual(['partial', 'complete'])
})

test.concurrent.for(SLOW ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
  'a second %s ends the run at once, even in the middle of a query',
  async (signal, context) => {
    const trial = await openTrial(context, surveys())
    const stuck = await otherBuild(
      context.onTestFinished,
      'publish/duckdb.js',
      `import { DuckDBInstance } from '@duckdb/node-api'
      export const findPublishedFile = () => async () => []
      export const createDuckdbPublisher = () => ({
        format: 'duckdb',
        publish: async () => {
          const connection = await (await DuckDBInstance.create()).connect()
          process.stderr.write('publishing for ever\\n')
          await connection.run('SELECT sum(hash(a.range * b.range)) FROM range(1e7::INT) a, range(1e7::INT) b')
        },
      })\n`,
    )
    trial.api.hook = ({ path }) => path === progressOf(2)
    const running = trial.start(['sync', '--log-level', 'debug'], {}, stuck)
    await stderrShows(running, answered(8))
    running.child.kill('SIGTERM')
    await stderrShows(running, /publishing for ever/)
    const ended = await stopWith(running, signal)
    expect(ended).toMatchObject({ code: null, signal, stdout: '' })
    // Both signals leave the same state, so one of them is enough for the rest.
    if (signal === 'SIGINT') return
    trial.api.hook = () => false
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    expect(await count(trial, 'survey_progress')).toBe(3)
  },
)
