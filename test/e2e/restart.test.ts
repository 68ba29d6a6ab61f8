/** A sync that is killed at any point and restarted at once loses no row and keeps the cap across processes. */

import { expect, test } from 'vitest'
import { startWorld } from '../support/api/reference-api.js'
import { scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { answered, openTrial, stderrShows } from '../support/command/trial.js'
import { envOf, paceOf } from '../support/oracle/rate.js'
import { SLOW, slow } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

// Only `npm run test:slow` runs this; the simulation kills at every step.

slow.concurrent(
  'a sync that is killed repeatedly during the refresh ends with the data of the API',
  async (context) => {
    // The surveys are complete and settled, so a survey that was read is not due in the next run.
    const surveys = Array.from({ length: 24 }, (_, index) => {
      const survey = scriptedSurvey(index + 1, { status: 'complete' }, (index % 2) + 1)
      survey.progress = scriptedProgress(index + 5)
      for (const { id } of survey.sources) survey.sourceProgress[id] = scriptedProgress(id % 97)
      return survey
    })
    const trial = await openTrial(context, surveys)
    let killed = 0
    for (let runs = 1; ; runs += 1) {
      expect(runs).toBeLessThanOrEqual(8)
      const running = trial.start(['sync'])
      const from = trial.api.arrivals.length
      // Each run is killed at its 40th request, if it sends that many.
      trial.api
        .arrived(({ number }) => number === from + 40)
        .then(
          () => running.child.kill('SIGKILL'),
          () => undefined,
        )
      const ended = await running.ended
      if (ended.code === 0) break
      expect(ended.signal).toBe('SIGKILL')
      killed += 1
    }
    expect(killed).toBeGreaterThanOrEqual(2)
    expect(await trial.runs()).toEqual([
      ...Array.from({ length: killed }, () => ({
        status: 'killed',
        exit_code: null,
        reason: expect.stringContaining('killed'),
      })),
      { status: 'complete', exit_code: 0, reason: null },
    ])
    const tables = [
      `SELECT id, title, status FROM surveys ORDER BY id`,
      `SELECT survey_id, id, name FROM sample_sources ORDER BY id`,
      `SELECT survey_id, complete_individuals AS complete FROM survey_progress ORDER BY survey_id`,
      `SELECT sample_source_id AS id, complete_individuals AS complete FROM sample_source_progress ORDER BY id`,
    ]
    expect(await Promise.all(tables.map((sql) => query(trial.published, sql)))).toEqual([
      surveys.map(({ survey: { id, title, status } }) => ({ id, title, status })),
      surveys.flatMap(({ survey, sources }) =>
        sources.map(({ id, name }) => ({ survey_id: survey.id, id, name })),
      ),
      surveys.map(({ survey: { id }, progress }) => ({ survey_id: id, complete: progress.interviews_count })),
      surveys.flatMap(({ sourceProgress }) =>
        Object.entries(sourceProgress).map(([id, { interviews_count }]) => ({
          id: Number(id),
          complete: interviews_count,
        })),
      ),
    ])
    expect(await query(trial.published, 'SELECT count(*) AS n FROM _sync.tasks')).toEqual([{ n: 0 }])
  },
)

slow.concurrent(
  'a sync that is killed repeatedly during the listing goes on behind the committed pages, and lists all',
  async (context) => {
    const surveys = Array.from({ length: 120 }, (_, index) => scriptedSurvey(index + 1))
    const trial = await openTrial(context, surveys)
    trial.api.pageSize = 2
    const firstPages: number[] = []
    for (let runs = 1; ; runs += 1) {
      expect(runs).toBeLessThanOrEqual(20)
      const from = trial.api.arrivals.length
      const running = trial.start(['sync'])
      // Each run is killed at its 20th request, if it is still listing then.
      trial.api
        .arrived(({ number, path }) => number === from + 20 && path === '/surveys')
        .then(
          () => running.child.kill('SIGKILL'),
          () => undefined,
        )
      const ended = await running.ended
      firstPages.push(Number(trial.api.arrivals[from]?.query.get('page') ?? 1))
      if (ended.code === 0) break
      expect(ended.signal).toBe('SIGKILL')
    }
    expect(firstPages.length).toBeGreaterThanOrEqual(4)
    // A run asks again for the last committed page, and for those that were read and not committed.
    for (const [place, page] of firstPages.entries())
      if (place > 0) expect(page).toBeGreaterThan(firstPages[place - 1] ?? 0)
    expect(await query(trial.published, 'SELECT id FROM surveys ORDER BY id')).toEqual(
      surveys.map(({ survey: { id } }) => ({ id })),
    )
    expect(await query(trial.published, 'SELECT count(*) AS n FROM surveys_history')).toEqual([{ n: 120 }])
  },
)

const CAP = 60
const WINDOW_MS = 6_000

test.concurrent.for(SLOW ? (['sliding', 'fixed'] as const) : (['sliding'] as const))(
  'a sync that is killed in a burst and restarted at once keeps the cap of a %s window',
  { timeout: 120_000 },
  async (rateWindow, context) => {
    const trial = await openTrial(context)
    await using server = await startWorld({
      surveys: 200,
      rateLimit: { requests: CAP, perMs: WINDOW_MS },
      rateWindow,
    })
    const env = { ...envOf(server), FIELDWORK_SYNC_RATE_LIMIT: `${CAP}/${WINDOW_MS}ms` }
    // 40 requests fit into the first burst. The second run must wait for slots that the first one used, and so on.
    for (let run = 1; run <= 2; run += 1) {
      const running = trial.start(['sync', '--log-level', 'debug'], env)
      await stderrShows(running, answered(40))
      running.child.kill('SIGKILL')
      expect(await running.ended).toMatchObject({ signal: 'SIGKILL' })
    }
    const last = await trial.run(['sync', '--json', '--max-requests', '60'], env)
    expect(last.code).toBe(3)
    const [report] = JSON.parse(last.stdout).accounts
    expect(report.refusals).toBe(0)
    const pace = await paceOf(server)
    // The last run stops before the first survey that does not fit into its budget.
    expect(pace.requests).toBeGreaterThanOrEqual(2 * 40 + report.requests)
    expect(pace.requests).toBeGreaterThan(1.5 * CAP)
    expect(pace.refused).toBe(0)
    expect(pace.mostInAny(WINDOW_MS)).toBeLessThanOrEqual(CAP)
  },
)
