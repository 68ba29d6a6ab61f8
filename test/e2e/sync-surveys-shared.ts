/** What both test files of sync-surveys use. */
import { expect } from 'vitest'
import { scriptedSurvey } from '../support/api/scripted-api.js'
import { night, openSynced, type openTrial, type Trial } from '../support/command/trial.js'

export const requestsOf = ({ api }: Trial) =>
  api.arrivals.map(({ path, query }) => `${path}${query.size === 0 ? '' : `?${query}`}`).toSorted()

/** A closed survey that rests, one in field, and one that waits for a bigger budget. Each has three sources. */
export const openNight = async (context: Parameters<typeof openTrial>[0]) => {
  const surveys = [1, 2].map((id) => scriptedSurvey(id, { status: id === 1 ? 'complete' : 'fieldwork' }, 3))
  const trial = await openSynced(context, surveys)
  trial.api.surveys.push(scriptedSurvey(3, { status: 'draft', updated_at: '2026-03-02T00:00:00Z' }, 3))
  expect(await night(trial, 2, undefined, ['--max-requests', '1'])).toMatchObject({ code: 3 })
  return trial
}
