/** Forecasts are kept, and held against the day on which the target was reached. */
import { expect, test } from 'vitest'
import { storeForecasts } from '../../../../src/warehouse/history/forecasts.js'
import { hourOf } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

test('each day of fieldwork has one forecast, which says how many days it was off', async () => {
  const { account, database, cells } = await emptyWarehouse()
  await list(account, [survey(1), survey(2)], hourOf(1, 0), 'full')
  const read = async (day: number, complete: number, hour = 14) => {
    const readings = [1, 2].map((id) =>
      // The second survey has no target.
      bundle(id, hourOf(day, hour), [source(id)], progress(complete, { sample_size: id === 1 ? 40 : 0 })),
    )
    await account.commitBundles(readings, RUN)
    await storeForecasts(database)
  }
  for (const day of [1, 2, 3, 4]) await read(day, 5 * day)
  // A second run on the same day replaces its forecast. Another run that reads nothing changes nothing.
  await read(4, 21, 16)
  await storeForecasts(database)
  expect(
    await cells(
      "SELECT survey_id, strftime(\"day\", '%d'), interviews_count, strftime(expected_on, '%d') FROM survey_forecasts ORDER BY ALL",
    ),
  ).toEqual([
    [1, '01', 5, null],
    [1, '02', 10, null],
    [1, '03', 15, '08'],
    [1, '04', 21, '08'],
  ])
  await read(5, 30)
  await read(6, 39)
  // Reached, so no forecast is made any more.
  await read(7, 41)
  const accuracy = `SELECT strftime("day", '%d'), strftime(reached_on, '%d'), days_before, days_late, is_inside FROM forecast_accuracy ORDER BY "day"`
  expect(await cells(accuracy)).toEqual([
    ['01', '07', 6, null, null],
    ['02', '07', 5, null, null],
    ['03', '07', 4, -1, null],
    ['04', '07', 3, -1, null],
    ['05', '07', 2, 0, null],
    ['06', '07', 1, 0, null],
  ])
})

test('each forecast is held against the first day from its own on, also after the target was raised or complete ones were taken back', async () => {
  const { account, database, cells } = await emptyWarehouse()
  await list(account, [survey(1), survey(2)], hourOf(1, 0), 'full')
  const target = (day: number) => (day < 6 ? 40 : 70)
  // The first survey reaches 40 on the fourth day and 70 on the seventh. The second one reaches 40 on the fourth, and again on the seventh.
  const second = [10, 20, 30, 40, 32, 36, 44]
  for (const day of [1, 2, 3, 4, 5, 6, 7]) {
    const readings = [
      bundle(1, hourOf(day, 14), [], progress(10 * day, { sample_size: target(day) })),
      bundle(2, hourOf(day, 14), [], progress(second[day - 1] ?? 0, { sample_size: 40 })),
    ]
    await account.commitBundles(readings, RUN)
    await storeForecasts(database)
  }
  expect(
    await cells(
      `SELECT survey_id, strftime("day", '%d'), strftime(reached_on, '%d') FROM forecast_accuracy ORDER BY ALL`,
    ),
  ).toEqual([
    ...['01', '02', '03'].map((day) => [1, day, '04']),
    [1, '06', '07'],
    ...['01', '02', '03'].map((day) => [2, day, '04']),
    ...['05', '06'].map((day) => [2, day, '07']),
  ])
})

test('a forecast is neither inside nor outside of its interval before the target is reached', async () => {
  const { account, database, cells } = await emptyWarehouse()
  await list(account, [survey(1)], hourOf(1, 0), 'full')
  const keep = (from: number, to: number | null) =>
    database.transaction((sql) =>
      sql.run(`INSERT INTO survey_forecasts BY NAME SELECT 'acme' AS account, 1 AS survey_id, DATE '2026-03-0${from}' - 1 AS "day",
        now() AS made_at, 5 AS interviews_count, 40 AS sample_size, DATE '2026-03-0${from}' AS expected_on,
        DATE '2026-03-0${from}' AS expected_from, ${to === null ? 'NULL' : `DATE '2026-03-0${to}'`} AS expected_to`),
    )
  await keep(4, 6)
  await keep(5, null)
  await keep(7, 8)
  const inside = () => cells('SELECT is_inside FROM forecast_accuracy ORDER BY "day"')
  expect(await inside()).toEqual([[null], [null], [null]])
  await account.commitBundles([bundle(1, hourOf(6, 14), [source(1)], progress(40, { sample_size: 40 }))], RUN)
  expect(await inside()).toEqual([[true], [true], [false]])
})
