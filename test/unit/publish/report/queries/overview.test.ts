/** The totals of the report hold the interviews of surveys with a target against the targets. */
import { expect, test } from 'vitest'
import { overview } from '../../../../../src/publish/report/queries/overview.js'
import { hourOf } from '../../../../support/time/instants.js'
import { bundle, list, progress, RUN, survey } from '../../../../support/warehouse/rows.js'
import { sharedWarehouse } from '../../../../support/warehouse/warehouse.js'

const emptyWarehouse = sharedWarehouse()

test.each([
  ['a target, no target, and an unknown one', [100, 0, null], [30, 100, 0.3]],
  ['no target', [0, null, 0], [30 + 200 + 500, 0, null]],
])('%s', async (_, targets, totals) => {
  const { account, cells } = await emptyWarehouse()
  const at = hourOf(3, 2)
  await list(account, [survey(1), survey(2), survey(3)], at, 'full')
  const complete = [30, 200, 500]
  const read = complete.map((count, place) =>
    bundle(place + 1, at, [], progress(count, { sample_size: targets[place] ?? null })),
  )
  await account.commitBundles(read, RUN)
  const columns = 'interviews_count, sample_size, completion_rate'
  expect(await cells(`SELECT ${columns} FROM (${overview.totals.select})`)).toEqual([totals])
})
