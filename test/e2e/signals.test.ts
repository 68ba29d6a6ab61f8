/**
 * SIGTERM and SIGINT end a sync wherever it is: in a request, in a wait, in a publish. What it has read whole by then
 * is committed and published, and the next run completes. The waits are all far longer than the guard: a run that
 * ended within it did not wait.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, test } from 'vitest'
import { type ScriptedApi, scriptedSurvey, sendJson } from '../support/api/scripted-api.js'
import {
  answered,
  lastLine,
  openTrial,
  otherBuild,
  type Sight,
  said,
  stopWith,
  type Trial,
} from '../support/command/trial.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { SLOW } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

/** Design §4: a signal stops a run within ten seconds. */
const GUARD_MS = 10_000

const surveys = () => [1, 2, 3].map((id) => scriptedSurvey(id, {}, 1))

const count = async (trial: Trial, table: string): Promise<unknown> =>
  (await query(trial.published, `SELECT count(*) AS n FROM ${table}`))[0]?.n

const progressOf = (id: number) => `/surveys/${id}/fieldwork_progress`

interface Interruption {
  readonly when: string
  readonly signal: 'SIGTERM' | 'SIGINT'
  readonly script?: (api: ScriptedApi) => void
  readonly rate?: string
  readonly limits?: object
  /** Resolves when the run is where it is to be interrupted. */
  readonly there: Sight
  readonly listed: number
  readonly refreshed: number
  /** Left to `npm run test:slow`; test/unit/http/client-stopping ends each wait, and the simulation stops at any step. */
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
    there: answered(1),
    listed: 1,
    refreshed: 0,
  },
  {
    when: 'in a request that hangs while surveys are refreshed',
    signal: 'SIGINT',
    script: (api) => {
      api.hook = ({ path }) => path === progressOf(2)
    },
    // The listing; sources of three; progress of two, and of a source of each.
    there: answered(8),
    listed: 3,
    refreshed: 2,
  },
  {
    when: 'while it waits for a slot of the rate window',
    signal: 'SIGTERM',
    rate: '2/60s',
    there: answered(2),
    listed: 3,
    refreshed: 0,
  },
  {
    when: 'while a 429 pauses all traffic',
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
    there: /"pauseMs":600000/,
    listed: 3,
    refreshed: 0,
  },
  {
    when: 'while it waits to try again',
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
    there: /"waitMs":60000.*will be sent again/,
    listed: 0,
    refreshed: 0,
  },
]

test.concurrent.for(INTERRUPTIONS.filter(({ slow }) => SLOW || slow !== true))(
  '$signal $when',
  async (interruption, context) => {
    const { signal, script, rate = '1000/1s', there, listed, refreshed } = interruption
    const trial = await openTrial(context, surveys())
    script?.(trial.api)
    const running = trial.start(['sync', '--log-level', 'debug'], { FIELDWORK_SYNC_RATE_LIMIT: rate })
    await said(running, there)
    const { tookMs, ...ended } = await stopWith(running, signal)
    expect(ended).toMatchObject({ code: 3, signal: null })
    expect(tookMs).toBeLessThan(GUARD_MS)
    expect(lastLine(ended)).toMatch(new RegExp(`^partial \\(exit 3\\): stopped by ${signal}`))
    expect(await trial.runs()).toEqual([
      { status: 'partial', exit_code: 3, reason: expect.stringMatching(`^stopped by ${signal}`) },
    ])
    expect(await count(trial, 'surveys')).toBe(listed)
    // After a pause began, what was in flight may or may not have been answered.
    expect(await count(trial, 'survey_progress')).toBeGreaterThanOrEqual(refreshed)
    trial.api.hook = () => false
    const next = await trial.runWarm(['sync'])
    expect(next.code).toBe(0)
    expect([await count(trial, 'surveys'), await count(trial, 'survey_progress')]).toEqual([3, 3])
    expect((await trial.runs()).map(({ status }) => status)).toEqual(['partial', 'complete'])
  },
)

// For `npm run test:slow`: the publish below is stopped in the middle for certain, test/unit/publish/duckdb at each of its steps.
test.runIf(SLOW).concurrent.for([0, 5, 20, 60] as const)(
  'SIGTERM %s ms into a publish: all of it is published, or nothing and the run says so',
  async (laterMs, context) => {
    const trial = await openTrial(context, surveys())
    const running = trial.start(['sync', '--log-level', 'debug'])
    await said(running, /"msg":"publishing"/)
    await Promise.race([new Promise((resolve) => setTimeout(resolve, laterMs)), running.ended])
    const { tookMs, ...ended } = await stopWith(running, 'SIGTERM')
    expect(ended.signal).toBeNull()
    expect(tookMs).toBeLessThan(GUARD_MS)
    expect([0, 3]).toContain(ended.code)
    expect(existsSync(trial.published)).toBe(ended.code === 0)
    expect(await trial.runs('work.duckdb')).toEqual([
      ended.code === 0
        ? { status: 'complete', exit_code: 0, reason: null }
        : { status: 'partial', exit_code: 3, reason: NOT_PUBLISHED },
    ])
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    expect(await unsoundness(trial.published)).toEqual([])
    expect([await count(trial, 'surveys'), await count(trial, 'survey_progress')]).toEqual([3, 3])
  },
)

const NOT_PUBLISHED = 'stopped by SIGTERM before it was published; the next run publishes'

/** The proof that a copy can be read begins with this view: one without an end makes every publish take for ever. */
const setOverview = async (trial: Trial, create: string): Promise<string> => {
  const database = await DuckDBInstance.create(join(trial.warehouse, 'work.duckdb'))
  const connection = await database.connect()
  const before = await connection.runAndReadAll(
    "SELECT sql FROM duckdb_views() WHERE view_name = 'survey_overview'",
  )
  await connection.run('DROP VIEW survey_overview')
  await connection.run(create)
  connection.closeSync()
  database.closeSync()
  return String(before.getRows()[0]?.[0])
}

const ENDLESS =
  'CREATE VIEW survey_overview AS SELECT count(*) AS id FROM range(1_000_000_000_000) t(i) WHERE hash(i) = 7'

test.concurrent('SIGTERM in a publish that takes for ever: exit 3, readers keep what they have, and the next run publishes', async (context) => {
  const trial = await openTrial(context, surveys())
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  const before = await readFile(trial.published)
  const overview = await setOverview(trial, ENDLESS)
  const running = trial.start(['sync', '--log-level', 'debug'])
  await said(running, /"msg":"publishing"/)
  const { tookMs, ...ended } = await stopWith(running, 'SIGTERM')
  expect(ended).toMatchObject({ code: 3, signal: null })
  expect(tookMs).toBeLessThan(GUARD_MS)
  expect(lastLine(ended)).toBe(`partial (exit 3): ${NOT_PUBLISHED}; nothing is queued.`)
  expect((await readFile(trial.published)).equals(before)).toBe(true)
  expect((await readdir(trial.warehouse)).filter((name) => name.startsWith('.'))).toEqual([])
  await setOverview(trial, overview)
  expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
  expect(await trial.runs()).toMatchObject([
    { status: 'complete' },
    { status: 'partial', exit_code: 3, reason: NOT_PUBLISHED },
    { status: 'complete' },
  ])
  expect(await unsoundness(trial.published)).toEqual([])
})

test.skipIf(!SLOW)(
  'a run that SIGTERM stopped gives its publish up in time, and says so',
  async (context) => {
    const trial = await openTrial(context, surveys())
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    const before = await readFile(trial.published)
    const overview = await setOverview(trial, ENDLESS)
    trial.api.hook = ({ path }) => path === '/surveys'
    const asked = trial.api.arrived(({ path }) => path === '/surveys')
    const running = trial.start(['sync'])
    await asked
    const { tookMs, ...ended } = await stopWith(running, 'SIGTERM')
    expect(ended).toMatchObject({ code: 3, signal: null })
    expect(tookMs).toBeLessThan(GUARD_MS)
    expect(lastLine(ended)).toMatch(
      /^partial \(exit 3\): stopped by SIGTERM; the 8 s after a signal were over before it was published; the next run publishes/,
    )
    expect((await readFile(trial.published)).equals(before)).toBe(true)
    trial.api.hook = () => false
    await setOverview(trial, overview)
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    expect((await trial.runs()).map(({ status }) => status)).toEqual(['complete', 'partial', 'complete'])
  },
)

const SECOND_SIGNALS = [
  { signal: 'SIGTERM', code: 143 },
  { signal: 'SIGINT', code: 130 },
] as const

test.concurrent.for(SLOW ? SECOND_SIGNALS : SECOND_SIGNALS.slice(0, 1))(
  'a second $signal ends it at once',
  async ({ signal, code }, context) => {
    const trial = await openTrial(context, surveys())
    const stuck = await otherBuild(
      trial,
      'publish/duckdb.js',
      `export const createDuckdbPublisher = () => ({
      format: 'duckdb',
      publish: () => new Promise(() => {
        setInterval(() => undefined, 1000)
        process.stderr.write('publishing for ever\\n')
      }),
    })\n`,
    )
    trial.api.hook = ({ path }) => path === progressOf(2)
    const running = trial.start(['sync', '--log-level', 'debug'], {}, stuck)
    await said(running, answered(8))
    running.child.kill('SIGTERM')
    await said(running, /publishing for ever/)
    const { tookMs, ...ended } = await stopWith(running, signal)
    expect(ended).toMatchObject({ code, signal: null, stdout: '' })
    expect(tookMs).toBeLessThan(GUARD_MS)
    // What is left behind is the same for both.
    if (signal === 'SIGINT') return
    trial.api.hook = () => false
    expect(await trial.runWarm(['sync'])).toMatchObject({ code: 0 })
    expect(await count(trial, 'survey_progress')).toBe(3)
  },
)
