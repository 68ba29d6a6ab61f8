/** The cursor loses no change on pages that were already read, after a killed run, or at exactly its own time. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ScriptedApi } from '../support/api/scripted-api.js'
import { stderrShows } from '../support/command/trial.js'
import { query } from '../support/warehouse/duckdb.js'
import { after, edit, isPage, START, startSixDrafts, titles, WITHOUT_OVERLAP } from './cursor-shared.js'

const requestedSince = (api: ScriptedApi): unknown[] =>
  api.arrivals
    .filter(({ path }) => path === '/surveys')
    .map(({ query: search }) => search.get('updated_since'))

const requestedPages = (api: ScriptedApi): unknown[] =>
  api.arrivals.filter(({ path }) => path === '/surveys').map(({ query: search }) => search.get('page'))

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
