/** The listing drifts: surveys and sources appear and vanish between two requests. */

import { expect, test } from 'vitest'
import {
  type Arrival,
  bodyOf,
  type Hook,
  type ScriptedApi,
  scriptedSource,
  scriptedSurvey,
  scriptedSurveys,
  sendJson,
} from '../support/api/scripted-api.js'
import { openTrial, type Trial } from '../support/command/trial.js'
import { SLOW, slow } from '../support/suite/slow.js'

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

test('a survey that vanishes between two pages shifts another one out of sight, and the run repeats the listing', async (context) => {
  const { api, sync, rows, expectSound } = await openTrial(context, drafts(6))
  api.pageSize = 2
  // Pages 6 5, 4 3, 2 1 become 5 4, 3 2, 1: so survey 4 is on none of the remaining pages.
  api.hook = beforePage2((time) => time === 1 && remove(api, 6))
  expect(await sync()).toMatchObject({
    code: 0,
    run: { status: 'complete', cursor_after: '2026-02-28T23:55:00Z', left_over: 0 },
  })
  expect(requestedPages(api)).toEqual(['1', '2', '1', '2', '3'])
  expect(await shown(rows)).toEqual({ ...titlesOf(1, 2, 3, 4, 5), 6: 'missing' })
  await expectSound()
})

test('lists that show one id twice every night are read with the newer row, and the reason names the survey', async (context) => {
  const later = { updated_at: '2026-02-20T00:00:00Z' }
  const survey = scriptedSurvey(2)
  const { api, sync, rows, expectSound } = await openTrial(context, [
    ...drafts(1),
    { ...survey, survey: { ...survey.survey, title: 'Newer', ...later } },
    survey,
  ])
  for (const { sources } of api.surveys.slice(1)) {
    const [first] = sources
    if (first !== undefined) sources.unshift({ ...first, name: 'Newer source', ...later })
  }
  for (const _ of ['first night', 'second night']) {
    const { code, run } = await sync()
    expect([code, run.reason]).toEqual([
      3,
      'the list of surveys shows survey 2 more than once on page 1, and fewer surveys than it announces, so the cursor was not moved. Report this to the owner of the API',
    ])
    expect(run).toMatchObject({ surveys_failed: 0, left_over: 0, cursor_after: null })
    expect(await shown(rows)).toEqual({ 1: 'Survey 1', 2: 'Newer' })
    expect(await rows('SELECT id, name FROM sample_sources ORDER BY id')).toEqual([
      { id: 201, name: 'Newer source' },
      { id: 202, name: 'S202' },
    ])
  }
  await expectSound()
})

slow('a listing that always drifts moves no cursor; a survey that appears is no drift', async (context) => {
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
  expect(drifted.run.reason).toContain('cursor was not moved')
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

slow('a run requests a survey by its own address when a full listing does not show it', async (context) => {
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
  expect(second).toMatchObject({ code: 0, run: { listing: 'full', surveys_listed: 1 } })
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

test('a run handles surveys and sources that vanish during the refresh, several pages of sources, and no sources', async (context) => {
  const { api, sync, rows, expectSound } = await openTrial(context, [
    scriptedSurvey(1),
    scriptedSurvey(2),
    scriptedSurvey(3, {}, 5),
    scriptedSurvey(4, {}, 0),
    scriptedSurvey(5),
  ])
  api.pageSize = 2
  let listed = 0
  api.hook = ({ path, query: search }) => {
    const [one, two, , , five] = api.surveys
    // Survey 1 vanishes after it was listed.
    if (path === '/surveys/1/sample_sources' && one !== undefined) one.survey.id = 0
    // A source of survey 2 vanishes after it was listed.
    if (search.get('sample_source_id') === '202') two?.sources.pop()
    // Survey 5 gains a source after the first page of its sources and loses one after the second, so one was skipped.
    if (path === '/surveys/5/sample_sources') {
      listed += 1
      if (listed === 1) five?.sources.push(scriptedSource(503, five.survey.created_at))
      if (listed === 2) five?.sources.shift()
    }
    return false
  }
  expect(await sync()).toMatchObject({
    code: 3,
    run: { surveys_refreshed: 4, surveys_failed: 1, left_over: 1 },
  })
  // A refused survey may still exist. The next listing is full and shows that it has gone.
  expect(await shown(rows)).toMatchObject({ 1: 'Survey 1' })
  api.surveys.shift()
  expect(await sync()).toMatchObject({
    code: 0,
    run: { listing: 'full', left_over: 0 },
  })
  expect(await shown(rows)).toEqual({ 1: 'missing', ...titlesOf(2, 3, 4, 5) })
  expect(
    await rows(`SELECT survey_id, list(id ORDER BY id)::JSON::VARCHAR AS ids FROM sample_sources
        WHERE _missing_since IS NULL GROUP BY survey_id ORDER BY survey_id`),
  ).toEqual([
    { survey_id: 2, ids: '[201]' },
    { survey_id: 3, ids: '[301,302,303,304,305]' },
    { survey_id: 5, ids: '[502,503]' },
  ])
  expect(
    await rows(
      'SELECT survey_id, count(*) AS sources FROM sample_source_progress GROUP BY survey_id ORDER BY survey_id',
    ),
  ).toEqual([
    { survey_id: 2, sources: 1 },
    { survey_id: 3, sources: 5 },
    { survey_id: 5, sources: 2 },
  ])
  expect(await rows('SELECT survey_id FROM survey_progress ORDER BY survey_id')).toEqual(
    [2, 3, 4, 5].map((survey_id) => ({ survey_id })),
  )
  await expectSound()
})

test('a run without surveys is complete, and the next run lists a hundred and one (slow: a thousand and one)', async (context) => {
  const { api, sync, rows } = await openTrial(context)
  const MANY = SLOW ? 1_001 : 101
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
