/** A list may leave surveys out. They are read all the same, the run says so, and many are never marked as missing by one short list. */
import { expect, test } from 'vitest'
import {
  bodyOf,
  type Hook,
  type ScriptedApi,
  scriptedProgress,
  scriptedSurveys,
  sendJson,
} from '../support/api/scripted-api.js'
import { night, openTrial } from '../support/command/trial.js'

/** The list shows only the surveys up to `last`, on all of its pages. The addresses of the others answer with `status`. */
const shortList =
  (api: ScriptedApi, last: number, status: 200 | 404 = 200): Hook =>
  (arrival, response) => {
    const surveys = api.surveys.filter(({ survey }) => survey.id <= last)
    const isShort = arrival.path === '/surveys' || status === 404
    const body = bodyOf(isShort ? { ...api, surveys } : api, arrival)
    sendJson(api, response, body === null ? 404 : 200, body ?? {})
    return true
  }

const LEFT_OUT = 'the list leaves out 7 surveys that still answer'

test('surveys that the list leaves out are read in each run until it shows them again, and the run says so', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(12, { status: 'draft' }, 0))
  const { api } = trial
  expect(await night(trial, 0)).toMatchObject({ code: 0 })

  const first = await night(trial, 1, shortList(api, 5), ['--full'])
  expect(first).toMatchObject({ code: 3, run: { reason: LEFT_OUT, surveys_left_out: 7, left_over: 0 } })
  const status = await trial.runWarm(['status'])
  expect(status.stdout).toContain(LEFT_OUT)
  expect(await trial.rows('SELECT id FROM surveys WHERE _missing_since IS NOT NULL')).toEqual([])

  const [twelfth] = api.surveys.slice(-1)
  if (twelfth !== undefined) twelfth.progress = scriptedProgress(77)
  expect(await night(trial, 2, shortList(api, 5))).toMatchObject({ code: 3, run: { reason: LEFT_OUT } })
  expect(await trial.rows('SELECT interviews_count AS n FROM survey_progress WHERE survey_id = 12')).toEqual([
    { n: 77 },
  ])

  expect(await night(trial, 3)).toMatchObject({ code: 0, run: { listing: 'full', surveys_left_out: 0 } })
  expect(await night(trial, 4)).toMatchObject({ code: 0, run: { listing: 'incremental' } })
  await trial.expectSound()
})

test('many surveys that vanish at once and answer 404 are missing only when another full listing agrees', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(20, {}, 0))
  const { api } = trial
  const missing = () =>
    trial.rows('SELECT count(*)::INTEGER AS n FROM surveys WHERE _missing_since IS NOT NULL')
  await night(trial, 0)

  const first = await night(trial, 1, shortList(api, 9, 404), ['--full'])
  expect(first).toMatchObject({ code: 3, run: { surveys_unconfirmed: 11, surveys_left_out: 0 } })
  expect(first.run.reason).toContain('11 surveys vanished from the list at once')
  expect(await missing()).toEqual([{ n: 0 }])

  // The list was wrong: nothing stays of it.
  expect(await night(trial, 2)).toMatchObject({ code: 0, run: { listing: 'full' } })
  expect(await missing()).toEqual([{ n: 0 }])

  expect(await night(trial, 3, shortList(api, 9, 404), ['--full'])).toMatchObject({ code: 3 })
  expect(await night(trial, 4, shortList(api, 9, 404))).toMatchObject({ code: 0, run: { listing: 'full' } })
  expect(await missing()).toEqual([{ n: 11 }])
  // Ten are few enough.
  expect(await night(trial, 5, shortList(api, 0, 404), ['--full'])).toMatchObject({ code: 0 })
  expect(await missing()).toEqual([{ n: 20 }])
  await trial.expectSound()
})
