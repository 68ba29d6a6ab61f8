/** The points of the curves are readings that know the number of complete interviews. A curve is level while nothing was observed. */
import { expect, test } from 'vitest'
import { curveOf, thinnedDays } from '../../../../src/publish/report/read.js'
import { minute } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'

const at = (day: number) => minute(day * 1440 + 120)

test('a reading without a number of interviews is no fall to zero', async () => {
  const { account, rows } = await testWarehouse()
  await list(account, [survey(1)], at(0), 'full')
  for (const [day, complete] of [10, null, 16].entries())
    await account.commitBundles(
      [bundle(1, at(day), [], progress(complete ?? 0, { interviews_count: complete }))],
      RUN,
    )
  const days = await rows(`SELECT interviews_count FROM (${thinnedDays('main.freshness')}) ORDER BY "day"`)
  expect(days.map(({ interviews_count }) => interviews_count)).toEqual([10, 16])
})

const bands = { undecided: 0, rejected: 0, not_needed: 0, screened_out: 0, incomplete: 0 }
const row = (day: number, interviews_count: number) => ({
  ...{ account: 'default', survey_id: 1, day, interviews_count, sample_size: 100 },
  ...{ complete: interviews_count, ...bands },
})

/** Each point is `day:interviews`. */
test.each([
  { what: 'is empty without observations', observed: '', lastDay: 14, curve: '' },
  {
    what: 'has each day with an observation as it is',
    ...{ observed: '10:1 11:3 12:4', lastDay: 12, curve: '10:1 11:3 12:4' },
  },
  {
    what: 'is level until the day before the next observation',
    ...{ observed: '10:1 15:9', lastDay: 15, curve: '10:1 14:1 15:9' },
  },
  { what: 'goes on to the last reading', observed: '10:1', lastDay: 14, curve: '10:1 14:1' },
  {
    // 24 points before the last 28 days: one in 14.
    what: 'has longer steps on earlier days',
    ...{ observed: '0:1 14:5 70:20 364:80', lastDay: 364, curve: '0:1 14:5 56:5 70:20 363:20 364:80' },
  },
])('a curve $what', ({ observed, lastDay, curve }) => {
  const points = observed.split(' ').filter((point) => point !== '')
  const rows = points.map((point) => row(...numbersOf(point)))
  const found = curveOf(rows, lastDay).map(({ day, interviews_count }) => `${day}:${interviews_count}`)
  expect(found.join(' ')).toBe(curve)
})

const numbersOf = (point: string): [number, number] => {
  const [day, interviews] = point.split(':').map(Number)
  return [day ?? 0, interviews ?? 0]
}
