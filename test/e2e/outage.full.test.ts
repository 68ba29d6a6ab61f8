/** An API that answers nothing for a while: the run waits for it, and loses nothing. An outage ends after a number of requests, not of seconds. */

import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { refusing, scriptedSurveys } from '../support/api/scripted-api.js'
import { night, openTrial, stderrShows } from '../support/command/trial.js'
import { closeServer, freePort } from '../support/servers/server.js'
import { FAST, outage, surveys } from './outage-shared.js'

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
  expect(cut.run.reason).toContain('gave no usable answer for')
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
