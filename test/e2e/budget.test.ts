/** A run keeps to its budget. With any budget, enough runs read everything. */

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { type Arrival, scriptedSurvey, scriptedSurveys } from '../support/api/scripted-api.js'
import type { Env } from '../support/command/command.js'
import { openTrial } from '../support/command/trial.js'

test('--max-requests 1 is exceeded by as much as the how-to page says', async (context) => {
  const { api, sync } = await openTrial(context, [scriptedSurvey(1, {}, 4), scriptedSurvey(2, {}, 4)])
  const { code, run } = await sync(['--max-requests', '1'])
  expect(code).toBe(3)
  expect(run).toMatchObject({ surveys_refreshed: 0, left_over: 2 })
  const page = await readFile(new URL('../../docs/how-to/limit-a-run.md', import.meta.url), 'utf8')
  const [, documented] = /`--max-requests 1`\s+comes to (\d+) requests/.exec(page) ?? []
  expect([run.requests, api.arrivals.length]).toEqual([Number(documented), Number(documented)])
})

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
