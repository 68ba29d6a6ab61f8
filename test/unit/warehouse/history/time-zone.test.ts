/** The time zone of all days is stored with the data, and a new one moves the days of all readings. */
import { expect, test } from 'vitest'
import { storeTimeZone } from '../../../../src/warehouse/history/time-zone.js'
import { hourOf as at } from '../../../support/time/instants.js'
import { bundle, daysRead, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()
const NOW_MS = Date.parse('2026-03-20T00:00:00Z')

const GAINS = `SELECT strftime("day", '%d') AS "day", gained, gained_days FROM progress_daily d ORDER BY d."day"`

/** Readings at 14:00 UTC on the days 1, 2, 4 and 5, which is 23:00 in Tokyo and 04:00 of the same day in Honolulu. */
const readAtTwo = async ({ account }: TestWarehouse) => {
  await list(account, [survey(1)], at(1, 0), 'full')
  for (const [day, complete] of [
    [1, 10],
    [2, 14],
    [4, 20],
    [5, 20],
  ] as const)
    await account.commitBundles([bundle(1, at(day, 14), [source(10)], progress(complete))], RUN)
}

const DAYS = {
  // 14:00 is in the second half of the day, so a reading belongs to its own day.
  UTC: [
    ['01', null, null],
    ['02', 4, 1],
    ['04', 6, 2],
    ['05', 0, 1],
  ],
  'Asia/Tokyo': [
    ['01', null, null],
    ['02', 4, 1],
    ['04', 6, 2],
    ['05', 0, 1],
  ],
  // 04:00 is in the first half.
  'Pacific/Honolulu': [
    ['28', null, null],
    ['01', 4, 1],
    ['03', 6, 2],
    ['04', 0, 1],
  ],
} as const

test.each(Object.entries(DAYS))('in %s, a gain is on the day of its fieldwork', async (timeZone, days) => {
  const warehouse = await emptyWarehouse()
  await storeTimeZone(warehouse.database, timeZone, NOW_MS)
  await readAtTwo(warehouse)
  expect(await warehouse.cells(GAINS)).toEqual(days)
})

test('another time zone moves the days of all stored readings, and back', async () => {
  const warehouse = await emptyWarehouse()
  await storeTimeZone(warehouse.database, 'UTC', NOW_MS)
  await readAtTwo(warehouse)
  for (const timeZone of ['Pacific/Honolulu', 'Asia/Tokyo', 'UTC'] as const) {
    await storeTimeZone(warehouse.database, timeZone, NOW_MS)
    expect(await warehouse.cells(GAINS), timeZone).toEqual(DAYS[timeZone])
    await warehouse.expectRows('SELECT DISTINCT time_zone FROM _sync.clock_changes', [[timeZone]])
  }
})

test('a warehouse of an earlier version gets the days of its readings', async () => {
  const warehouse = await emptyWarehouse()
  await readAtTwo(warehouse)
  await warehouse.run('ALTER TABLE survey_progress_history ALTER "day" DROP NOT NULL')
  await warehouse.run('UPDATE survey_progress_history SET "day" = NULL, day_before = NULL')
  await warehouse.run('UPDATE freshness SET progress_day = NULL')
  await storeTimeZone(warehouse.database, 'UTC', NOW_MS)
  expect(await warehouse.cells(GAINS)).toEqual(DAYS.UTC)
})

test('the gain of a day is that of daily_windows, also of a day without a reading, if they have all of these days', async () => {
  const warehouse = await emptyWarehouse()
  const { account, cells } = warehouse
  await storeTimeZone(warehouse.database, 'UTC', NOW_MS)
  await list(account, [survey(1)], at(1, 0), 'full')
  const read = (day: number, complete: number, windows: Readonly<Record<string, number>>) => {
    const days = Object.entries(windows).map(([window, started]) =>
      daysRead([`2026-03-${window}`], [null, 10], progress(started), at(day)),
    )
    const [first] = days
    const all = first && { ...first, rows: days.flatMap(({ rows }) => rows) }
    return account.commitBundles(
      [bundle(1, at(day), [source(10)], progress(complete), all && { days: all })],
      RUN,
    )
  }
  await read(2, 5, {})
  // 4 new ones, of which one started on the first of March.
  await read(3, 9, { '01': 3, '02': 3 })
  // Nothing was read on day 4, so the gain covers two days.
  await read(5, 20, { '03': 6, '04': 4 })
  // A window is missing.
  await read(7, 30, { '06': 7 })
  const gains = [
    ['01', 3, 1],
    ['02', 3, 1],
    ['03', 6, 1],
    ['04', 4, 1],
    ['06', 10, 2],
  ]
  expect(await cells(GAINS)).toEqual(gains)
  expect(await cells(GAINS.replace('progress_daily', 'source_progress_daily'))).toEqual(gains)
})
