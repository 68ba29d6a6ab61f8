/** A list may leave surveys or sources out. They are read all the same, the run says so, and many are never marked as missing by one short list. */
import { expect, test } from 'vitest'
import { scriptedProgress, scriptedSurveys } from '../support/api/scripted-api.js'
import { night, openTrial } from '../support/command/trial.js'
import { shortList } from './short-lists-shared.js'

const LEFT_OUT = 'the list leaves out 7 surveys that still answer'

test('surveys that the list leaves out are read in each run until it shows them again, and the run says so', async (context) => {
  const trial = await openTrial(context, scriptedSurveys(12, { status: 'draft' }, 0))
  const { api } = trial
  expect(await night(trial, 0)).toMatchObject({ code: 0 })

  const first = await night(trial, 1, shortList(api, 5), ['--full'])
  expect(first).toMatchObject({ code: 3, run: { reason: LEFT_OUT, surveys_left_out: 7, left_over: 0 } })
  const status = await trial.runWarm(['status'])
  expect(status.stdout).toContain(LEFT_OUT)
  expect(status.stdout).toMatch(/left out of lists, and still read\n.*\n +6 .*\n +7 /)
  const ofSurvey = await trial.runWarm(['status', '--survey', '7'])
  expect(ofSurvey.stdout).toContain('the list leaves it out since 2026-03-02T00:00Z')
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
