/** An API that answers nothing for a while: the run waits for it, and loses nothing. An outage ends after a number of requests, not of seconds. */
import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { type Arrival, refusing, scriptedSurveys } from '../support/api/scripted-api.js'
import { lastLine, night, openTrial, stderrShows, stopWith, type Trial } from '../support/command/trial.js'
import { closeServer, freePort } from '../support/servers/server.js'

const surveys = () => scriptedSurveys(20, {}, 1)
const FAST = { attempts: 2, backoff_base: '1ms', backoff_max: '2ms' }

/** All requests from the first one that matches on are refused, so many of them. */
const outage = (trial: Trial, requests: number, begins: (arrival: Arrival) => boolean, status = 503) => {
  let left = requests
  let hasBegun = false
  return refusing(trial.api, status, (arrival) => {
    hasBegun ||= begins(arrival)
    if (!hasBegun || left === 0) return false
    left -= 1
    return true
  })
}

const BEGINS: readonly [string, number, (arrival: Arrival) => boolean][] = [
  ['at the first page', 503, ({ number }) => number === 1],
  ['between the pages of the list', 502, ({ query }) => query.get('page') === '3'],
  ['after half of the surveys', 503, ({ path }) => path === '/surveys/10/sample_sources'],
]

test.for(BEGINS)(
  '%s: nothing is answered for 40 requests, and the night is complete',
  async ([, status, begins], context) => {
    const trial = await openTrial(context, surveys())
    trial.api.pageSize = 5
    const args = await trial.settings({ limits: FAST })
    const ended = await night(trial, 0, outage(trial, 40, begins, status), args)
    expect(ended).toMatchObject({ code: 0, run: { status: 'complete', surveys_failed: 0, left_over: 0 } })
    // One request for each page, four for each survey; the outage, and what was in flight when it began.
    const needed = 4 + 20 * 3
    expect(ended.run.requests).toBe(trial.api.arrivals.length)
    expect(trial.api.arrivals.length).toBeLessThanOrEqual(needed + 40 + 8)
    expect(await trial.rows('SELECT count(*) AS n FROM survey_progress')).toEqual([{ n: 20 }])
    await trial.expectSound()
    expect(ended.stderr).toContain('the API answers again')
  },
)

test('connections are refused until the service comes back', async (context) => {
  const trial = await openTrial(context, surveys())
  const port = await freePort()
  const front = createServer((request, response) => {
    fetch(new URL(request.url ?? '', trial.api.baseUrl)).then(
      async (answer) => {
        response.writeHead(answer.status, { 'content-type': 'application/json' })
        response.end(await answer.text())
      },
      () => response.destroy(),
    )
  })
  const running = trial.start(['sync', ...(await trial.settings({ limits: FAST }))], {
    FIELDWORK_SYNC_BASE_URL: `http://127.0.0.1:${port}/api/v1`,
  })
  await stderrShows(running, /the API answers nothing: the run waits for it/)
  front.listen(port, '127.0.0.1')
  context.onTestFinished(() => closeServer(front))
  expect(await running.ended).toMatchObject({ code: 0 })
  await trial.expectSound()
})

test('after limits.patience the run ends with 4, and what was read is published', async (context) => {
  const trial = await openTrial(context, surveys())
  const args = await trial.settings({ limits: { ...FAST, patience: '300ms' } })
  const begins = ({ path }: Arrival) => path === '/surveys/10/sample_sources'
  const ended = await night(trial, 0, outage(trial, 1e9, begins), args)
  expect(ended).toMatchObject({ code: 4, run: { status: 'failed', surveys_failed: 0, failing: 0 } })
  expect(ended.run.reason).toMatch(
    /^the API of account 'default' answered nothing for \d+ ms, the last time: the API answered 503 .*\. Start the run again when the service answers; limits.patience \(300 ms\) is how long a run waits$/,
  )
  expect(ended.run.surveys_refreshed).toBeGreaterThan(0)
  expect(await trial.rows('SELECT count(*) > 0 AS read FROM survey_progress')).toEqual([{ read: true }])
  expect(await night(trial, 1, undefined, args)).toMatchObject({ code: 0, run: { left_over: 0 } })
})

test('without patience, or past --max-duration, the run ends with 4 at once', async (context) => {
  const trial = await openTrial(context, surveys())
  const none = await trial.settings({ limits: { ...FAST, patience: '0s' } })
  const ended = await night(
    trial,
    0,
    outage(trial, 1e9, () => true),
    none,
  )
  expect(ended).toMatchObject({ code: 4 })
  expect(ended.run.reason).toContain('gave up on GET /api/v1/surveys?page=1 after 2 attempts')
  expect(trial.api.arrivals).toHaveLength(2)
  const short = await trial.settings({ limits: FAST })
  const cut = await night(
    trial,
    1,
    outage(trial, 1e9, () => true),
    [...short, '--max-duration', '1s'],
  )
  expect(cut).toMatchObject({ code: 4 })
  expect(cut.run.reason).toContain('answered nothing for')
})

test('a signal ends the wait at once', async (context) => {
  const trial = await openTrial(context, surveys())
  const slowly = { ...FAST, backoff_base: '1m', backoff_max: '1h', attempts: 1 }
  trial.api.hook = refusing(trial.api, 503, undefined, { 'retry-after': '600' })
  const running = trial.start(['sync', ...(await trial.settings({ limits: slowly }))])
  await trial.api.arrived(({ number }) => number === 1)
  const ended = await stopWith(running, 'SIGTERM')
  expect(ended).toMatchObject({ code: 3 })
  expect(lastLine(ended)).toMatch(/^partial \(exit 3\): stopped by SIGTERM/)
})

test('retries count against --max-requests', async (context) => {
  const trial = await openTrial(context, surveys())
  const args = await trial.settings({ limits: FAST })
  const ended = await night(
    trial,
    0,
    outage(trial, 1e9, ({ number }) => number > 10),
    [...args, '--max-requests', '25'],
  )
  expect(ended).toMatchObject({ code: 3, run: { requests: 25, surveys_failed: 0 } })
  expect(ended.run.reason).toContain('stopped by --max-requests 25')
  expect(trial.api.arrivals).toHaveLength(25)
})

test('one survey that always fails while the list is answered fails after its attempts', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(1, {}, 1))
  const args = await trial.settings({ limits: FAST })
  const ended = await night(
    trial,
    0,
    refusing(trial.api, 500, ({ path }) => path !== '/surveys'),
    args,
  )
  expect(ended).toMatchObject({ code: 3, run: { surveys_failed: 1 } })
  expect(ended.stderr).not.toContain('the API answers nothing')
})
