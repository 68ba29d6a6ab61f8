/** A run keeps to its budget, whatever it is; and whatever it is, enough runs arrive at everything. */

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import {
  type Arrival,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  startScriptedApi,
} from '../support/api/scripted-api.js'
import type { Env } from '../support/command/command.js'
import { publishedFile, type Synced, syncWarm } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { SLOW } from '../support/suite/slow.js'
import { openReader, query } from '../support/warehouse/duckdb.js'

const pagesAsked = (api: ScriptedApi): number[] =>
  api.arrivals.filter(({ path }) => path === '/surveys').map(({ query: asked }) => Number(asked.get('page')))

const minutesLater = (api: ScriptedApi, minutes: number): void => {
  api.now = new Date(api.now.getTime() + minutes * 60_000)
}

/** Two surveys on two pages, two sources each on two pages as well: five requests a survey, twelve in all. */
const startTwoSurveys = async (): Promise<ScriptedApi> => {
  const api = await startScriptedApi(
    [1, 2].map((id) => ({
      ...scriptedSurvey(id, { status: 'draft' }),
      progress: scriptedProgress(id),
      sourceProgress: { [id * 100 + 2]: scriptedProgress(id * 10) },
    })),
  )
  api.pageSize = 1
  return api
}
const REQUESTS_A_SURVEY = 5
const PAGES = 2
/** After a listing that was resumed, what changed since it began. */
const CHANGES_SINCE = 1
/** One for the listing, two a survey: one to find out that it needs more than is left, one to read it. */
const RUNS_MAX = 5

/** Runs until everything is done, and looks at each run: what it sent, what it left, what it published of that. */
const runToTheEnd = async (requestsMax: number) => {
  const warehouse = await temporaryDirectory()
  const api = await startTwoSurveys()
  const runs: { readonly ended: Synced; readonly arrivals: number }[] = []
  while (runs.at(-1)?.ended.code !== 0 && runs.length < RUNS_MAX) {
    api.arrivals.length = 0
    const ended = await syncWarm({ warehouse, env: api.env, args: ['--max-requests', String(requestsMax)] })
    runs.push({ ended, arrivals: api.arrivals.length })
    expect(ended.run.requests).toBe(api.arrivals.length)
    const [published] = await query(
      publishedFile(warehouse),
      `SELECT status, exit_code, left_over, (SELECT count(*) FROM _sync.tasks) AS tasks
        FROM _sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1`,
    )
    expect(published).toEqual({
      status: ended.code === 0 ? 'complete' : 'partial',
      exit_code: ended.code,
      left_over: ended.run.left_over,
      tasks: ended.run.left_over,
    })
    minutesLater(api, 1)
  }
  return { warehouse, runs }
}

test.runIf(SLOW).each([1, 2, 3, 5, 10])(
  'a budget of %i requests is kept, and arrives at everything',
  async (requestsMax) => {
    const { warehouse, runs } = await runToTheEnd(requestsMax)
    for (const { ended, arrivals } of runs) {
      if (arrivals <= requestsMax) continue
      // One bundle may run over, and that is said.
      expect(ended.run.surveys_refreshed).toBe(1)
      expect(arrivals).toBeLessThanOrEqual(PAGES + CHANGES_SINCE + REQUESTS_A_SURVEY)
      expect(ended.stderr).toContain('more than the budget leaves')
    }
    expect(runs.map(({ ended }) => ended.code)).toEqual([...runs.slice(1).map(() => 3), 0])
    // One run sets the cursor: the first of a listing that took one, else of what changed since it began.
    const whole = runs.find(({ ended }) => ended.run.cursor_after !== null)?.ended.run
    expect(whole?.cursor_before).toBeNull()
    expect(['2026-02-28T23:55:00Z', '2026-02-28T23:56:00Z']).toContain(whole?.cursor_after)

    using reader = await openReader(publishedFile(warehouse))
    expect(
      await reader.query(`SELECT s.id, p.interviews_count AS whole, c.id AS source, q.interviews_count AS part
      FROM surveys s JOIN survey_progress p ON p.survey_id = s.id JOIN sample_sources c ON c.survey_id = s.id
      JOIN sample_source_progress q ON q.survey_id = s.id AND q.sample_source_id = c.id ORDER BY s.id, c.id`),
    ).toEqual([
      { id: 1, whole: 1, source: 101, part: 1 },
      { id: 1, whole: 1, source: 102, part: 10 },
      { id: 2, whole: 2, source: 201, part: 2 },
      { id: 2, whole: 2, source: 202, part: 20 },
    ])
    expect(await unsoundness(publishedFile(warehouse))).toEqual([])
  },
)

test('--max-requests 1 is exceeded by the first survey, by as much as README says', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi([scriptedSurvey(1, {}, 4), scriptedSurvey(2, {}, 4)])
  const { code, run } = await syncWarm({ warehouse, env: api.env, args: ['--max-requests', '1'] })
  expect(code).toBe(3)
  expect(run).toMatchObject({ surveys_refreshed: 1, left_over: 1 })
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, told] = /With four sources,\s+`--max-requests 1` comes to (\d+) requests/.exec(readme) ?? []
  expect([run.requests, api.arrivals.length]).toEqual([Number(told), Number(told)])
})

test('a listing that takes several runs ends, although a survey is created before each', async () => {
  const warehouse = await temporaryDirectory()
  const drafts = (ids: readonly number[]) => ids.map((id) => scriptedSurvey(id, { status: 'draft' }, 0))
  const api = await startScriptedApi(drafts([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]))
  api.pageSize = 2
  const options = { warehouse, env: api.env, args: ['--max-requests', '6'] }
  const pages: number[][] = []
  const cursors: (string | null)[] = []
  for (const next of [13, 14, 15]) {
    api.arrivals.length = 0
    const { code, run } = await syncWarm(options)
    expect(code).toBe(3)
    expect(run.requests).toBeLessThanOrEqual(6)
    pages.push(pagesAsked(api))
    cursors.push(run.cursor_after)
    // Survey 12 was read in the first run; it changes behind the listing.
    if (next === 13)
      Object.assign(api.surveys[11]?.survey ?? {}, { title: 'moved', updated_at: api.now.toISOString() })
    minutesLater(api, 60)
    api.surveys.push(...drafts([next]).map((draft) => created(draft, api.now)))
  }
  expect(pages).toEqual([
    [1, 2, 3],
    [3, 4, 5],
    // And what has changed since the first run, as far as the budget goes.
    [5, 6, 7, 1],
  ])
  expect(cursors).toEqual([null, null, '2026-02-28T23:55:00Z'])

  // What came and what changed meanwhile lies behind the cursor.
  const last = await syncWarm({ warehouse, env: api.env })
  expect(last).toMatchObject({ code: 0, run: { listing: 'incremental', left_over: 0 } })
  expect(await query(publishedFile(warehouse), 'SELECT title FROM surveys ORDER BY id')).toEqual(
    Array.from({ length: 15 }, (_, index) => ({ title: index === 11 ? 'moved' : `Survey ${index + 1}` })),
  )
  expect(await unsoundness(publishedFile(warehouse))).toEqual([])
})

const created = (draft: ReturnType<typeof scriptedSurvey>, at: Date) => {
  Object.assign(draft.survey, { created_at: at.toISOString(), updated_at: at.toISOString() })
  return draft
}

test('--max-duration stops a run that the API holds up; the rest is left over, counted and published', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi(
    Array.from({ length: 12 }, (_, index) => scriptedSurvey(index + 1, { status: 'draft' }, 0)),
  )
  const timeLimited = (env: Env) =>
    syncWarm({ warehouse, env: { ...api.env, ...env }, args: ['--max-duration', '1s'] })
  const published = () =>
    query(
      publishedFile(warehouse),
      'SELECT (SELECT count(*) FROM survey_progress) AS refreshed, (SELECT count(*) FROM _sync.tasks) AS tasks',
    )
  const isAboutASurvey = ({ path }: Arrival) => path !== '/surveys'

  // Not one answer about a survey comes: what is under way is given up, and is no failure.
  api.hook = (arrival) => (isAboutASurvey(arrival) ? new Promise(() => undefined) : false)
  const held = await timeLimited({})
  expect(held).toMatchObject({
    code: 3,
    run: { status: 'partial', reason: expect.stringContaining('--max-duration 1s') },
  })
  expect(held.run).toMatchObject({
    surveys_listed: 12,
    surveys_refreshed: 0,
    surveys_failed: 0,
    left_over: 12,
  })
  expect(await published()).toEqual([{ refreshed: 0, tasks: 12 }])

  // The answers come when the time is over: what is under way, eight surveys at most, comes to its end.
  let timeIsOver: Promise<void> | null = null
  api.hook = async (arrival) => {
    if (!isAboutASurvey(arrival)) return false
    timeIsOver ??= new Promise((over) => setTimeout(over, 1_000))
    await timeIsOver
    return false
  }
  api.arrivals.length = 0
  // At this cap a bundle may take half a minute: so long it may run over.
  const stopped = await timeLimited({ FIELDWORK_SYNC_RATE_LIMIT: '1000/30s' })
  expect(stopped).toMatchObject({
    code: 3,
    run: { status: 'partial', surveys_failed: 0, reason: expect.stringContaining('--max-duration 1s') },
  })
  const { surveys_refreshed: refreshed, left_over: leftOver } = stopped.run
  expect(refreshed).toBeGreaterThan(0)
  expect(refreshed).toBeLessThanOrEqual(8)
  expect(refreshed + leftOver).toBe(12)
  expect(api.arrivals.filter(isAboutASurvey)).toHaveLength(2 * refreshed)
  expect(await published()).toEqual([{ refreshed, tasks: leftOver }])

  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
    code: 0,
    run: { surveys_refreshed: leftOver, left_over: 0 },
  })
})
