/** What each day of fieldwork shows, and what was gained on it. The job runs in the night after it. */
import { expect, test } from 'vitest'
import type { AccountWarehouse } from '../../../../src/model/warehouse.js'
import { storeTimeZone } from '../../../../src/warehouse/history/time-zone.js'
import { hourOf as at } from '../../../support/time/instants.js'
import { bundle, daysRead, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
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
  const rows = entries.map(([id, { createdOn }]) => source(Number(id), { created_at: at(createdOn, 11) }))
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

/** The days and the last day of the survey, and of each of its sources, with what they gained on all days and on the last one. */
const SHOWN = `SELECT source, count(*)::INT AS days, strftime(max("day"), '%d') AS last_day, sum(gained)::INT AS gained,
  max_by(gained, "day") AS gained_last
  FROM (SELECT NULL AS source, "day", gained FROM progress_daily
    UNION ALL SELECT sample_source_id, "day", gained FROM source_progress_daily)
  GROUP BY source ORDER BY source NULLS FIRST`

const statusOn = (status: string, day: number, hour = 15) => survey(1, { status, updated_at: at(day, hour) })

test('the days of a closed survey end with the last one on which it moved or was modified, however often it is read', async () => {
  const { account, cells } = await emptyWarehouse()
  const sources = (complete: number) => ({
    10: { complete, createdOn: -9 },
    11: { complete: 1, createdOn: -9 },
  })
  await list(account, [survey(1)], at(1), 'full')
  for (const [day, complete] of [[2, 5] as const, [3, 7] as const, [4, 7] as const])
    await read(account, 1, day, sources(complete))
  await list(account, [statusOn('complete', 5)], at(6))
  for (const day of [6, 7, 9, 13, 21]) {
    await read(account, 1, day, sources(7))
    // It stood still for three days before it was closed.
    expect(await cells(SHOWN)).toEqual([
      [null, 5, '05', 2, 0],
      [10, 5, '05', 2, 0],
      [11, 5, '05', 0, 0],
    ])
  }
  // Quality checks take one back. The days since the end were read up to the 20th.
  await read(account, 1, 25, sources(6))
  const corrected = [
    [null, 21, '24', 1, -1],
    [10, 21, '24', 1, -1],
    // It had not changed, so it is known on the days between too.
    [11, 24, '24', 0, 0],
  ]
  expect(await cells(SHOWN)).toEqual(corrected)
  await read(account, 1, 27, sources(6))
  expect(await cells(SHOWN)).toEqual(corrected)
  await list(account, [statusOn('fieldwork', 27)], at(28))
  await read(account, 1, 28, sources(6))
  await read(account, 1, 29, sources(8))
  await read(account, 1, 30, sources(8))
  expect(await cells(SHOWN)).toEqual([
    [null, 26, '29', 3, 0],
    [10, 26, '29', 3, 0],
    [11, 29, '29', 0, 0],
  ])
})

test('a survey that was closed before its first reading has one day', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [statusOn('complete', -20)], at(1), 'full')
  for (const day of [2, 3, 5, 9]) await read(account, 1, day, { 10: { complete: 5, createdOn: -30 } })
  expect(await cells(SHOWN)).toEqual([
    [null, 1, '01', null, null],
    [10, 1, '01', null, null],
  ])
})

test('with daily_windows, the days of a closed survey have the interviews that started on them, and end with it', async () => {
  const { account, database, cells } = await emptyWarehouse()
  await storeTimeZone(database, 'UTC', Date.UTC(2026, 2, 1))
  const readDays = (day: number, complete: number, windows: Readonly<Record<string, number>>) => {
    const days = Object.entries(windows).map(([window, started]) =>
      daysRead([`2026-03-${window}`], [null, 10], progress(started), at(day)),
    )
    const [first] = days
    const all = first && { days: { ...first, rows: days.flatMap(({ rows }) => rows) } }
    return account.commitBundles([bundle(1, at(day), [source(10)], progress(complete), all)], RUN)
  }
  await list(account, [survey(1)], at(1), 'full')
  await readDays(2, 5, {})
  await readDays(3, 9, { '02': 4 })
  await list(account, [statusOn('complete', 4)], at(6))
  // Nothing was read on days 4 and 5.
  await readDays(6, 20, { '03': 6, '04': 5, '05': 0 })
  await readDays(7, 20, {})
  await readDays(9, 20, {})
  const gains = [
    ['01', null],
    ['02', 4],
    ['03', 6],
    ['04', 5],
    ['05', 0],
  ]
  const GAINED = `SELECT strftime("day", '%d'), gained FROM progress_daily d ORDER BY d."day"`
  expect(await cells(GAINED)).toEqual(gains)
  expect(await cells(GAINED.replace('progress_daily', 'source_progress_daily'))).toEqual(gains)
})

test('what was created while nothing was read says how many days its first gain covers', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1, { created_at: at(1, 1) })], at(2), 'full')
  await read(account, 1, 2, { 10: { complete: 7, createdOn: 1 } })
  // A survey of the sixth, and sources of the sixth and the eighth. Half of these days had not passed by then.
  await list(account, [survey(2, { created_at: at(6, 11) })], at(12))
  await read(account, 1, 12, { 10: { complete: 9, createdOn: 1 }, 11: { complete: 4, createdOn: 8 } })
  await read(account, 2, 12, { 20: { complete: 30, createdOn: 6 }, 21: { complete: 8, createdOn: 8 } })
  await read(account, 2, 13, { 20: { complete: 31, createdOn: 6 }, 21: { complete: 8, createdOn: 8 } })
  expect(
    await cells(`SELECT survey_id, NULL AS source, strftime("day", '%d') AS "day", gained, gained_days FROM progress_daily
      UNION ALL SELECT survey_id, sample_source_id, strftime("day", '%d'), gained, gained_days FROM source_progress_daily ORDER BY ALL`),
  ).toEqual([
    [1, 10, '01', null, null],
    [1, 10, '11', 2, 10],
    [1, 11, '11', 4, 4],
    [1, null, '01', null, null],
    [1, null, '11', 6, 10],
    [2, 20, '11', 30, 6],
    [2, 20, '12', 1, 1],
    [2, 21, '11', 8, 4],
    [2, 21, '12', 0, 1],
    [2, null, '11', 38, 6],
    [2, null, '12', 1, 1],
  ])
})
