import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { scriptedSurvey, sendJson } from '../support/api/scripted-api.js'
import { buildMutantUntil } from '../support/command/mutant.js'
import { lastLine, openSynced, openTrial, stderrShows, stopWith } from '../support/command/trial.js'
import type { Finished } from '../support/files/temporary.js'
import { type Receiver, startReceiver } from '../support/servers/receiver.js'

const surveys = () => [1, 2, 3].map((id) => scriptedSurvey(id, {}, 1))

const NOT_PUBLISHED = 'stopped by SIGTERM before it was published; the next run publishes it'

/** A build in which no proof of a published file ends: it first reads a view that is endless there. */
const publishingForEver = (finished: Finished): Promise<string> =>
  buildMutantUntil(finished, {
    file: 'publish/duckdb.js',
    from: 'SELECT count(*) AS surveys FROM main.survey_overview',
    to: 'SELECT count(*) AS surveys FROM range(1_000_000_000_000) t(i) WHERE hash(i) = 7',
  })

/** What the receiver of the request at the start of a run does. */
const RECEIVERS: Readonly<Record<string, Receiver['answer']>> = {
  answers: (_, response) => void response.end('OK'),
  'never answers': () => undefined,
  'closes the connection': (_, response) => void response.destroy(),
  'sends half an answer': (_, response) => void response.writeHead(200).write('half'),
}

test.concurrent.for(Object.keys(RECEIVERS))(
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

test.concurrent.for(DELIVERIES)(
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
  expect(lastLine(ended)).toBe(`partial (exit 3): ${NOT_PUBLISHED}.`)
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
    /^partial \(exit 3\): stopped by SIGTERM; no request succeeded; the next run continues the listing; the shutdown deadline of 8 s passed before it was published; the next run publishes it/,
  )
  expect((await readFile(trial.published)).equals(before)).toBe(true)
  trial.api.hook = () => false
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect((await trial.runs()).map(({ status }) => status)).toEqual(['complete', 'partial', 'complete'])
})

test.concurrent('a signal after the end of the command changes no exit code', async (context) => {
  const trial = await openTrial(context)
  const late = `process.once('beforeExit', () => process.emit('SIGTERM'))`
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(late)}` }
  expect(await trial.run(['status'], env)).toMatchObject({ code: 2, signal: null })
  expect(await trial.run(['sync'], env)).toMatchObject({ code: 0, signal: null })
})
