/** The API shows only the present, and the warehouse keeps the past. A sync sends no request whose answer is known. */
import { expect, test } from 'vitest'
import { type ScriptedSurvey, scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { slow } from '../support/suite/slow.js'

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

test('a sync observes progress without a survey change; equal progress costs no row and no request per source', async (context) => {
  const trial = await openTrial(context, [scriptedSurvey(1), scriptedSurvey(2)])
  expect(await syncOnDay(trial, 0)).toEqual({ 1: 4, 2: 4 })

  // One source of survey 1 gets interviews. The survey's updated_at stays.
  found(trial, 1).progress = scriptedProgress(15)
  found(trial, 1).sourceProgress = { 101: scriptedProgress(11), 102: scriptedProgress(4) }
  expect(await syncOnDay(trial, 1)).toEqual({ 1: 3, 2: 1 })
  expect(
    await trial.rows(
      'SELECT survey_id, interviews_count, observed_at FROM survey_progress_history ORDER BY survey_id, observed_at',
    ),
  ).toEqual([
    { survey_id: 1, interviews_count: 10, observed_at: day(0) },
    { survey_id: 1, interviews_count: 15, observed_at: day(1) },
    { survey_id: 2, interviews_count: 10, observed_at: day(0) },
  ])
  expect(
    await trial.rows(
      'SELECT sample_source_id AS id, interviews_count, observed_at FROM sample_source_progress_history ORDER BY id, observed_at',
    ),
  ).toEqual([
    { id: 101, interviews_count: 10, observed_at: day(0) },
    { id: 101, interviews_count: 11, observed_at: day(1) },
    { id: 102, interviews_count: 10, observed_at: day(0) },
    { id: 102, interviews_count: 4, observed_at: day(1) },
    { id: 201, interviews_count: 10, observed_at: day(0) },
    { id: 202, interviews_count: 10, observed_at: day(0) },
  ])
  expect(
    await trial.rows(
      'SELECT survey_id, _observed_at, _first_seen_at FROM survey_progress ORDER BY survey_id',
    ),
  ).toEqual([
    { survey_id: 1, _observed_at: day(1), _first_seen_at: day(0) },
    { survey_id: 2, _observed_at: day(0), _first_seen_at: day(0) },
  ])
  expect(await trial.rows('SELECT DISTINCT _synced_at FROM surveys')).toEqual([{ _synced_at: day(0) }])
  expect(
    await trial.rows(
      'SELECT survey_id, refreshed_at, source_progress_read_at AS each FROM freshness ORDER BY 1',
    ),
  ).toEqual([
    { survey_id: 1, refreshed_at: day(1), each: day(1) },
    { survey_id: 2, refreshed_at: day(1), each: day(0) },
  ])

  // Seven days after the last reading, the progress of every source is read again. One source of survey 2 has changed.
  found(trial, 2).sourceProgress = { 202: scriptedProgress(9) }
  found(trial, 1).sources[0] = { ...found(trial, 1).sources[0], id: 101, name: 'renamed' }
  expect(await syncOnDay(trial, 7)).toEqual({ 1: 4, 2: 4 })
  expect(
    await trial.rows(
      `SELECT sample_source_id AS id, interviews_count, _observed_at FROM sample_source_progress WHERE survey_id = 2 ORDER BY 1`,
    ),
  ).toEqual([
    { id: 201, interviews_count: 10, _observed_at: day(0) },
    { id: 202, interviews_count: 9, _observed_at: day(7) },
  ])
  expect(
    await trial.rows(
      'SELECT name, valid_from, valid_to FROM sample_sources_history WHERE id = 101 ORDER BY valid_from',
    ),
  ).toEqual([
    { name: 'S101', valid_from: day(0), valid_to: day(7) },
    { name: 'renamed', valid_from: day(7), valid_to: null },
  ])
  expect(await trial.rows('SELECT count(*) AS rows FROM sample_source_progress_history')).toEqual([
    { rows: 7 },
  ])
})

slow('active surveys are read each night, complete ones after 1, 2, 4 … days and by age', async (context) => {
  const ACTIVE = 1
  const COMPLETED_YESTERDAY = 2
  const COMPLETED_LONG_AGO = 3
  const DRAFT = 4
  const DEMO = 5
  const UNKNOWN = 6
  const trial = await openTrial(context, [
    scriptedSurvey(ACTIVE, { status: 'data_processing' }, 0),
    scriptedSurvey(COMPLETED_YESTERDAY, { status: 'complete', updated_at: day(-1) }, 0),
    scriptedSurvey(COMPLETED_LONG_AGO, { status: 'complete' }, 0),
    scriptedSurvey(DRAFT, { status: 'draft' }, 0),
    scriptedSurvey(DEMO, { status: 'user_demo' }, 0),
    scriptedSurvey(UNKNOWN, { status: 'archived' }, 0),
  ])
  const ids = async (days: number) => Object.keys(await syncOnDay(trial, days)).map(Number)
  expect(await ids(0)).toEqual([1, 2, 3, 4, 5, 6])
  expect(await ids(1)).toEqual([ACTIVE, COMPLETED_YESTERDAY, UNKNOWN])
  expect(await ids(2)).toEqual([ACTIVE, COMPLETED_YESTERDAY, UNKNOWN])
  expect(await ids(3)).toEqual([ACTIVE, UNKNOWN])
  Object.assign(found(trial, DRAFT).survey, { title: 'edited', updated_at: day(30) })
  // Almost thirty days after the first run, the survey that was completed long ago is due by its age.
  expect(await ids(29.9)).toEqual([ACTIVE, COMPLETED_YESTERDAY, COMPLETED_LONG_AGO, DRAFT, UNKNOWN])
})
