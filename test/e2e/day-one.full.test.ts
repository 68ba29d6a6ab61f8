/** The first night asks for the days before it, after everything else, and shows what it got as reconstructed. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accountsOf, asObject, getBody, startWorld } from '../support/api/reference-api.js'
import {
  type Arrival,
  bodyOf,
  NO_ACCOUNT,
  refusing,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurvey,
  scriptedSurveys,
  sendJson,
} from '../support/api/scripted-api.js'
import { night, openTrial, type Trial } from '../support/command/trial.js'
import { columnsSql, openWorld, PROGRESS_COLUMNS, progressOf } from '../support/oracle/truth.js'

const RECONSTRUCT = { reconstruct: true }

const isOfPast = ({ query }: Pick<Arrival, 'query'>): boolean =>
  query.has('started_before') && !query.has('started_after')

test('what the API refuses of the past leaves the night complete, and the next night requests it once more', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(3, {}, 1), RECONSTRUCT)
  const isRefused = (arrival: Arrival) =>
    isOfPast(arrival) && arrival.path === '/surveys/2/fieldwork_progress'
  const first = await night(trial, 0, refusing(trial.api, 404, isRefused))
  expect(first).toMatchObject({ code: 0, run: { status: 'complete', failing: 0 } })
  expect(trial.api.arrivals.filter(isRefused)).toHaveLength(1)
  const stored =
    'SELECT survey_id, count(*) AS days FROM survey_progress_reconstructed GROUP BY ALL ORDER BY ALL'
  expect(await trial.rows(stored)).toEqual([1, 3].map((survey_id) => ({ survey_id, days: 10 })))
  expect(await night(trial, 1)).toMatchObject({ code: 0 })
  expect(trial.api.arrivals.filter(isOfPast).map(({ path }) => path)).toEqual(
    Array(9).fill('/surveys/2/fieldwork_progress'),
  )
})

test('surveys that have closed, opened after their first reading, or are switched off have no days before it', async (context) => {
  const trial = await openTrial(
    context,
    [scriptedSurvey(1, { status: 'pending' }), scriptedSurvey(2)],
    RECONSTRUCT,
  )
  const off = await trial.settings({ refresh: { reconstruct: false } })
  expect(await night(trial, 0, undefined, off)).toMatchObject({ code: 0 })
  const change = (id: number, status: string) => {
    const survey = trial.api.surveys[id - 1]?.survey
    Object.assign(survey ?? {}, { status, updated_at: '2026-03-01T12:00:00Z' })
  }
  change(1, 'fieldwork')
  change(2, 'complete')
  expect(await night(trial, 1)).toMatchObject({ code: 0 })
  expect(await trial.rows('FROM survey_progress_reconstructed')).toEqual([])
  change(2, 'fieldwork')
  expect(await night(trial, 30)).toMatchObject({ code: 0 })
  expect(await trial.rows('FROM survey_progress_reconstructed')).toEqual([])
})

const DAY_MS = 86_400_000

const DAYS = [1, 2, 3, 4, 5, 6, 7, 14, 21, 28]

const SURVEYS = 200

const reconstructedRequests = (trial: Trial) =>
  trial.rows(`SELECT r.run_number AS night, q.made FROM _sync.requests q JOIN _sync.runs r USING (run_id, account)
    WHERE q.reason = 'reconstructed' ORDER BY ALL`)

test('a survey in the field for a week has a pace of 7 days on its first night, of what the server says of each day', async (context) => {
  const trial = await openTrial(context, [], RECONSTRUCT)
  await using server = await startWorld({ seed: 7, surveys: SURVEYS })
  const args = await trial.settings({
    ...accountsOf(server),
    publish: ['duckdb', 'report', 'parquet'],
  })
  expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })

  const inField =
    await trial.rows(`SELECT p.*, s.created_at, s.updated_at FROM survey_pace p JOIN surveys s ON s.id = survey_id
    WHERE p.status = 'fieldwork' ORDER BY survey_id`)
  const now = Date.parse('2026-03-01T00:00:00Z')
  const due = inField.flatMap(({ survey_id, created_at }) =>
    DAYS.map((days) => new Date(now - days * DAY_MS).toISOString().replace('.000Z', 'Z'))
      .filter((at) => Date.parse(at) > Date.parse(String(created_at)))
      .map((as_of) => ({ survey_id, as_of })),
  )
  const stored = await trial.rows(
    `SELECT survey_id, as_of, ${columnsSql(PROGRESS_COLUMNS)} FROM survey_progress_reconstructed ORDER BY survey_id, as_of DESC`,
  )
  expect(stored.map(({ survey_id, as_of }) => ({ survey_id, as_of }))).toEqual(due)
  for (const { survey_id, as_of, ...row } of stored) {
    const body = await getBody(server, `/surveys/${survey_id}/fieldwork_progress?started_before=${as_of}`)
    expect(row, `${survey_id} as of ${as_of}`).toEqual(progressOf(asObject(body.fieldwork_progress)))
  }
  expect(await reconstructedRequests(trial)).toEqual([{ night: 1, made: due.length }])

  const old = inField.filter(({ updated_at }) => Date.parse(String(updated_at)) < now - 7 * DAY_MS)
  expect(old.length).toBeGreaterThan(0)
  for (const row of old) {
    expect(row).toMatchObject({ pace_days: 7, reconstructed_days: 7, recent_incidence_rate: null })
    const [open, gained] = [Number(row.sample_size) > Number(row.interviews_count), Number(row.gained)]
    expect(row.expected_on !== null, `forecast of ${row.survey_id}`).toBe(open && gained > 0)
  }
  const page = await readFile(join(trial.warehouse, 'report.html'), 'utf8')
  expect(page).toContain('in 7 days')
  expect(page).toContain('on the last day; reconstructed')
  expect(page).toContain('class="reconstructed"')
  expect(page).toContain('Reconstructed: some of the days were before the first reading')
  expect(await trial.runWarm(['verify', '--local', ...args], NO_ACCOUNT)).toMatchObject({ code: 0 })
  await trial.expectSound()

  await openWorld(server).advance('P1D')
  expect(await trial.sync(args, NO_ACCOUNT)).toMatchObject({ code: 0 })
  expect(await reconstructedRequests(trial)).toEqual([{ night: 1, made: due.length }])
  expect(
    await trial.rows(
      "SELECT DISTINCT reconstructed_days FROM survey_pace WHERE status = 'fieldwork' AND reconstructed_days > 5",
    ),
  ).toEqual([{ reconstructed_days: 6 }])
})

/** Complete interviews by the time of their start, of which some fail a quality check later. */
const showInterviews = (
  api: ScriptedApi,
  interviews: readonly { readonly start: number; readonly failedAt: number }[],
) => {
  api.hook = (arrival, response) => {
    if (!arrival.path.endsWith('/fieldwork_progress') || bodyOf(api, arrival) === null) return false
    const end = Date.parse(arrival.query.get('started_before') ?? api.now.toISOString())
    const started = interviews.filter(({ start }) => start <= Math.min(end, api.now.getTime()))
    const complete = started.filter(({ failedAt }) => failedAt > api.now.getTime()).length
    const progress = scriptedProgress(complete)
    const counts = asObject(progress.interview_count_by_status)
    const failed = { individuals: started.length - complete, percentage: 0 }
    sendJson(api, response, 200, {
      fieldwork_progress: {
        ...progress,
        interview_count_by_status: { ...counts, failed_quality_check: failed },
      },
    })
    return true
  }
}

test('a reconstructed day differs from the observed one by the interviews whose status has changed, and observed days replace it', async (context) => {
  const surveys = [scriptedSurvey(1)]
  const [watched, late] = [
    await openTrial(context, surveys, RECONSTRUCT),
    await openTrial(context, surveys, RECONSTRUCT),
  ]
  const first = Date.parse('2026-03-01T00:00:00Z')
  const interviews = Array.from({ length: 60 }, (_, place) => ({
    start: first + (place * DAY_MS) / 6 - 1,
    failedAt: place % 10 === 0 ? first + 9.5 * DAY_MS : Number.POSITIVE_INFINITY,
  }))
  for (const { api } of [watched, late]) showInterviews(api, interviews)
  const syncAt = async (trial: Trial, day: number) => {
    trial.api.now = new Date(first + day * DAY_MS)
    expect(await trial.sync()).toMatchObject({ code: 0 })
  }
  for (const day of [3, 7, 9, 10]) await syncAt(watched, day)
  await syncAt(late, 10)
  const counts = 'interviews_count AS complete, failed_quality_check_individuals AS failed'
  const observed = await watched.rows(
    `SELECT observed_at AS at, ${counts} FROM survey_progress_history ORDER BY 1 LIMIT 3`,
  )
  const reconstructed = await late.rows(
    `SELECT as_of AS at, ${counts} FROM survey_progress_reconstructed ORDER BY 1`,
  )
  expect(observed).toHaveLength(3)
  const changed = observed.map(({ at, complete, failed }) => {
    const moved = interviews.filter(
      ({ start, failedAt }) => start <= Date.parse(String(at)) && failedAt < Infinity,
    )
    return { at, complete: Number(complete) - moved.length, failed: Number(failed) + moved.length }
  })
  const observedAt = new Set(observed.map(({ at }) => at))
  expect(reconstructed.filter(({ at }) => observedAt.has(at))).toEqual(changed)
  const paces = (trial: Trial) => trial.rows('SELECT pace_days, gained, reconstructed_days FROM survey_pace')
  expect(await paces(watched)).toEqual([{ pace_days: 7, gained: 35, reconstructed_days: 0 }])
  expect(await paces(late)).toEqual([{ pace_days: 7, gained: 37, reconstructed_days: 7 }])
  await syncAt(late, 17)
  expect(await late.rows('SELECT pace_days, reconstructed_days FROM survey_pace')).toEqual([
    { pace_days: 7, reconstructed_days: 0 },
  ])
  await late.expectSound()
})

test('a budget that is too small displaces no reading, and later runs go on where it ended', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(3, {}, 1), RECONSTRUCT)
  const past = (): readonly string[] =>
    trial.api.arrivals.filter(isOfPast).map(({ path, query }) => `${path} ${query.get('started_before')}`)
  // A page of the listing, and three surveys with a list, their progress and that of a source.
  const first = await night(trial, 0, undefined, ['--max-requests', '10'])
  expect(first).toMatchObject({ code: 0, run: { status: 'complete', requests: 10, surveys_refreshed: 3 } })
  expect(past()).toEqual([])
  const planned = await trial.runWarm(['plan', '--max-requests', '12'])
  expect(planned.stdout).toMatch(/reconstructed +3 +27 .*27/)
  expect(planned.stdout).toContain('all but')

  // The surveys have not changed: a page of the listing, and their lists and progress.
  const second = await night(trial, 1, undefined, ['--max-requests', '20'])
  expect(second).toMatchObject({ code: 0, run: { status: 'complete', requests: 20 } })
  const asked = [...past()]
  expect(asked).toHaveLength(13)
  const third = await night(trial, 2)
  expect(third).toMatchObject({ code: 0, run: { requests_estimated: third.run.requests } })
  expect(past().filter((one) => asked.includes(one))).toEqual([])
  await expect(night(trial, 3)).resolves.toMatchObject({ code: 0 })
  expect(past()).toEqual([])
  await trial.expectSound()
})
