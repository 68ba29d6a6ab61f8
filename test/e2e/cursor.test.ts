/** The cursor loses no change on pages that were already read, after a killed run, or at exactly its own time. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Arrival,
  bodyOf,
  type ScriptedApi,
  scriptedSurvey,
  scriptedSurveys,
} from '../support/api/scripted-api.js'
import { openTrial, stderrShows, type Trial } from '../support/command/trial.js'
import { slow } from '../support/suite/slow.js'
import { query } from '../support/warehouse/duckdb.js'

const START = '2026-03-01T00:00:00Z'
const after = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000)

/** Six drafts on three pages, newest first: 6 5, 4 3, 2 1. Drafts are read again only when the listing shows a change. */
const startSixDrafts = async (context: Parameters<typeof openTrial>[0]) => {
  const trial = await openTrial(context, scriptedSurveys(6, { status: 'draft' }, 0))
  trial.api.pageSize = 2
  return trial
}

/** Sets the clock to `at` and modifies the survey at that time. */
const edit = (api: ScriptedApi, id: number, title: string, at: Date): void => {
  api.now = at
  const found = api.surveys.find(({ survey }) => survey.id === id)
  Object.assign(found?.survey ?? {}, { title, updated_at: at.toISOString() })
}

const isPage = ({ path, query: search }: Arrival, page: number): boolean =>
  path === '/surveys' && search.get('page') === String(page)

/** Survey 6 changes after its page was read, and survey 1 before its page is read. */
const editWhilePaging = (api: ScriptedApi, title: string, begin: number) => (arrival: Arrival) => {
  if (isPage(arrival, 2)) edit(api, 6, title, after(begin + 10))
  if (isPage(arrival, 3)) edit(api, 1, title, after(begin + 20))
  return false
}

const titles = async (rows: Trial['rows']): Promise<unknown[]> =>
  (await rows('SELECT title FROM surveys ORDER BY id')).map(({ title }) => title)

/** An overlap of five minutes would hide the loss of a wrong cursor. */
const WITHOUT_OVERLAP = { discover: { overlap: '0s' } }

const requestedSince = (api: ScriptedApi): unknown[] =>
  api.arrivals
    .filter(({ path }) => path === '/surveys')
    .map(({ query: search }) => search.get('updated_since'))

const requestedPages = (api: ScriptedApi): unknown[] =>
  api.arrivals.filter(({ path }) => path === '/surveys').map(({ query: search }) => search.get('page'))

slow('a survey that changes after its page was read is correct after the next run', async (context) => {
  const { api, sync, settings, rows, expectSound } = await startSixDrafts(context)
  const args = await settings(WITHOUT_OVERLAP)

  api.hook = editWhilePaging(api, 'moved', 0)
  const first = await sync(args)
  expect(first).toMatchObject({ code: 0, run: { listing: 'full', cursor_after: START } })
  const others = [2, 3, 4, 5].map((id) => `Survey ${id}`)
  expect(await titles(rows)).toEqual(['moved', ...others, 'Survey 6'])
  api.hook = () => false
  api.now = after(3_600)
  expect(await sync(args)).toMatchObject({
    code: 0,
    run: { listing: 'incremental', cursor_before: START },
  })
  expect(await titles(rows)).toEqual(['moved', ...others, 'moved'])

  // In an incremental listing, two surveys that change again look like two new ones, so the listing is repeated at once.
  for (const id of [1, 2, 3, 4, 5, 6]) edit(api, id, `again ${id}`, after(7_000))
  api.now = after(7_200)
  api.hook = editWhilePaging(api, 'moved again', 7_200)
  const third = await sync(args)
  expect(third).toMatchObject({
    code: 0,
    run: { listing: 'incremental', surveys_listed: 12, cursor_after: '2026-03-01T02:00:20Z' },
  })
  expect((await titles(rows)).at(-1)).toBe('moved again')
  api.hook = () => false
  api.now = after(10_800)
  expect(await sync(args)).toMatchObject({ code: 0 })
  const again = [2, 3, 4, 5].map((id) => `again ${id}`)
  expect(await titles(rows)).toEqual(['moved again', ...again, 'moved again'])
  await expectSound()
})

test('after a kill between two pages, the next run resumes one page earlier and keeps the first cursor', async (context) => {
  const { api, warehouse, sync, start, settings, rows, expectSound } = await startSixDrafts(context)
  const args = await settings(WITHOUT_OVERLAP)

  // The API never answers the third page.
  api.hook = (arrival) => (isPage(arrival, 3) ? new Promise(() => undefined) : false)
  const killed = start(['sync', ...args, '--log-level', 'debug'])
  await stderrShows(killed, /"page":2,"run_id":"[^"]+","msg":"committed a page of the listing"/)
  killed.child.kill('SIGKILL')
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' })
  const work = join(warehouse, 'work.duckdb')
  expect(await query(work, 'SELECT count(*) AS cursors FROM _sync.cursors')).toEqual([{ cursors: 0 }])
  expect(await query(work, 'SELECT next_page, ceiling FROM _sync.listings')).toEqual([
    { next_page: 3, ceiling: START },
  ])
  expect(await query(work, 'SELECT id FROM surveys ORDER BY id')).toEqual([3, 4, 5, 6].map((id) => ({ id })))

  // Survey 6 was read on page 1 and changes at exactly the time of the next cursor.
  edit(api, 6, 'on the cursor', new Date(START))
  api.hook = () => false
  api.arrivals.length = 0
  api.now = after(600)
  const resumed = await sync(args)
  expect(resumed).toMatchObject({
    code: 0,
    run: { listing: 'full', cursor_before: null, cursor_after: after(600).toISOString().replace('.000', '') },
  })
  // The changes since the listing began come first.
  expect(requestedPages(api)).toEqual(['1', '2', '3'])
  expect(requestedSince(api)).toEqual([START, null, null])
  expect(await titles(rows)).toEqual([...[1, 2, 3, 4, 5].map((id) => `Survey ${id}`), 'on the cursor'])
  expect(await rows('SELECT status FROM _sync.runs ORDER BY started_at, run_id')).toEqual([
    { status: 'killed' },
    { status: 'complete' },
  ])
  await expectSound()
})

slow('where the server sends no time, the cursor stays ten minutes behind our clock', async (context) => {
  const { api, sync, rows } = await openTrial(context, [scriptedSurvey(1)])
  api.hook = (arrival, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(bodyOf(api, arrival)))
    return true
  }
  const earliestMs = Date.now()
  const { code, run } = await sync()
  const latestMs = Date.now()
  expect(code).toBe(0)
  const cursorMs = Date.parse(run.cursor_after ?? '')
  expect(cursorMs).toBeGreaterThanOrEqual(earliestMs - 600_000)
  expect(cursorMs).toBeLessThanOrEqual(latestMs - 600_000)
  expect(await rows('SELECT interviews_count FROM survey_progress')).toEqual([{ interviews_count: 10 }])
})
