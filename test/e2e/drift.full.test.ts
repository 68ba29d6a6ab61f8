/** The listing drifts: surveys appear and vanish between two requests. */

import { expect, test } from 'vitest'
import {
  type Arrival,
  bodyOf,
  type Hook,
  type ScriptedApi,
  scriptedSurvey,
  scriptedSurveys,
  sendJson,
} from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'

const drafts = (count: number, change = {}) => scriptedSurveys(count, { status: 'draft', ...change }, 0)

const isPage = ({ path, query: search }: Arrival, page: number): boolean =>
  path === '/surveys' && search.get('page') === String(page)

const remove = (api: ScriptedApi, id: number): void => {
  api.surveys.splice(
    api.surveys.findIndex(({ survey }) => survey.id === id),
    1,
  )
}

/** Calls `change` before each answer of the second page, with the number of the call. */
const beforePage2 =
  (change: (time: number) => void): Hook =>
  (arrival) => {
    if (isPage(arrival, 2)) {
      times.set(change, (times.get(change) ?? 0) + 1)
      change(times.get(change) ?? 0)
    }
    return false
  }
const times = new WeakMap<(time: number) => void, number>()

const requestedPages = (api: ScriptedApi): unknown[] =>
  api.arrivals.filter(({ path }) => path === '/surveys').map(({ query: search }) => search.get('page'))

/** The title of each survey by id, or `missing`. */
const shown = async (rows: Trial['rows']) =>
  Object.fromEntries(
    (
      await rows(
        "SELECT id, CASE WHEN _missing_since IS NULL THEN title ELSE 'missing' END AS shown FROM surveys ORDER BY id",
      )
    ).map((row) => [row.id, row.shown]),
  )

const titlesOf = (...ids: readonly number[]) => Object.fromEntries(ids.map((id) => [id, `Survey ${id}`]))

test('a listing that always drifts moves no cursor; a survey that appears is no drift', async (context) => {
  const { api, sync, settings, rows, expectSound } = await openTrial(context, drafts(8))
  api.pageSize = 2
  api.hook = beforePage2((time) => remove(api, 9 - time))
  // Three surveys vanish, and both addresses of each answer 404: fewer than this limit.
  const args = await settings({ limits: { consecutive_failures_max: 10 } })
  const drifted = await sync(args)
  expect(drifted).toMatchObject({
    code: 3,
    run: { status: 'partial', cursor_before: null, cursor_after: null },
  })
  expect(drifted.run.reason).toContain('the next run repeats it')
  expect(requestedPages(api)).toEqual(['1', '2', '1', '2', '1', '2'])

  api.arrivals.length = 0
  api.hook = beforePage2(() => {
    api.surveys.push(scriptedSurvey(9, { status: 'draft' }, 0))
  })
  const second = await sync()
  expect(second).toMatchObject({ code: 0, run: { listing: 'full', surveys_listed: 6 } })
  // 5 4, 3 2, 1 became 9 5, 4 3, 2 1: survey 4 was listed twice, and the next run reads survey 9.
  expect(requestedPages(api)).toEqual(['1', '2', '3'])
  api.hook = () => false
  const missing = { 6: 'missing', 7: 'missing', 8: 'missing' }
  expect(await shown(rows)).toEqual({ ...titlesOf(1, 2, 3, 4, 5), ...missing })
  await expectSound()
})

test('a run requests a survey by its own address when a full listing does not show it', async (context) => {
  const { api, sync, rows, expectSound } = await openTrial(context, [
    scriptedSurvey(1),
    scriptedSurvey(2),
    scriptedSurvey(3),
  ])
  expect(await sync()).toMatchObject({ code: 0 })

  // Survey 2 is only missing from the list; survey 3 no longer exists.
  const [, two, three] = api.surveys
  if (two === undefined || three === undefined) throw new Error('three surveys were scripted')
  remove(api, 3)
  api.hook = hideFromList(api, 2)
  api.now = new Date('2026-03-02T00:00:00Z')
  const second = await sync(['--full'])
  expect(second).toMatchObject({ code: 3, run: { listing: 'full', surveys_listed: 1, surveys_left_out: 1 } })
  expect(await shown(rows)).toEqual({ 1: 'Survey 1', 2: 'Survey 2', 3: 'missing' })
  expect(await missingRows(rows)).toEqual({
    surveys: [3],
    sample_sources: [301, 302],
    survey_progress: [3],
    sample_source_progress: [301, 302],
  })
  expect(await rows('SELECT DISTINCT _missing_since FROM surveys ORDER BY 1')).toEqual([
    { _missing_since: '2026-03-02T00:00:00Z' },
    { _missing_since: null },
  ])

  // Survey 3 comes back unchanged. It is no longer marked as missing, and history shows when it was missing.
  api.hook = () => false
  api.surveys.push(three)
  api.now = new Date('2026-03-03T00:00:00Z')
  expect(await sync(['--full'])).toMatchObject({ code: 0 })
  expect(await missingRows(rows)).toEqual({
    surveys: [],
    sample_sources: [],
    survey_progress: [],
    sample_source_progress: [],
  })
  expect(
    await rows('SELECT valid_from, valid_to FROM surveys_history WHERE id = 3 ORDER BY valid_from'),
  ).toEqual([
    { valid_from: '2026-03-01T00:00:00Z', valid_to: '2026-03-02T00:00:00Z' },
    { valid_from: '2026-03-03T00:00:00Z', valid_to: null },
  ])
  await expectSound()
})

/** Removes a survey from the list only. Its own addresses still answer. */
const hideFromList =
  (api: ScriptedApi, id: number): Hook =>
  (arrival, response) => {
    if (arrival.path !== '/surveys') return false
    const surveys = api.surveys.filter(({ survey }) => survey.id !== id)
    sendJson(api, response, 200, bodyOf({ ...api, surveys }, arrival))
    return true
  }

const missingRows = async (rows: Trial['rows']) => {
  const ids = async (table: string, column: string) =>
    (
      await rows(`SELECT ${column} AS id FROM ${table} WHERE _missing_since IS NOT NULL ORDER BY ${column}`)
    ).map(({ id }) => id)
  return {
    surveys: await ids('surveys', 'id'),
    sample_sources: await ids('sample_sources', 'id'),
    survey_progress: await ids('survey_progress', 'survey_id'),
    sample_source_progress: await ids('sample_source_progress', 'sample_source_id'),
  }
}

test('a run without surveys is complete, and the next run lists a thousand and one', async (context) => {
  const { api, sync, rows } = await openTrial(context)
  const MANY = 1_001
  const PAGES = Math.ceil(MANY / 50)
  expect(await sync()).toMatchObject({
    code: 0,
    run: { listing: 'full', surveys_listed: 0, cursor_after: '2026-02-28T23:55:00Z' },
  })
  expect(await shown(rows)).toEqual({})

  api.now = new Date('2026-03-02T00:00:00Z')
  const updated_at = '2026-03-01T12:00:00Z'
  api.surveys.push(...drafts(MANY, { updated_at }))
  // The listing fits into the half of the budget that it may use, and most surveys remain queued.
  const second = await sync(['--max-requests', String(2 * PAGES)])
  expect(second).toMatchObject({
    code: 3,
    run: { listing: 'incremental', surveys_listed: MANY, cursor_after: '2026-03-01T23:55:00Z' },
  })
  expect(api.arrivals.filter(({ path }) => path === '/surveys')).toHaveLength(1 + PAGES)
  expect(await rows('SELECT count(*) AS surveys, max(id) AS last FROM surveys')).toEqual([
    { surveys: MANY, last: MANY },
  ])
  const refreshed = second.run.surveys_refreshed
  expect(refreshed).toBeGreaterThan(0)
  expect(second.run.left_over).toBe(MANY - refreshed)
})
