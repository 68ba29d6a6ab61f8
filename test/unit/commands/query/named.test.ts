/** What named queries add up. */
import { expect, test } from 'vitest'
import { NAMED_QUERIES } from '../../../../src/commands/query/named.js'
import { hourOf } from '../../../support/time/instants.js'
import { bundle, list, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

const rowsOf = (name: string, columns: string): string =>
  `SELECT ${columns} FROM (${NAMED_QUERIES.find((query) => query.name === name)?.sql})`

test('rates by provider are of the sources that know both counts', async () => {
  const { account, cells } = await emptyWarehouse()
  const at = hourOf(2, 2)
  await list(account, [survey(1)], at, 'full')
  const counts = [
    { screen_out_individuals: 40, incomplete_individuals: 20 },
    { screen_out_individuals: null, incomplete_individuals: null },
  ].map((change) => progress(40, change))
  const sourceProgress = counts.map((row, place) => ({ sampleSourceId: 11 + place, progress: row, at }))
  await account.commitBundles([bundle(1, at, [source(11), source(12)], counts[0] ?? null, { sourceProgress })], RUN)
  expect(await cells(rowsOf('rates-by-provider', 'sources, complete, incidence, drop_out'))).toEqual([
    [2, 80, 40 / 80, 20 / 100],
  ])
})
