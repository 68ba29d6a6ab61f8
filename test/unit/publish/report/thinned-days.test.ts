/** The points of the curves are readings that know the number of complete interviews. */
import { expect, test } from 'vitest'
import { thinnedDays } from '../../../../src/publish/report/thinned-days.js'
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
