import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { type ScriptedApi, scriptedSurvey, sendJson } from '../support/api/scripted-api.js'
import { buildMutantUntil, otherBuild } from '../support/command/mutant.js'
import {
  answered,
  lastLine,
  openSynced,
  openTrial,
  type StderrPattern,
  stderrShows,
  stopWith,
  type Trial,
} from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'
import { type Receiver, startReceiver } from '../support/servers/receiver.js'
import { SLOW, slow } from '../support/suite/slow.js'

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
  /** Only `npm run test:slow` runs it. test/unit/http/client-stopping ends each wait, and the simulation stops at every step. */
  readonly slow?: true
}

const INTERRUPTIONS: readonly Interruption[] = [
  {
    when: 'between the pages of a listing',
    slow: true,
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
    when: 'during the wait for a slot',
    slow: true,
    signal: 'SIGTERM',
    rate: '2/1h',
    interruptAt: answered(2),
    listed: 3,
    refreshed: 0,
  },
  {
    when: 'during the pause after a 429',
    slow: true,
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
    slow: true,
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

test.concurrent.for(INTERRUPTIONS.filter(({ slow }) => SLOW || slow !== true))(
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

/** What the receiver of the request at the start of a run does. */
const RECEIVERS: Readonly<Record<string, Receiver['answer']>> = {
  answers: (_, response) => void response.end('OK'),
  'never answers': () => undefined,
  'closes the connection': (_, response) => void response.destroy(),
  'sends half an answer': (_, response) => void response.writeHead(200).write('half'),
}

test.concurrent.for(SLOW ? Object.keys(RECEIVERS) : ['answers'])(
  'a stopped run keeps its exit code if the receiver of notify.start %s',
  async (how, context) => {
    const trial = await openTrial(context, surveys())
    const receiver = await startReceiver(context.onTestFinished)
    const answer = RECEIVERS[how] ?? receiver.answer
    receiver.answer = (request, response) =>
      request.path === '/start' ? answer(request, response) : void response.end('OK')
    const patient = await trial.settings({
      limits: { request_timeout: '10m' },
      notify: Object.fromEntries(
        ['start', 'success', 'failure', 'webhook'].map((key) => [key, `${receiver.url}/${key}`]),
      ),
    })
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const requests = trial.api.arrivals.length
      trial.api.hook = ({ number }) => number > requests
      const arrived = trial.api.arrived(() => true)
      const running = trial.start(['sync', ...patient])
      await arrived
      const ended = await stopWith(running, signal)
      expect(ended).toMatchObject({ code: 3, signal: null })
      expect(lastLine(ended)).toMatch(new RegExp(`^partial \\(exit 3\\): stopped by ${signal}`))
    }
  },
)

/** What a run delivers at its end, and its exit code. */
const DELIVERIES = [
  { to: 'success', code: 0 },
  { to: 'webhook', code: 0 },
  { to: 'failure', code: 4 },
] as const

test.concurrent.for(SLOW ? DELIVERIES : DELIVERIES.slice(0, 1))(
  'a signal while a slow receiver of notify.$to has the request changes no exit code',
  async ({ to, code }, context) => {
    const trial = await openTrial(context, surveys())
    if (to === 'failure')
      trial.api.hook = (_, response) => {
        sendJson(trial.api, response, 401, {})
        return true
      }
    const receiver = await startReceiver(context.onTestFinished)
    const settings = await trial.settings({ notify: { [to]: `${receiver.url}/${to}` } })
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const arrived = new Promise<void>((resolve) => {
        receiver.answer = () => resolve()
      })
      const running = trial.start(['sync', ...settings])
      await arrived
      const ended = await stopWith(running, signal)
      expect(ended).toMatchObject({ code, signal: null })
    }
  },
)

test.concurrent('a signal after the end of the command changes no exit code', async (context) => {
  const trial = await openTrial(context)
  const late = `process.once('beforeExit', () => process.emit('SIGTERM'))`
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(late)}` }
  expect(await trial.run(['status'], env)).toMatchObject({ code: 2, signal: null })
  expect(await trial.run(['sync'], env)).toMatchObject({ code: 0, signal: null })
})

const NOT_PUBLISHED = 'stopped by SIGTERM before it was published; the next run publishes it'

/** A build in which no proof of a published file ends: it first reads a view that is endless there. */
const publishingForEver = (finished: Finished): Promise<string> =>
  buildMutantUntil(finished, {
    file: 'publish/duckdb.js',
    from: 'SELECT count(*) AS surveys FROM main.survey_overview',
    to: 'SELECT count(*) AS surveys FROM range(1_000_000_000_000) t(i) WHERE hash(i) = 7',
  })

slow.concurrent('SIGTERM in an endless publish exits 3, and the next run publishes', async (context) => {
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

slow('a stopped run gives up an endless publish at the shutdown deadline, and says so', async (context) => {
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

const SECOND_SIGNALS = ['SIGTERM', 'SIGINT'] as const

test.concurrent.for(SLOW ? SECOND_SIGNALS : SECOND_SIGNALS.slice(0, 1))(
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
