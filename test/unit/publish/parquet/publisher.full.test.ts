/** Publishing Parquet: the content of the files, and which of them are written. */
import { describe, expect, test } from 'vitest'
import { minute } from '../../../support/time/instants.js'
import {
  currentOf,
  filesOf,
  manifestOf,
  publishParquet,
  tablesThatDiffer,
  writtenAnew,
} from '../../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import { testWarehouse } from '../../../support/warehouse/warehouse.js'
import { FEBRUARY_FILE, JANUARY, publishedOnce } from './publisher-shared.js'

const isBookkeeping = (path: string): boolean => path.startsWith('_sync/')

describe('a published version', () => {
  test('has the columns of a table without rows', async () => {
    const warehouse = await testWarehouse()
    await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    const found = await warehouse.rows(
      `SELECT * FROM read_parquet('${currentOf(warehouse)}/surveys/**/*.parquet', hive_partitioning = true)`,
    )
    expect(found).toEqual([])
  })
})

describe('the next version', () => {
  test('moves all rows of a survey whose month of creation changed, each once', async () => {
    const warehouse = await publishedOnce()
    await list(warehouse.account, [survey(3, JANUARY)], minute(5))
    const moved = bundle(3, minute(6), [source(30), source(31)], progress(3))
    await warehouse.account.commitBundles([moved], 'run-2')
    await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    const data = [...(await filesOf(currentOf(warehouse))).keys()].filter((path) => !isBookkeeping(path))
    expect(data.filter((path) => path.includes('2026-02'))).toEqual([])
  })

  test('has a partition for rows whose survey is not stored', async () => {
    const warehouse = await publishedOnce()
    await warehouse.account.commitBundles([bundle(99, minute(5), [source(990)], progress(3))], 'run-2')
    await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    expect([...(await filesOf(currentOf(warehouse))).keys()]).toContain(
      'sample_sources/account=acme/created_month=unknown/data.parquet',
    )
  })

  test('writes the partitions that changed and links all others, also when a bookkeeping table alone has changed', async () => {
    const warehouse = await publishedOnce()
    const before = await filesOf(currentOf(warehouse))
    const changed = bundle(3, minute(9), [source(30), source(31)], progress(7))
    await warehouse.account.commitBundles([changed], 'run-2')
    await publishParquet(warehouse)
    expect(await tablesThatDiffer(warehouse)).toEqual([])
    const second = await filesOf(currentOf(warehouse))
    const written = writtenAnew(before, second)
    const pairs = ['sample_source_progress', 'survey_progress'].flatMap((name) => [name, `${name}_history`])
    expect(written).toEqual([...['freshness', ...pairs].map((name) => `${name}/${FEBRUARY_FILE}`)].toSorted())
    const { tables } = await manifestOf(currentOf(warehouse))
    const byManifest = tables.flatMap(({ files }) => files.filter(({ written_by }) => written_by === 2))
    expect(byManifest.map(({ path }) => path).toSorted()).toEqual(written)
    const run = { runId: 'run-2', command: 'sync', version: '1.2.3', startedAt: minute(20) } as const
    await warehouse.account.startRun(run)
    await publishParquet(warehouse)
    expect(writtenAnew(second, await filesOf(currentOf(warehouse)))).toEqual(['_sync/runs/data.parquet'])
  })
})
