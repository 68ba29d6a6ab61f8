/** A run keeps to its budget. With any budget, enough runs read everything. */
import { expect, test } from 'vitest'
import {
  type Arrival,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  scriptedSurveys,
} from '../support/api/scripted-api.js'
import type { Env } from '../support/command/command.js'
import type { Synced } from '../support/command/sync.js'
import { openTrial, type Trial } from '../support/command/trial.js'

const minutesLater = (api: ScriptedApi, minutes: number): void => {
  api.now = new Date(api.now.getTime() + minutes * 60_000)
}

/** Two surveys on two pages. Each has two sources on two pages: five requests per survey, twelve in all. */
const startTwoSurveys = async (context: Parameters<typeof openTrial>[0]) => {
  const trial = await openTrial(
    context,
    [1, 2].map((id) => ({
      ...scriptedSurvey(id, { status: 'draft' }),
      progress: scriptedProgress(id),
      sourceProgress: { [id * 100 + 2]: scriptedProgress(id * 10) },
    })),
  )
  trial.api.pageSize = 1
  return trial
}

const PAGES = 2

/** The listing of changes that follows a resumed listing. */
const CHANGES_SINCE = 1

/** Two runs for the listing, and one for each request about a survey: five, and at the end its progress once more. */
const RUNS_MAX = 2 + 2 * 6

/** Runs until everything is done. Compares the requests and leftovers of each run with its report and published record. */
const runToTheEnd = async (requestsMax: number, { api, sync, rows }: Trial) => {
  const runs: { readonly ended: Synced; readonly arrivals: number }[] = []
  while (runs.at(-1)?.ended.code !== 0 && runs.length < RUNS_MAX) {
    api.arrivals.length = 0
    const ended = await sync(['--max-requests', String(requestsMax)])
    runs.push({ ended, arrivals: api.arrivals.length })
    expect(ended.run.requests).toBe(api.arrivals.length)
    const [published] =
      await rows(`SELECT status, exit_code, left_over, (SELECT count(*) FROM _sync.tasks) AS tasks
        FROM _sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1`)
    expect(published).toEqual({
      status: ended.code === 0 ? 'complete' : 'partial',
      exit_code: ended.code,
      left_over: ended.run.left_over,
      tasks: ended.run.left_over,
    })
    minutesLater(api, 1)
  }
  return runs
}

test.for([1, 2, 3, 5, 10])(
  'runs with a budget of %i requests keep it, and together read everything',
  async (requestsMax, context) => {
    const trial = await startTwoSurveys(context)
    const runs = await runToTheEnd(requestsMax, trial)
    for (const { arrivals } of runs) {
      // Only the pages that a listing needs to move on, and one request about a survey.
      if (arrivals > requestsMax) expect(arrivals).toBeLessThanOrEqual(PAGES + CHANGES_SINCE + 1)
    }
    expect(runs.map(({ ended }) => ended.code)).toEqual([...runs.slice(1).map(() => 3), 0])
    // One run sets the cursor: a full listing that fits into one run, or else the listing of changes that follows it.
    const listed = runs.find(({ ended }) => ended.run.cursor_after !== null)?.ended.run
    expect(listed?.cursor_before).toBeNull()
    expect(['2026-02-28T23:55:00Z', '2026-02-28T23:56:00Z']).toContain(listed?.cursor_after)

    expect(
      await trial.rows(`SELECT s.id, p.interviews_count AS whole, c.id AS source, q.interviews_count AS part
      FROM surveys s JOIN survey_progress p ON p.survey_id = s.id JOIN sample_sources c ON c.survey_id = s.id
      JOIN sample_source_progress q ON q.survey_id = s.id AND q.sample_source_id = c.id ORDER BY s.id, c.id`),
    ).toEqual([
      { id: 1, whole: 1, source: 101, part: 1 },
      { id: 1, whole: 1, source: 102, part: 10 },
      { id: 2, whole: 2, source: 201, part: 2 },
      { id: 2, whole: 2, source: 202, part: 20 },
    ])
    await trial.expectSound()
  },
)

test('--max-duration stops a run when the API is slow, and the run counts and publishes what is left over', async (context) => {
  const { api, sync, rows } = await openTrial(context, scriptedSurveys(12, { status: 'draft' }, 0))
  const timeLimited = (env: Env) => sync(['--max-duration', '1s'], env)
  const published = () =>
    rows(
      'SELECT (SELECT count(*) FROM survey_progress) AS refreshed, (SELECT count(*) FROM _sync.tasks) AS tasks',
    )
  const isAboutASurvey = ({ path }: Arrival) => path !== '/surveys'

  // The API answers no request about a survey. The run gives up its open requests, which count as no failure.
  api.hook = (arrival) => (isAboutASurvey(arrival) ? new Promise(() => undefined) : false)
  const held = await timeLimited({})
  const counts = { surveys_listed: 12, surveys_refreshed: 0, surveys_failed: 0, left_over: 12 }
  expect(held).toMatchObject({
    code: 3,
    run: { status: 'partial', reason: expect.stringContaining('--max-duration 1s'), ...counts },
  })
  expect(await published()).toEqual([{ refreshed: 0, tasks: 12 }])

  // The answers come after the time limit. The run finishes the surveys that it has started, eight at most.
  let timeLimit: Promise<void> | null = null
  api.hook = async (arrival) => {
    if (!isAboutASurvey(arrival)) return false
    timeLimit ??= new Promise((reached) => setTimeout(reached, 1_000))
    await timeLimit
    return false
  }
  api.arrivals.length = 0
  // At this cap a bundle may take half a minute. The run may exceed its duration by that much.
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

  expect(await sync()).toMatchObject({
    code: 0,
    run: { surveys_refreshed: leftOver, left_over: 0 },
  })
})
