/** An API that answers nothing for a while: the run waits for it, and loses nothing. An outage ends after a number of requests, not of seconds. */
import { expect, test } from 'vitest'
import { type Arrival, refusing } from '../support/api/scripted-api.js'
import { lastLine, night, openTrial, stopWith } from '../support/command/trial.js'
import { some } from '../support/suite/cases.js'
import { FAST, outage, surveys } from './outage-shared.js'

const BEGINS: readonly [string, number, (arrival: Arrival) => boolean][] = [
  ['after half of the surveys', 503, ({ path }) => path === '/surveys/10/sample_sources'],
  ['at the first page', 503, ({ number }) => number === 1],
  ['between the pages of the list', 502, ({ query }) => query.get('page') === '3'],
]

test.for(some(BEGINS, 1))(
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

test('after limits.patience the run ends with 4, and what was read is published', async (context) => {
  const trial = await openTrial(context, surveys())
  const args = await trial.settings({ limits: { ...FAST, patience: '300ms' } })
  const begins = ({ path }: Arrival) => path === '/surveys/10/sample_sources'
  const ended = await night(trial, 0, outage(trial, 1e9, begins), args)
  expect(ended).toMatchObject({ code: 4, run: { status: 'failed', surveys_failed: 0, failing: 0 } })
  expect(ended.run.reason).toMatch(
    /^the API of account 'default' gave no usable answer for \d+ ms, the last time: the API answered 503 .*\. Start the run again when the service answers; limits.patience \(300 ms\) is how long a run waits$/,
  )
  expect(ended.run.surveys_refreshed).toBeGreaterThan(0)
  expect(await trial.rows('SELECT count(*) > 0 AS read FROM survey_progress')).toEqual([{ read: true }])
  expect(await night(trial, 1, undefined, args)).toMatchObject({ code: 0, run: { left_over: 0 } })
})

test('a signal ends the wait at once', async (context) => {
  const trial = await openTrial(context, surveys())
  const slowly = { ...FAST, backoff_base: '1m', backoff_max: '1h', attempts: 1 }
  trial.api.hook = refusing(trial.api, 503, undefined, { 'retry-after': '600' })
  const running = trial.start(['sync', ...(await trial.settings({ limits: slowly }))])
  await trial.api.arrived(({ number }) => number === 1)
  const ended = await stopWith(running, 'SIGTERM')
  expect(ended).toMatchObject({ code: 3 })
  expect(lastLine(ended)).toBe(
    'partial (exit 3): stopped by SIGTERM; no request succeeded; the next run continues the listing.',
  )
})
