/** `sync --surveys` reads some surveys at once, and no later run can tell. */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  NO_ACCOUNT,
  refusing,
  scriptedProgress,
  scriptedSurvey,
  sendJson,
  startScriptedApi,
} from '../support/api/scripted-api.js'
import { night, openSynced, openTrial } from '../support/command/trial.js'
import { openBucketTrial } from '../support/storage/bucket-trial.js'
import { openNight, requestsOf } from './sync-surveys-shared.js'

test('the next night is as without it, but for what the survey itself shows', async (context) => {
  const [trial, twin] = [await openNight(context), await openNight(context)]
  expect(await night(trial, 2.5, undefined, ['--surveys', '1'])).toMatchObject({ code: 0 })
  const nights = []
  for (const one of [trial, twin]) nights.push({ ...(await night(one, 3)), requests: requestsOf(one) })
  const [after, without] = nights
  const ofOthers = (requests: readonly string[] = []) =>
    requests.filter((path) => !path.startsWith('/surveys/1/'))
  expect(ofOthers(after?.requests)).toEqual(ofOthers(without?.requests))
  expect(after).toMatchObject({ code: 0, run: { cursor_before: without?.run.cursor_before } })
})

test('a pod reads a survey of a bucket under its lease, and publishes the next version', async (context) => {
  const trial = await openBucketTrial(context, [scriptedSurvey(1, {}, 1), scriptedSurvey(2, {}, 1)])
  expect(await trial.sync([], await trial.pod())).toMatchObject({ code: 0 })
  for (const one of trial.api.surveys) one.progress = scriptedProgress(55)
  const version = trial.document('current.json').version
  const asked = await trial.sync(['--surveys', '2'], await trial.pod())
  expect(asked).toMatchObject({ code: 0, run: { requests: 3, surveys_refreshed: 1 } })
  expect(trial.document('current.json').version).not.toBe(version)
  expect(
    await trial.rows('SELECT interviews_count::INTEGER AS n FROM survey_progress ORDER BY survey_id'),
  ).toEqual([{ n: 10 }, { n: 55 }])
  expect(await trial.run(['sync', '--surveys', '3'], await trial.pod())).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('3 is not known'),
  })
})

test('what cannot be read at once is read by the next run, and a refused survey is read again although it is not due', async (context) => {
  const trial = await openSynced(context, [scriptedSurvey(1, {}, 1), scriptedSurvey(2, {}, 1)])
  const refused = refusing(trial.api, 403, ({ path }) => path.startsWith('/surveys/1/'))
  for (const day of [1, 2]) expect(await night(trial, day, refused)).toMatchObject({ code: 3 })
  expect(await night(trial, 2.2, undefined, ['--surveys', '2,1', '--max-requests', '3'])).toMatchObject({
    code: 3,
    run: { requests: 3, left_over: 1, reason: 'stopped by --max-requests 3' },
  })
  expect(await night(trial, 2.3, refused, ['--surveys', '1'])).toMatchObject({
    code: 3,
    run: { surveys_failed: 1, reason: '1 survey failed', left_over: 1 },
  })
  expect(await night(trial, 2.4, undefined, ['--surveys', '1'])).toMatchObject({
    code: 0,
    run: { left_over: 0 },
  })
  await trial.expectSound()
})

test('a name that does not settle which survey to read ends with exit 2 before any request', async (context) => {
  const trial = await openTrial(context)
  const apis = [
    await startScriptedApi([1, 2, 3].map((id) => scriptedSurvey(id))),
    await startScriptedApi([1].map((id) => scriptedSurvey(id))),
  ]
  const [acme, globex] = apis
  if (acme === undefined || globex === undefined) throw new Error('two APIs')
  const args = await trial.settings({
    accounts: apis.map(({ baseUrl }, index) => ({
      name: ['acme', 'globex'][index],
      base_url: baseUrl,
      id: index + 1,
      token: `tok-of-account-${index}`,
      rate_limit: { requests: 1000, per: '1s' },
    })),
    // The address of a ping that nobody answers: a sync of some surveys sends none.
    notify: { success: 'http://127.0.0.1:9/ping' },
  })
  const sync = (...more: readonly string[]) => trial.runWarm(['sync', ...args, ...more], NO_ACCOUNT)
  const elsewhere = ['--warehouse', join(await trial.temporary(), 'mistyped')]
  expect(await sync('--surveys', '1', ...elsewhere)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nothing to sync'),
  })
  // One survey is gone after a full listing, and of one only a row in quarantine is known.
  expect(await sync()).toMatchObject({ code: 0 })
  acme.surveys.splice(1, 1)
  acme.hook = (arrival, response) => {
    if (arrival.path !== '/surveys') return false
    const rows = [...acme.surveys.map(({ survey }) => survey), { ...scriptedSurvey(9).survey, title: 9 }]
    const pagination = {
      current_page: 1,
      next_page: null,
      prev_page: null,
      total_pages: 1,
      total_count: rows.length,
    }
    sendJson(acme, response, 200, { surveys: rows, pagination })
    return true
  }
  expect(await sync('--full')).toMatchObject({ code: 5 })
  for (const { arrivals } of apis) arrivals.length = 0
  const ended = await sync('--surveys', '1,4711,acme/2,9,acme/1')
  expect(ended.code).toBe(2)
  const [line = ''] = ended.stderr.split('\n').filter((text) => text.includes('nothing was requested'))
  expect(line).toContain(
    '1 is a survey of several accounts: give acme/1 or globex/1; 4711 is not known: no listing of acme, globex',
  )
  expect(line).toMatch(
    /the API does not show acme\/2 since 20\S+: fieldwork-sync sync --full finds it if it is back; no row of 9 could be typed/,
  )
  const wrong = [
    [['--surveys', 'acme/x'], '--surveys must have ids of surveys, such as 4711 or acme/4711, not "acme/x"'],
    [['--surveys', '1', '--full'], 'sync --surveys lists nothing: leave out --full'],
    [
      ['--surveys', 'globex/1', '--accounts', 'acme'],
      '"globex/1" is of no account of this run, which has acme',
    ],
  ] as const
  for (const [flags, text] of wrong)
    expect(await sync(...flags)).toMatchObject({ code: 2, stderr: expect.stringContaining(text) })
  expect(apis.flatMap(({ arrivals }) => arrivals)).toEqual([])
  expect(await sync('--surveys', 'globex/1')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('ping'),
  })
  expect([acme.arrivals.length, globex.arrivals.length]).toEqual([0, 4])
})
