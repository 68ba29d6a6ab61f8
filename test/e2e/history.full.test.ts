/** The API shows only the present, and the warehouse keeps the past. A sync sends no request whose answer is known. */
import { expect, test } from 'vitest'
import { type ScriptedSurvey, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

const START_MS = Date.parse('2026-03-01T00:00:00Z')
const DAY_MS = 24 * 3_600_000
const day = (days: number): string => new Date(START_MS + days * DAY_MS).toISOString().replace('.000', '')

/** Runs a sync on that day. Returns the number of requests for each survey. */
const syncOnDay = async ({ api, sync, expectSound }: Trial, days: number) => {
  api.now = new Date(START_MS + days * DAY_MS)
  api.arrivals.length = 0
  expect(await sync()).toMatchObject({ code: 0, run: { left_over: 0 } })
  await expectSound()
  const requests: Record<string, number> = {}
  for (const { path } of api.arrivals) {
    const [, id] = /^\/surveys\/(\d+)\//.exec(path) ?? []
    if (id !== undefined) requests[id] = (requests[id] ?? 0) + 1
  }
  return requests
}

const found = ({ api }: Trial, id: number): ScriptedSurvey => {
  const survey = api.surveys.find((one) => one.survey.id === id)
  if (survey === undefined) throw new Error(`no survey ${id} was scripted`)
  return survey
}

test('active surveys are read each night, complete ones after 1, 2, 4 … days and by age', async (context) => {
  const ACTIVE = 1
  const COMPLETED_YESTERDAY = 2
  const COMPLETED_LONG_AGO = 3
  const DRAFT = 4
  const DEMO = 5
  const UNKNOWN = 6
  const trial = await openTrial(context, [
    scriptedSurvey(ACTIVE, { status: 'data_processing' }, 0),
    scriptedSurvey(COMPLETED_YESTERDAY, { status: 'complete', updated_at: day(-1) }, 0),
    scriptedSurvey(COMPLETED_LONG_AGO, { status: 'complete', updated_at: day(-20) }, 0),
    scriptedSurvey(DRAFT, { status: 'draft' }, 0),
    scriptedSurvey(DEMO, { status: 'user_demo' }, 0),
    scriptedSurvey(UNKNOWN, { status: 'archived' }, 0),
  ])
  const ids = async (days: number) => Object.keys(await syncOnDay(trial, days)).map(Number)
  expect(await ids(0)).toEqual([1, 2, 3, 4, 5, 6])
  expect(await ids(1)).toEqual([ACTIVE, COMPLETED_YESTERDAY, UNKNOWN])
  expect(await ids(2)).toEqual([ACTIVE, UNKNOWN])
  expect(await ids(3)).toEqual([ACTIVE, COMPLETED_YESTERDAY, UNKNOWN])
  Object.assign(found(trial, DRAFT).survey, { title: 'edited', updated_at: day(30) })
  // At the first reading, the survey that was completed long ago had been unchanged for 20 days.
  expect(await ids(29.9)).toEqual([ACTIVE, COMPLETED_YESTERDAY, COMPLETED_LONG_AGO, DRAFT, UNKNOWN])
})
