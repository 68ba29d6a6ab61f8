import { expect, test } from 'vitest'
import { type ScriptedApi, scriptedSurvey, sendJson } from '../support/api/scripted-api.js'
import { otherBuild } from '../support/command/mutant.js'
import {
  answered,
  lastLine,
  openTrial,
  type StderrPattern,
  stderrShows,
  stopWith,
  type Trial,
} from '../support/command/trial.js'
import { some } from '../support/suite/cases.js'

const surveys = () => [1, 2, 3].map((id) => scriptedSurvey(id, {}, 1))

const count = async (trial: Trial, table: string): Promise<unknown> =>
  (await trial.rows(`SELECT count(*) AS n FROM ${table}`))[0]?.n

const progressOf = (id: number) => `/surveys/${id}/fieldwork_progress`

interface Interruption {
  readonly when: string
  readonly signal: 'SIGTERM' | 'SIGINT'
  readonly script?: (api: ScriptedApi) => void
  readonly rate?: string
  readonly limits?: object
  /** The text on stderr at which the run is interrupted. */
  readonly interruptAt: StderrPattern
  readonly listed: number
  readonly refreshed: number
}

/** `npm test` tries the first. test/unit/http/client-stopping ends each wait, and the simulation stops at every step. */
const INTERRUPTIONS: readonly Interruption[] = [
  {
    when: 'in a request that hangs during the refresh',
    signal: 'SIGINT',
    script: (api) => {
      api.hook = ({ path }) => path === progressOf(2)
    },
    // Eight answers: the listing, three lists of sources, and the progress of two surveys and of one source of each.
    interruptAt: answered(8),
    listed: 3,
    refreshed: 2,
  },
  {
    when: 'between the pages of a listing',
    signal: 'SIGTERM',
    script: (api) => {
      api.pageSize = 1
      api.hook = ({ query }) => query.get('page') === '2'
    },
    interruptAt: answered(1),
    listed: 1,
    refreshed: 0,
  },
  {
    when: 'during the wait for a slot',
    signal: 'SIGTERM',
    rate: '2/1h',
    interruptAt: answered(2),
    listed: 3,
    refreshed: 0,
  },
  {
    when: 'during the pause after a 429',
    signal: 'SIGINT',
    script: (api) => {
      api.hook = ({ path }, response) => {
        if (path !== progressOf(2)) return false
        response.setHeader('retry-after', '600')
        sendJson(api, response, 429, {})
        return true
      }
    },
    interruptAt: /"pauseMs":600000/,
    listed: 3,
    refreshed: 0,
  },
  {
    when: 'during the wait before a retry',
    signal: 'SIGTERM',
    script: (api) => {
      api.hook = ({ path }, response) => {
        if (path !== '/surveys') return false
        response.setHeader('retry-after', '60')
        sendJson(api, response, 503, {})
        return true
      }
    },
    interruptAt: /"waitMs":60000.*will be sent again/,
    listed: 0,
    refreshed: 0,
  },
]

test.concurrent.for(some(INTERRUPTIONS, 1))(
  '$signal $when ends the run, and the next run completes',
  async (interruption, context) => {
    const { signal, script, rate = '1000/1s', interruptAt, listed, refreshed } = interruption
    const trial = await openTrial(context, surveys())
    script?.(trial.api)
    const patient = await trial.settings({ limits: { request_timeout: '10m' } })
    const running = trial.start(['sync', '--log-level', 'debug', ...patient], {
      FIELDWORK_SYNC_RATE_LIMIT: rate,
    })
    await stderrShows(running, interruptAt)
    const ended = await stopWith(running, signal)
    expect(ended).toMatchObject({ code: 3, signal: null })
    expect(lastLine(ended)).toMatch(new RegExp(`^partial \\(exit 3\\): stopped by ${signal}`))
    expect(await trial.runs()).toEqual([
      { status: 'partial', exit_code: 3, reason: expect.stringMatching(`^stopped by ${signal}`) },
    ])
    expect(await count(trial, 'surveys')).toBe(listed)
    // Requests that were in flight at the start of a pause may or may not have been answered.
    expect(await count(trial, 'survey_progress')).toBeGreaterThanOrEqual(refreshed)
    trial.api.hook = () => false
    const next = await trial.runWarm(['sync'])
    expect(next.code).toBe(0)
    expect([await count(trial, 'surveys'), await count(trial, 'survey_progress')]).toEqual([3, 3])
    expect((await trial.runs()).map(({ status }) => status)).toEqual(['partial', 'complete'])
  },
)

const SECOND_SIGNALS = ['SIGTERM', 'SIGINT'] as const

test.concurrent.for(some(SECOND_SIGNALS, 1))(
  'a second %s ends the run at once, even in the middle of a query',
  async (signal, context) => {
    const trial = await openTrial(context, surveys())
    const stuck = await otherBuild(
      context.onTestFinished,
      'publish/duckdb.js',
      `import { DuckDBInstance } from '@duckdb/node-api'
      export const findPublishedFile = async () => []
      export const openPublishedFile = () => undefined
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
