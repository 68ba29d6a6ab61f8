/** Publishes that are killed at any step: readers always have a complete version, and the next publish needs no repair. */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PUBLISHED_VIEWS } from '../../../../src/model/publish-formats.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { isIntact } from '../../../../src/publish/parquet/manifest.js'
import { NEVER } from '../../../support/storage/bucket.js'
import { chance } from '../../../support/suite/chance.js'
import { minute } from '../../../support/time/instants.js'
import {
  currentOf,
  manifestOf,
  parquetOf,
  publishedCopies,
  publishParquet,
  tablesThatDiffer,
} from '../../../support/warehouse/parquet.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

const FIXTURE = fileURLToPath(new URL('fixtures/publish-and-die.mjs', import.meta.url))

const publishedOnce = publishedCopies(async ({ account }) => {
  await list(account, [survey(1)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], 'run-1')
}, PUBLISHED_VIEWS)

/** Resolves with the output of the process, and the signal that ended it. */
const publishElsewhere = (directory: string, killAt: number) =>
  new Promise<{ readonly stdout: string; readonly signal: string | null }>((resolve) => {
    execFile(process.execPath, [FIXTURE, directory, String(killAt)], (error, stdout) =>
      resolve({ stdout, signal: error?.signal ?? null }),
    )
  })

/** A published warehouse, with a change in every table of a survey since. */
const changed = async (): Promise<string> => {
  const warehouse = await publishedOnce()
  await list(warehouse.account, [survey(1, { title: 'new' }), survey(2)], minute(10))
  await warehouse.account.commitBundles([bundle(1, minute(11), [source(11)], progress(6))], 'run-1')
  await warehouse.database.close()
  return warehouse.directory
}

const expectWhole = async (version: string, where: string): Promise<number> => {
  const manifest = await manifestOf(version)
  for (const file of manifest.tables.flatMap(({ files }) => files))
    expect(await isIntact(version, file), `${where}: ${file.path}`).toBe(true)
  return manifest.version
}

const expectNextPublishes = async (warehouse: TestWarehouse, where: string): Promise<void> => {
  await publishParquet(warehouse, createLacks(warehouse.log), NEVER, PUBLISHED_VIEWS)
  const version = await expectWhole(currentOf(warehouse), where)
  expect(await tablesThatDiffer(warehouse, currentOf(warehouse), PUBLISHED_VIEWS), where).toEqual([])
  expect((await readdir(parquetOf(warehouse))).toSorted(), where).toEqual(['current', 'versions'])
  const kept = await readdir(join(parquetOf(warehouse), 'versions'))
  expect(kept.toSorted(), where).toEqual(
    Array.from({ length: version }, (_, at) => `00000${at + 1}`).slice(-3),
  )
}

// The simulation kills publishes of Parquet too.
test('a publish that is killed at any step leaves a complete version, and the next one publishes', async () => {
  const undisturbed = Number((await publishElsewhere(await changed(), 0)).stdout)
  expect(undisturbed).toBeGreaterThan(50)
  const lots = chance()
  // The last steps swap the link. The others resemble each other.
  const first = 1 + lots.below(8)
  const points = Array.from({ length: undisturbed }, (_, at) => at + 1).filter(
    (point) => point > undisturbed - 20 || point % 8 === first % 8,
  )
  for (const point of points) {
    const directory = await changed()
    const where = `killed at step ${point} of ${undisturbed}; ${lots.replay}`
    expect((await publishElsewhere(directory, point)).signal, where).toBe('SIGKILL')
    expect([1, 2], where).toContain(await expectWhole(join(directory, 'parquet', 'current'), where))
    await expectNextPublishes(await testWarehouse(directory), where)
  }
})
