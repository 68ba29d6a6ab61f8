/** The forecast's interval: its closed form compared with a direct search. `pace-worlds.test.ts` shows its promise of 80 %. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FORECAST_STEPS } from '../../../../src/warehouse/views/forecast.js'
import { openReader } from '../../../support/warehouse/duckdb.js'

interface Pace {
  readonly missing: number
  readonly paceDays: number
  readonly gained: number
  readonly spread: number
}

const DAYS_MAX = 3650

/** The days from the last known day to the expected one, and to the ends of the interval, as the views compute them. */
const forecasts = async (paces: readonly Pace[]) => {
  using reader = await openReader(':memory:')
  const values = paces.map(
    ({ missing, paceDays, gained, spread }, place) =>
      `(${place}, 'fieldwork', ${missing + 10}, 10, DATE '2026-03-01', ${paceDays}, ${gained}, ${gained}::DOUBLE / ${paceDays}, ${spread}::DOUBLE)`,
  )
  await reader.query(
    `CREATE TABLE paces AS SELECT * FROM (VALUES ${values.join(', ')})
      t(place, status, target, reached, as_of, pace_days, gained, per_day, spread)`,
  )
  const rows = await reader.query(
    `WITH rated_goals AS (SELECT *, per_day AS rate FROM paces), ${FORECAST_STEPS}
      SELECT expected_on - as_of, expected_from - as_of AS "from", expected_to - as_of AS "to" FROM forecasts ORDER BY place`,
  )
  return rows.map((row) => Object.values(row))
}

/** The first day on which the mean and each bound of the gain reach the target, found day by day. There is none without a mean. */
const searched = ({ missing, paceDays, gained, spread }: Pace): (number | null)[] => {
  const days = [0, 1, -1].map((sign) => {
    for (let day = 1; day <= DAYS_MAX; day += 1) {
      const [perDay, variance] = [gained / paceDays, spread ** 2 * (day + day ** 2 / paceDays)]
      const bound = perDay * day + sign * 1.28 * Math.sqrt(variance + (0.2 * perDay * day) ** 2)
      if (bound >= missing - 1e-6) return day
    }
    return null
  })
  return days[0] === null ? [null, null, null] : days
}

const pace = fc.record({
  missing: fc.integer({ min: 1, max: 5_000 }),
  paceDays: fc.integer({ min: 2, max: 7 }),
  gained: fc.integer({ min: 1, max: 500 }),
  // Rounded, so that no bound reaches the target within an error of the last digit.
  spread: fc.integer({ min: 0, max: 4_000 }).map((hundredths) => hundredths / 100),
})

test('a pace of zero or less has no forecast, also if more was lost than is missing', async () => {
  const lost = [0, -1, -20, -1_000].flatMap((gained) =>
    [1, 10, 5_000].map((missing) => ({ missing, paceDays: 7, gained, spread: 3 })),
  )
  expect(await forecasts(lost)).toEqual(lost.map(() => [null, null, null]))
})

test('a pace of one day has no forecast', async () => {
  expect(await forecasts([{ missing: 5, paceDays: 1, gained: 35, spread: 3 }])).toEqual([[null, null, null]])
})

test('the example of docs/explanation/forecast.md: 11 days, and between 8 and 20', async () => {
  expect(await forecasts([{ missing: 55, paceDays: 7, gained: 35, spread: 3 }])).toEqual([[11, 8, 20]])
})

test('the interval ends on the days that a search finds', async () => {
  const paces = fc.sample(pace, { numRuns: 1_000, seed: 17 })
  const found = await forecasts(paces)
  for (const [place, one] of paces.entries()) expect(found[place], JSON.stringify(one)).toEqual(searched(one))
  expect(found.filter(([, , to]) => to === null).length).toBeGreaterThan(100)
  expect(found.filter(([, , to]) => to !== null).length).toBeGreaterThan(100)
})
