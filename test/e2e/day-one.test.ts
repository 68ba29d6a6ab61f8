/** The first night asks for the days before it, after everything else, and shows what it got as reconstructed. */
import { expect, test } from 'vitest'
import { type Arrival, refusing, scriptedSurvey, scriptedSurveys } from '../support/api/scripted-api.js'
import { night, openTrial } from '../support/command/trial.js'
import { isOfPast, RECONSTRUCT } from './day-one-shared.js'

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
