/** What named queries add up, and what they say of a target that is reached. */
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
  await account.commitBundles(
    [bundle(1, at, [source(11), source(12)], counts[0] ?? null, { sourceProgress })],
    RUN,
  )
  expect(await cells(rowsOf('rates-by-provider', 'sources, complete, incidence, drop_out'))).toEqual([
    [2, 80, 40 / 80, 20 / 100],
  ])
})

test('the forecast says which targets are reached', async () => {
  const { account, cells } = await emptyWarehouse()
  await list(account, [survey(1), survey(2), survey(3)], hourOf(1, 0), 'full')
  for (const day of [1, 2, 3, 4]) {
    const reading = (id: number, complete: number, sample_size: number) =>
      bundle(id, hourOf(day, 14), [], progress(complete, { sample_size }))
    await account.commitBundles(
      [reading(1, 10 * Math.min(2, day), 20), reading(2, 5 * day, 60), reading(3, 5 * day, 0)],
      RUN,
    )
  }
  expect(await cells(rowsOf('forecast', `survey_id, strftime(expected, '%d'), reached`))).toEqual([
    [1, '04', true],
    [2, '12', false],
    [3, null, false],
  ])
})
