/**
 * Replay after an upgrade. A build with one changed line in its decoder replays the rows that the previous build quarantined.
 * test/unit/sync/replay has the other rows.
 */
import { expect, test } from 'vitest'
import { openWarehouse } from '../../src/warehouse/lifecycle/open.js'
import { scriptedProgress, scriptedSurvey } from '../support/api/scripted-api.js'
import { buildMutant } from '../support/command/mutant.js'
import { lastLine, night, openTrial } from '../support/command/trial.js'
import { testLog } from '../support/log/test-log.js'
import { testClock } from '../support/time/test-clock.js'

/** A build that accepts integers written as text. */
const upgrade = () =>
  buildMutant({
    file: 'survey-api/api-types.js',
    from: "export const integer = z.int('expected an integer of at most 2^53 - 1').overwrite((value) => value + 0);",
    to: 'export const integer = z.union([z.int(), z.string().regex(/^[0-9]{1,15}$/).transform(Number)]);',
  })

test('after an upgrade, replay publishes rows without a request, and a sync continues', async (context) => {
  const trial = await openTrial(context, [
    scriptedSurvey(1, { status: 'complete' }, 1),
    scriptedSurvey(2, {}, 1),
  ])
  const { warehouse, published } = trial
  const noWarehouse = await trial.run(['replay'])
  expect(noWarehouse).toMatchObject({ code: 2, stdout: '' })
  expect(noWarehouse.stderr).toContain(`there is no warehouse in ${warehouse}: nothing to replay`)
  expect(await night(trial, 0)).toMatchObject({ code: 0 })

  const [settled, active] = trial.api.surveys
  Object.assign(settled?.survey ?? {}, {
    title: 'Renamed',
    updated_at: '2026-03-01T05:00:00Z',
    respondent_questions_count: '12',
  })
  Object.assign(active ?? {}, {
    progress: scriptedProgress(10, { interviews_count: '9' }),
    sourceProgress: { 201: scriptedProgress(9, { length_of_interview: 'long' }) },
  })
  expect(await night(trial, 1)).toMatchObject({
    code: 5,
    run: { rejected_rows: 3, surveys_failed: 0, left_over: 0 },
  })
  trial.api.arrivals.length = 0
  const beforeUpgrade = await trial.run(['replay'])
  expect(beforeUpgrade.code).toBe(5)
  expect(beforeUpgrade.stdout).toMatch(/^waiting +3 rows, kept in _sync\.rejected_rows$/m)
  expect(lastLine(beforeUpgrade)).toBe(
    'failed (exit 5): 3 rows still cannot be typed (_sync.rejected_rows); 0 rows replayed, 3 waiting.',
  )

  const upgraded = await upgrade()
  const replayed = await trial.run(['replay', '--json'], {}, upgraded)
  expect(replayed).toMatchObject({ code: 5 })
  expect(JSON.parse(replayed.stdout)).toMatchObject({
    status: 'failed',
    accounts: [
      {
        command: 'replay',
        requests: 0,
        left_over: 2,
        replayed: { merged: 1, queued: 1, outdated: 0, waiting: 1 },
        rejections: [{ endpoint: 'fieldwork_progress', rows: 1 }],
      },
    ],
    published: [{ format: 'duckdb', path: published }],
  })
  expect(trial.api.arrivals).toEqual([])
  // The stored sources and progress belong to the old row, so the new row waits for its bundle.
  expect(await trial.rows('SELECT title FROM surveys WHERE id = 1')).toEqual([{ title: 'Survey 1' }])
  expect(
    await trial.rows('SELECT title, respondent_questions_count AS questions FROM _sync.pending_surveys'),
  ).toEqual([{ title: 'Renamed', questions: 12 }])
  expect(await trial.rows('SELECT command, status FROM _sync.runs ORDER BY started_at')).toEqual([
    { command: 'sync', status: 'complete' },
    { command: 'sync', status: 'failed' },
    { command: 'replay', status: 'failed' },
    { command: 'replay', status: 'failed' },
  ])
  const status = await trial.run(['status', '--json'])
  expect(JSON.parse(status.stdout).rejections).toContainEqual(
    expect.objectContaining({ endpoint: 'surveys', rows: 1, replayed: 1 }),
  )

  Object.assign(active ?? {}, { sourceProgress: {} })
  expect(await trial.run(['sync'], {}, upgraded)).toMatchObject({ code: 0 })
  expect(
    await trial.rows('SELECT title, respondent_questions_count AS questions FROM surveys WHERE id = 1'),
  ).toEqual([{ title: 'Renamed', questions: 12 }])
  await trial.expectSound()

  await using _held = await openWarehouse({
    directory: warehouse,
    clock: testClock(),
    log: testLog(),
    command: 'somebody else',
  })
  const second = await trial.run(['replay'])
  expect(second).toMatchObject({ code: 6, stdout: '' })
  expect(second.stderr).toContain('is held by "somebody else"')
})
