/** The cursor loses no change on pages that were already read, after a killed run, or at exactly its own time. */
import { expect, test } from 'vitest'
import { type Arrival, bodyOf, type ScriptedApi, scriptedSurvey } from '../support/api/scripted-api.js'
import { openTrial } from '../support/command/trial.js'
import { after, edit, isPage, START, startSixDrafts, titles, WITHOUT_OVERLAP } from './cursor-shared.js'

/** Survey 6 changes after its page was read, and survey 1 before its page is read. */
const editWhilePaging = (api: ScriptedApi, title: string, begin: number) => (arrival: Arrival) => {
  if (isPage(arrival, 2)) edit(api, 6, title, after(begin + 10))
  if (isPage(arrival, 3)) edit(api, 1, title, after(begin + 20))
  return false
}

test('a survey that changes after its page was read is correct after the next run', async (context) => {
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

test('where the server sends no time, the cursor stays ten minutes behind our clock', async (context) => {
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
