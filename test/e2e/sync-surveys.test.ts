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
import { openNight, requestsOf } from './sync-surveys-shared.js'

const CURSOR = 'SELECT updated_since, full_listed_at, counted_at, moved_at FROM _sync.cursors'

test('sync --surveys takes 2 requests and one per source, moves no cursor, and is no night', async (context) => {
  const trial = await openNight(context)
  const before = await trial.rows(CURSOR)
  const [one] = trial.api.surveys
  Object.assign(one?.survey ?? {}, { title: 'not read: the API has no address for one row' })
  Object.assign(one ?? {}, { progress: scriptedProgress(60), sourceProgress: { 101: scriptedProgress(40) } })
  const asked = await night(trial, 2.5, undefined, ['--surveys', '1, default/1'])
  expect(asked).toMatchObject({
    code: 0,
    run: {
      status: 'complete',
      command: 'sync --surveys',
      requests: 5,
      surveys_refreshed: 1,
      left_over: 0,
      listing: null,
    },
  })
  expect(requestsOf(trial)).toEqual([
    '/surveys/1/fieldwork_progress',
    ...[101, 102, 103].map((id) => `/surveys/1/fieldwork_progress?sample_source_id=${id}`),
    '/surveys/1/sample_sources?page=1',
  ])
  expect(await trial.rows(CURSOR)).toEqual(before)
  expect(
    await trial.rows(`SELECT s.title, p.interviews_count::INTEGER AS interviews, r.reason, r.made::INTEGER AS made
      FROM surveys s JOIN survey_progress p ON p.survey_id = s.id
      JOIN (SELECT reason, sum(made) AS made FROM _sync.requests WHERE run_id = '${asked.run.run_id}' GROUP BY ALL) r ON true WHERE s.id = 1`),
  ).toEqual([{ title: 'Survey 1', interviews: 60, reason: 'requested', made: 5 }])
  await trial.expectSound()
  const status = await trial.runWarm(['status', '--check'])
  expect(status.stdout, 'the night before was partial, and still is').toMatch(/^PARTIAL/)
})

test('what cannot be read at once is read by the next run, and a resting refused survey is read again', async (context) => {
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
