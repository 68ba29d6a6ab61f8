/** What each day of fieldwork shows, and what was gained on it. The job runs in the night after it. */
import { expect, test } from 'vitest'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { hourOf as at } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

/** Reads a survey with its sources, each of which has that many complete interviews. */
const read = (
  account: AccountWarehouse,
  surveyId: number,
  day: number,
  sources: Readonly<Record<number, { readonly complete: number; readonly createdOn: number }>>,
  hour = 3,
) => {
  const entries = Object.entries(sources)
  const sourceProgress = entries.map(([id, { complete }]) => ({
    sampleSourceId: Number(id),
    progress: progress(complete),
    at: at(day, hour),
  }))
  const rows = entries.map(([id, { createdOn }]) => source(Number(id), { created_at: at(createdOn, 12) }))
  const all = entries.reduce((total, [, { complete }]) => total + complete, 0)
  return account.commitBundles(
    [bundle(surveyId, at(day, hour), rows, progress(all), { sourceProgress })],
    RUN,
  )
}

const GAINS = `SELECT survey_id, strftime("day", '%d') AS "day", gained, gained_days,
  (SELECT sum(gained)::INT FROM source_progress_daily s WHERE s.survey_id = d.survey_id AND s."day" = d."day") AS of_sources
  FROM progress_daily d ORDER BY ALL`

test('what began after the first reading has gained from 0, so that gains of sources add up to those of the survey', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1, { created_at: at(1, 1) })], at(2), 'full')
  await read(account, 1, 2, { 10: { complete: 7, createdOn: 1 } })
  // A survey and a source that are new on the third day.
  await list(account, [survey(2, { created_at: at(3, 12) })], at(4))
  await read(account, 1, 4, { 10: { complete: 9, createdOn: 1 }, 11: { complete: 4, createdOn: 3 } })
  await read(account, 2, 4, { 20: { complete: 3, createdOn: 3 }, 21: { complete: 0, createdOn: 3 } })
  await read(account, 2, 5, { 20: { complete: 5, createdOn: 3 }, 21: { complete: 1, createdOn: 3 } })
  expect(await cells(GAINS)).toEqual([
    // Nobody knows when the first seven were.
    [1, '01', null, null, null],
    [1, '03', 6, 2, 6],
    [2, '03', 3, 1, 3],
    [2, '04', 3, 1, 3],
  ])
})

test('the gain of a source that was there before its first reading is not known', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1)], at(1), 'full')
  await read(account, 1, 1, { 10: { complete: 1, createdOn: 0 } })
  await read(account, 1, 3, { 10: { complete: 2, createdOn: 0 }, 11: { complete: 5, createdOn: -9 } })
  expect(
    await cells(
      `SELECT sample_source_id, strftime("day", '%d'), gained FROM source_progress_daily ORDER BY sample_source_id, "day"`,
    ),
  ).toEqual([
    // Day 0 of March is the last of February.
    [10, '28', null],
    [10, '02', 1],
    [11, '02', null],
  ])
})

test('a source that was created between two readings of the first day has the same gains after compaction', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1)], at(2), 'full')
  await read(account, 1, 2, { 10: { complete: 1, createdOn: 1 } })
  await read(account, 1, 2, { 10: { complete: 2, createdOn: 1 }, 11: { complete: 5, createdOn: 2 } }, 20)
  await read(account, 1, 3, { 10: { complete: 2, createdOn: 1 }, 11: { complete: 6, createdOn: 2 } }, 3)
  await read(account, 1, 4, { 10: { complete: 2, createdOn: 1 }, 11: { complete: 8, createdOn: 2 } })
  const gains = [
    [1, '01', null, null, null],
    [1, '02', 7, 1, 7],
    [1, '03', 2, 1, 2],
  ]
  expect(await cells(GAINS)).toEqual(gains)
  expect(await account.compactProgress(at(4, 0), { runId: RUN, at: at(5) })).toBeGreaterThan(0)
  expect(await cells(GAINS)).toEqual(gains)
})
