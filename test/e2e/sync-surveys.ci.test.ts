/** `sync --surveys` reads some surveys at once, and no later run can tell. */
import { expect, test } from 'vitest'
import { scriptedProgress } from '../support/api/scripted-api.js'
import { night } from '../support/command/trial.js'
import { openNight, requestsOf } from './sync-surveys-shared.js'

const CURSOR = 'SELECT updated_since, full_listed_at, counted_at, moved_at FROM _sync.cursors'

test('sync --surveys takes 2 requests and one per source, moves no cursor, and is no night', async (context) => {
  const trial = await openNight(context)
  const before = await trial.rows(CURSOR)
  const [one] = trial.api.surveys
  Object.assign(one?.survey ?? {}, { title: 'not read: the API has no address for one row' })
  Object.assign(one ?? {}, { progress: scriptedProgress(60), sourceProgress: { 101: scriptedProgress(40) } })
  const asked = await night(trial, 2.5, undefined, ['--surveys', '1, default/1'])
  expect(asked).toMatchObject({
    code: 0,
    run: {
      status: 'complete',
      command: 'sync --surveys',
      requests: 5,
      surveys_refreshed: 1,
      left_over: 0,
      listing: null,
    },
  })
  expect(requestsOf(trial)).toEqual([
    '/surveys/1/fieldwork_progress',
    ...[101, 102, 103].map((id) => `/surveys/1/fieldwork_progress?sample_source_id=${id}`),
    '/surveys/1/sample_sources?page=1',
  ])
  expect(await trial.rows(CURSOR)).toEqual(before)
  expect(
    await trial.rows(`SELECT s.title, p.interviews_count::INTEGER AS interviews, r.reason, r.made::INTEGER AS made
      FROM surveys s JOIN survey_progress p ON p.survey_id = s.id
      JOIN (SELECT reason, sum(made) AS made FROM _sync.requests WHERE run_id = '${asked.run.run_id}' GROUP BY ALL) r ON true WHERE s.id = 1`),
  ).toEqual([{ title: 'Survey 1', interviews: 60, reason: 'requested', made: 5 }])
  await trial.expectSound()
  const status = await trial.runWarm(['status', '--check'])
  expect(status.stdout, 'the night before was partial, and still is').toMatch(/^PARTIAL/)
})
