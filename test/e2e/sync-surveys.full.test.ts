/** `sync --surveys` reads some surveys at once, and no later run can tell. */
import { expect, test } from 'vitest'
import { scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { night } from '../support/command/trial.js'
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
