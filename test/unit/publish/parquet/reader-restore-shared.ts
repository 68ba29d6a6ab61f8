/** What both test files of reader-restore use. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createDuckdbPublisher } from '../../../../src/publish/duckdb.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { minute } from '../../../support/time/instants.js'
import { publishedCopies } from '../../../support/warehouse/parquet.js'
import { bundle, list, listingPage, progress, RUN, source, survey } from '../../../support/warehouse/rows.js'
import { type TestWarehouse, testWarehouse } from '../../../support/warehouse/warehouse.js'

/** One survey that was read, one that is queued, an interrupted listing, and quarantined rows, one of invalid JSON. */
export const publishedOnce = publishedCopies(async ({ account }) => {
  await account.startRun({ runId: RUN, command: 'sync', version: '1.2.3', startedAt: minute(0) })
  await list(account, [survey(1, { _extra: '{"a":"\\ud800"}' }), survey(2)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], RUN)
  const position = { kind: 'incremental', updatedSince: minute(-5), ceiling: minute(2) } as const
  await account.startListing({ ...position, startedAt: minute(2) })
  const ofNobody = { surveyId: null, sampleSourceId: null, rowId: null }
  const rejection = { ...ofNobody, endpoint: 'surveys', problem: 'id: is missing' } as const
  const rejections = ['{"lone":"\\ud800"}', '{"fine":1}'].map((raw) => ({ ...rejection, raw }))
  await account.commitListingPages([
    listingPage([survey(1, { title: 'waits' })], minute(2), {
      ...{ kind: 'incremental', rejections, nextPage: 2, totalCount: 9 },
    }),
  ])
})

/** Removes the work database, and opens the warehouse again. */
export const lose = async ({ database, directory }: TestWarehouse): Promise<TestWarehouse> => {
  await database.close()
  await rm(join(directory, 'work.duckdb'))
  return testWarehouse(directory)
}

export const night = async (warehouse: TestWarehouse, number: number): Promise<void> => {
  const started = { command: 'sync', version: '1.2.3', startedAt: minute(number * 10) } as const
  await warehouse.account.startRun({ runId: `run-${number}`, ...started })
  await list(warehouse.account, [survey(2, { title: `night ${number}` })], minute(number * 10))
}

export const publishDuckdb = ({ database, directory, log }: TestWarehouse) =>
  createDuckdbPublisher(database, directory, createLacks(log)).publish(new AbortController().signal)

export const titles = async (warehouse: TestWarehouse) =>
  (await warehouse.rows('SELECT title FROM surveys WHERE id = 2')).map(({ title }) => title)

export const warnings = ({ log }: TestWarehouse) => log.lines.filter(({ level }) => level === 'warn')
