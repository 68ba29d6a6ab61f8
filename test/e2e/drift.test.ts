/** The listing drifts: surveys and sources appear and vanish between two requests. */

import { expect, test } from 'vitest'
import {
  type Arrival,
  type Hook,
  type ScriptedApi,
  scriptedSource,
  scriptedSurvey,
  startScriptedApi,
} from '../support/api/scripted-api.js'
import { publishedFile, syncWarm } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { query } from '../support/warehouse/duckdb.js'

const drafts = (count: number) =>
  Array.from({ length: count }, (_, index) => scriptedSurvey(index + 1, { status: 'draft' }, 0))

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
const shown = async (warehouse: string) =>
  Object.fromEntries(
    (
      await query(
        publishedFile(warehouse),
        "SELECT id, CASE WHEN _missing_since IS NULL THEN title ELSE 'missing' END AS shown FROM surveys ORDER BY id",
      )
    ).map((row) => [row.id, row.shown]),
  )

test('a survey that vanishes between two pages shifts another one out of sight, and the run repeats the listing', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi(drafts(6))
  api.pageSize = 2
  // Pages 6 5, 4 3, 2 1 become 5 4, 3 2, 1: so survey 4 is on none of the remaining pages.
  api.hook = beforePage2((time) => time === 1 && remove(api, 6))
  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
    code: 0,
    run: { status: 'complete', cursor_after: '2026-02-28T23:55:00Z', left_over: 0 },
  })
  expect(requestedPages(api)).toEqual(['1', '2', '1', '2', '3'])
  expect(await shown(warehouse)).toEqual({
    1: 'Survey 1',
    2: 'Survey 2',
    3: 'Survey 3',
    4: 'Survey 4',
    5: 'Survey 5',
    6: 'missing',
  })
  expect(await unsoundness(publishedFile(warehouse))).toEqual([])
})

test('lists that show one id twice every night are read with the newer row, and the reason names the survey', async () => {
  const warehouse = await temporaryDirectory()
  const later = { updated_at: '2026-02-20T00:00:00Z' }
  const survey = scriptedSurvey(2)
  const api = await startScriptedApi([
    ...drafts(1),
    { ...survey, survey: { ...survey.survey, title: 'Newer', ...later } },
    survey,
  ])
  for (const { sources } of api.surveys.slice(1)) {
    const [first] = sources
    if (first !== undefined) sources.unshift({ ...first, name: 'Newer source', ...later })
  }
  for (const _ of ['first night', 'second night']) {
    const { code, run } = await syncWarm({ warehouse, env: api.env })
    expect([code, run.reason]).toEqual([
      3,
      'the list of surveys shows survey 2 more than once on page 1, and fewer surveys than it announces, so the cursor was not moved. Report this to the owner of the API',
    ])
    expect(run).toMatchObject({ surveys_failed: 0, left_over: 0, cursor_after: null })
    expect(await shown(warehouse)).toEqual({ 1: 'Survey 1', 2: 'Newer' })
    expect(await query(publishedFile(warehouse), 'SELECT id, name FROM sample_sources ORDER BY id')).toEqual([
      { id: 201, name: 'Newer source' },
      { id: 202, name: 'S202' },
    ])
  }
  expect(await unsoundness(publishedFile(warehouse))).toEqual([])
})

test('a run handles surveys and sources that vanish during the refresh, several pages of sources, and no sources', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi([
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
  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
    code: 3,
    run: { surveys_refreshed: 4, surveys_failed: 1, left_over: 1 },
  })
  // A refused survey may still exist. The next listing is full and shows that it has gone.
  expect(await shown(warehouse)).toMatchObject({ 1: 'Survey 1' })
  api.surveys.shift()
  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
    code: 0,
    run: { listing: 'full', left_over: 0 },
  })
  expect(await shown(warehouse)).toEqual({
    1: 'missing',
    2: 'Survey 2',
    3: 'Survey 3',
    4: 'Survey 4',
    5: 'Survey 5',
  })
  expect(
    await query(
      publishedFile(warehouse),
      `SELECT survey_id, list(id ORDER BY id)::JSON::VARCHAR AS ids FROM sample_sources
        WHERE _missing_since IS NULL GROUP BY survey_id ORDER BY survey_id`,
    ),
  ).toEqual([
    { survey_id: 2, ids: '[201]' },
    { survey_id: 3, ids: '[301,302,303,304,305]' },
    { survey_id: 5, ids: '[502,503]' },
  ])
  expect(
    await query(
      publishedFile(warehouse),
      'SELECT survey_id, count(*) AS sources FROM sample_source_progress GROUP BY survey_id ORDER BY survey_id',
    ),
  ).toEqual([
    { survey_id: 2, sources: 1 },
    { survey_id: 3, sources: 5 },
    { survey_id: 5, sources: 2 },
  ])
  expect(
    await query(publishedFile(warehouse), 'SELECT survey_id FROM survey_progress ORDER BY survey_id'),
  ).toEqual([2, 3, 4, 5].map((survey_id) => ({ survey_id })))
  expect(await unsoundness(publishedFile(warehouse))).toEqual([])
})
