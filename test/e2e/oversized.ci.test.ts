/** A survey that does not fit into a run waits for the others, is read in parts, and enters the tables as a whole. */
import { expect, test } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { night, openTrial } from '../support/command/trial.js'
import { requestsFor } from './oversized-shared.js'

test('with --max-requests 1 every run reads one request more', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1, { status: 'draft' }, 2)])
  const counts: number[] = []
  for (let code: unknown = 3; code === 3 && counts.length < 9; counts.push(trial.api.arrivals.length))
    code = (await night(trial, counts.length, () => false, ['--max-requests', '1'])).code
  // One page of surveys and one request: four for the survey, and at the end its progress once more.
  expect(counts).toEqual([2, 2, 2, 2, 2])
  expect(await trial.rows('SELECT count(*) AS n FROM sample_source_progress')).toEqual([{ n: 2 }])
  await trial.expectSound()
})

test('a run with room for the whole survey reads it anew, as a whole', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1, {}, 12)])
  expect((await night(trial, 0, () => false, ['--max-requests', '10'])).code).toBe(3)
  expect((await night(trial, 1)).code).toBe(0)
  expect(requestsFor(1, trial)).toHaveLength(1 + 1 + 12)
  expect(
    await trial.rows('SELECT count(*) AS n FROM freshness WHERE source_progress_read_at = refreshed_at'),
  ).toEqual([{ n: 1 }])
  await trial.expectSound()
})
