/** The world does not hold still while it is listed: surveys and sources come and go between two requests. */

import { expect, test } from 'vitest'
import {
  type Arrival,
  bodyOf,
  type Hook,
  type ScriptedApi,
  scriptedSource,
  scriptedSurvey,
  sendJson,
  startScriptedApi,
} from '../support/api/scripted-api.js'
import { publishedFile, syncWarm } from '../support/command/sync.js'
import { temporaryDirectory } from '../support/files/temporary.js'
import { unsoundness } from '../support/oracle/soundness.js'
import { SLOW } from '../support/suite/slow.js'
import { openReader, query } from '../support/warehouse/duckdb.js'

const drafts = (count: number) =>
  Array.from({ length: count }, (_, index) => scriptedSurvey(index + 1, { status: 'draft' }, 0))

const isPage = ({ path, query: asked }: Arrival, page: number): boolean =>
  path === '/surveys' && asked.get('page') === String(page)

const remove = (api: ScriptedApi, id: number): void => {
  api.surveys.splice(
    api.surveys.findIndex(({ survey }) => survey.id === id),
    1,
  )
}

/** Does something just before the second page is answered, each time that it is asked for. */
const beforePage2 =
  (happens: (time: number) => void): Hook =>
  (arrival) => {
    if (isPage(arrival, 2)) {
      times.set(happens, (times.get(happens) ?? 0) + 1)
      happens(times.get(happens) ?? 0)
    }
    return false
  }
const times = new WeakMap<(time: number) => void, number>()

const pagesAsked = (api: ScriptedApi): unknown[] =>
  api.arrivals.filter(({ path }) => path === '/surveys').map(({ query: asked }) => asked.get('page'))

/** Surveys by id: `missing` or their title. */
const shown = async (warehouse: string) =>
  Object.fromEntries(
    (
      await query(
        publishedFile(warehouse),
        "SELECT id, CASE WHEN _missing_since IS NULL THEN title ELSE 'missing' END AS shown FROM surveys ORDER BY id",
      )
    ).map((row) => [row.id, row.shown]),
  )

test('a survey that vanishes between the pages pulls another up unread: all are listed again', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi(drafts(6))
  api.pageSize = 2
  // Pages 6 5, 4 3, 2 1 become 5 4, 3 2, 1: survey 4 would be on no page that is still to be read.
  api.hook = beforePage2((time) => time === 1 && remove(api, 6))
  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
    code: 0,
    run: { status: 'complete', cursor_after: '2026-02-28T23:55:00Z', left_over: 0 },
  })
  expect(pagesAsked(api)).toEqual(['1', '2', '1', '2', '3'])
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

test.skipIf(!SLOW)(
  'a listing that drifts every time leaves the cursor alone; a survey that comes between pages is read twice',
  async () => {
    const warehouse = await temporaryDirectory()
    const api = await startScriptedApi(drafts(8))
    api.pageSize = 2
    api.hook = beforePage2((time) => remove(api, 9 - time))
    const drifted = await syncWarm({ warehouse, env: api.env })
    expect(drifted).toMatchObject({
      code: 3,
      run: { status: 'partial', cursor_before: null, cursor_after: null },
    })
    expect(drifted.run.reason).toContain('cursor was not moved')
    expect(pagesAsked(api)).toEqual(['1', '2', '1', '2', '1', '2'])

    api.arrivals.length = 0
    api.hook = beforePage2(() => {
      api.surveys.push(scriptedSurvey(9, { status: 'draft' }, 0))
    })
    const second = await syncWarm({ warehouse, env: api.env })
    expect(second).toMatchObject({ code: 0, run: { listing: 'full', surveys_listed: 6 } })
    // 5 4, 3 2, 1 became 9 5, 4 3, 2 1: survey 4 came twice, survey 9 is for the next run.
    expect(pagesAsked(api)).toEqual(['1', '2', '3'])
    api.hook = () => false
    const whole = [1, 2, 3, 4, 5].map((id) => [id, `Survey ${id}`] as const)
    const gone = [6, 7, 8].map((id) => [id, 'missing'] as const)
    expect(await shown(warehouse)).toEqual(Object.fromEntries([...whole, ...gone]))
    expect(await unsoundness(publishedFile(warehouse))).toEqual([])
  },
)

test.skipIf(!SLOW)(
  'a survey that vanishes while another one enters further down leaves the total as it was: all are listed again',
  async () => {
    const warehouse = await temporaryDirectory()
    const api = await startScriptedApi(drafts(6))
    expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({ code: 0 })

    const change = (id: number, title: string, at: string) => {
      const row = api.surveys.find(({ survey }) => survey.id === id)
      if (row !== undefined) Object.assign(row.survey, { title, updated_at: at })
    }
    for (const id of [2, 3, 4, 5, 6]) change(id, `Changed ${id}`, '2026-03-02T00:00:00Z')
    api.arrivals.length = 0
    api.pageSize = 2
    api.now = new Date('2026-03-02T01:00:00Z')
    // Pages 6 5, 4 3, 2 become 5 4, 3 2, 1: five surveys as announced, and survey 4 on none of the pages still to be read.
    api.hook = beforePage2((time) => {
      if (time > 1) return
      remove(api, 6)
      api.now = new Date('2026-03-02T01:00:01Z')
      change(1, 'Changed 1', '2026-03-02T01:00:01Z')
    })
    expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
      code: 0,
      run: { listing: 'incremental', cursor_after: '2026-03-02T00:55:01Z' },
    })
    expect(pagesAsked(api)).toEqual(['1', '2', '3', '1', '2', '3'])
    expect(await shown(warehouse)).toMatchObject({ 1: 'Changed 1', 4: 'Changed 4', 5: 'Changed 5' })
  },
)

test.runIf(SLOW)(
  'a survey that changes again while it is listed has all listed again, twice at most',
  async () => {
    const warehouse = await temporaryDirectory()
    const api = await startScriptedApi(drafts(3))
    expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({ code: 0 })
    api.arrivals.length = 0
    api.pageSize = 2
    api.now = new Date('2026-03-02T01:00:00Z')
    const restless = api.surveys.find(({ survey }) => survey.id === 1)?.survey
    if (restless === undefined) throw new Error('three surveys were scripted')
    for (const { survey } of api.surveys) survey.updated_at = '2026-03-02T00:00:00Z'
    api.hook = beforePage2((time) => {
      api.now = new Date(Date.UTC(2026, 2, 2, 1, 0, time))
      restless.updated_at = api.now.toISOString()
    })
    expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
      code: 0,
      run: { listing: 'incremental' },
    })
    expect(pagesAsked(api)).toEqual(['1', '2', '1', '2', '1', '2'])
  },
)

test('a survey that a full listing does not show is asked for by its own address', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi([scriptedSurvey(1), scriptedSurvey(2), scriptedSurvey(3)])
  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({ code: 0 })

  // 2 is only missing from the list; 3 is gone altogether.
  const [, two, three] = api.surveys
  if (two === undefined || three === undefined) throw new Error('three surveys were scripted')
  remove(api, 3)
  api.hook = hideFromList(api, 2)
  api.now = new Date('2026-03-02T00:00:00Z')
  const second = await syncWarm({ warehouse, env: api.env, args: ['--full'] })
  expect(second).toMatchObject({ code: 0, run: { listing: 'full', surveys_listed: 1 } })
  expect(await shown(warehouse)).toEqual({ 1: 'Survey 1', 2: 'Survey 2', 3: 'missing' })
  expect(await missingRows(warehouse)).toEqual({
    surveys: [3],
    sample_sources: [301, 302],
    survey_progress: [3],
    sample_source_progress: [301, 302],
  })
  expect(
    await query(publishedFile(warehouse), 'SELECT DISTINCT _missing_since FROM surveys ORDER BY 1'),
  ).toEqual([{ _missing_since: '2026-03-02T00:00:00Z' }, { _missing_since: null }])

  // Back again, as it was: the mark goes, and history shows when it was away.
  api.hook = () => false
  api.surveys.push(three)
  api.now = new Date('2026-03-03T00:00:00Z')
  expect(await syncWarm({ warehouse, env: api.env, args: ['--full'] })).toMatchObject({ code: 0 })
  expect(await missingRows(warehouse)).toEqual({
    surveys: [],
    sample_sources: [],
    survey_progress: [],
    sample_source_progress: [],
  })
  expect(
    await query(
      publishedFile(warehouse),
      'SELECT valid_from, valid_to FROM surveys_history WHERE id = 3 ORDER BY valid_from',
    ),
  ).toEqual([
    { valid_from: '2026-03-01T00:00:00Z', valid_to: '2026-03-02T00:00:00Z' },
    { valid_from: '2026-03-03T00:00:00Z', valid_to: null },
  ])
  expect(await unsoundness(publishedFile(warehouse))).toEqual([])
})

/** The list leaves a survey out, its own addresses go on answering. */
const hideFromList =
  (api: ScriptedApi, id: number): Hook =>
  (arrival, response) => {
    if (arrival.path !== '/surveys') return false
    const surveys = api.surveys.filter(({ survey }) => survey.id !== id)
    sendJson(api, response, 200, bodyOf({ ...api, surveys }, arrival))
    return true
  }

const missingRows = async (warehouse: string) => {
  using reader = await openReader(publishedFile(warehouse))
  const ids = async (table: string, column: string) =>
    (
      await reader.query(
        `SELECT ${column} AS id FROM ${table} WHERE _missing_since IS NOT NULL ORDER BY ${column}`,
      )
    ).map(({ id }) => id)
  return {
    surveys: await ids('surveys', 'id'),
    sample_sources: await ids('sample_sources', 'id'),
    survey_progress: await ids('survey_progress', 'survey_id'),
    sample_source_progress: await ids('sample_source_progress', 'sample_source_id'),
  }
}

test('surveys and sources that go while they are refreshed, sources over several pages, no sources at all', async () => {
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
  api.hook = ({ path, query: asked }) => {
    const [one, two, , , five] = api.surveys
    // 1 goes after it was listed.
    if (path === '/surveys/1/sample_sources' && one !== undefined) one.survey.id = 0
    // A source of 2 goes after it was listed.
    if (asked.get('sample_source_id') === '202') two?.sources.pop()
    // The sources of 5 have three pages' worth once the first page was read, then two again: one was skipped.
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
  // That it does not answer tells little: the next listing is a full one, and shows that it has gone.
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

test('an organization without surveys is a complete run; then it has a hundred and one (slow: a thousand and one)', async () => {
  const warehouse = await temporaryDirectory()
  const api = await startScriptedApi()
  const MANY = SLOW ? 1_001 : 101
  const PAGES = Math.ceil(MANY / 50)
  expect(await syncWarm({ warehouse, env: api.env })).toMatchObject({
    code: 0,
    run: { listing: 'full', surveys_listed: 0, cursor_after: '2026-02-28T23:55:00Z' },
  })
  expect(await shown(warehouse)).toEqual({})

  api.now = new Date('2026-03-02T00:00:00Z')
  const updated_at = '2026-03-01T12:00:00Z'
  api.surveys.push(
    ...Array.from({ length: MANY }, (_, index) =>
      scriptedSurvey(index + 1, { status: 'draft', updated_at }, 0),
    ),
  )
  // All pages fit the half of the budget that a listing may take: most of the surveys wait.
  const second = await syncWarm({ warehouse, env: api.env, args: ['--max-requests', String(2 * PAGES)] })
  expect(second).toMatchObject({
    code: 3,
    run: { listing: 'incremental', surveys_listed: MANY, cursor_after: '2026-03-01T23:55:00Z' },
  })
  expect(api.arrivals.filter(({ path }) => path === '/surveys')).toHaveLength(1 + PAGES)
  expect(
    await query(publishedFile(warehouse), 'SELECT count(*) AS surveys, max(id) AS last FROM surveys'),
  ).toEqual([{ surveys: MANY, last: MANY }])
  const refreshed = second.run.surveys_refreshed
  expect(refreshed).toBeGreaterThan(0)
  expect(second.run.left_over).toBe(MANY - refreshed)
})
