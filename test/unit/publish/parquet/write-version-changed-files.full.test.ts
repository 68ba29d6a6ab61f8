/** Parquet files for a bucket: which of them are written, and under which keys. No file of an earlier version is on the disk. */
import { expect, test } from 'vitest'
import type { Manifest } from '../../../../src/publish/parquet/manifest.js'
import { accountWarehouse } from '../../../../src/warehouse/account-warehouse.js'
import { minute } from '../../../support/time/instants.js'
import { currentOf, manifestOf, publishParquet } from '../../../support/warehouse/parquet.js'
import { list, survey } from '../../../support/warehouse/rows.js'
import { copiesOf, testWarehouse } from '../../../support/warehouse/warehouse.js'
import {
  FEBRUARY,
  filesIn,
  JANUARY,
  VIEWS,
  writeFiles,
  writeFirst,
} from './write-version-changed-files-shared.js'

let first: Awaited<ReturnType<typeof writeFirst>> | null = null
const firstCopy = copiesOf(async (warehouse) => {
  await list(warehouse.account, [survey(1, JANUARY), survey(2, FEBRUARY)], minute(0), 'full')
  await list(accountWarehouse(warehouse.database, 'a b'), [survey(1, JANUARY)], minute(0), 'full')
  first = await writeFirst(warehouse)
})

/** Surveys of two months, and their first version, which is written once for all tests. Its files are not on the disk. */
const twoMonths = async () => {
  const warehouse = await testWarehouse(await firstCopy())
  if (first === null) throw new Error('nothing was written')
  return { warehouse, ...first }
}

test('files for a bucket are those of a local version, apart from their paths', async () => {
  const { warehouse } = await twoMonths()
  await publishParquet(warehouse, undefined, undefined, VIEWS)
  const local = await manifestOf(currentOf(warehouse))
  const { manifest } = await writeFiles(warehouse, { number: 1 })
  const withoutPaths = (of: Manifest) => filesIn(of).map(({ path: _, ...file }) => file)
  expect(withoutPaths(manifest)).toEqual(withoutPaths(local))
  expect({ ...manifest, tables: [] }).toEqual({ ...local, tables: [] })
})

test('files for a bucket are not written after a signal', async () => {
  const { warehouse } = await twoMonths()
  const stop = new Error('stop')
  await expect(writeFiles(warehouse, { number: 1, signal: AbortSignal.abort(stop) })).rejects.toBe(stop)
})
