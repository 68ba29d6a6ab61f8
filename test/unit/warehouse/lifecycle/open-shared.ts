/** What both test files of open use. */
import { expect } from 'vitest'
import { createDuckdbPublisher } from '../../../../src/publish/duckdb.js'
import { createLacks } from '../../../../src/publish/file-system-lacks.js'
import { publishedPlaces } from '../../../../src/publish/formats.js'
import { openWarehouse } from '../../../../src/warehouse/lifecycle/open.js'
import { testLog } from '../../../support/log/test-log.js'
import { minute } from '../../../support/time/instants.js'
import { testClock } from '../../../support/time/test-clock.js'
import { bundle, list, progress, source, survey } from '../../../support/warehouse/rows.js'
import { queuedTasks } from '../../../support/warehouse/run-dependencies.js'
import { copiesOf, type TestWarehouse } from '../../../support/warehouse/warehouse.js'

/** A warehouse with two surveys, published, and closed again. */
export const publishedWarehouse = copiesOf(async ({ account, database, directory, log }) => {
  await list(account, [survey(1), survey(2)], minute(0), 'full')
  await account.commitBundles([bundle(1, minute(1), [source(11)], progress(5))], 'run-1')
  await createDuckdbPublisher(database, directory, createLacks(log)).publish(new AbortController().signal)
})

export const expectRebuilt = async (warehouse: TestWarehouse): Promise<void> => {
  await warehouse.expectRows('SELECT id, title FROM surveys ORDER BY id', [
    [1, 'Survey 1'],
    [2, 'Survey 2'],
  ])
  expect(await warehouse.account.position()).toMatchObject({ cursor: minute(-5), fullListedAt: minute(0) })
  expect((await queuedTasks(warehouse.account, minute(10))).map(({ surveyId }) => surveyId)).toEqual([2])
  expect(warehouse.log.lines.map(({ message }) => message)).toContain(
    'the work database was lost and is rebuilt from the published file',
  )
}

export const open = (directory: string) =>
  openWarehouse({
    directory,
    clock: testClock(),
    log: testLog(),
    command: 'a test',
    published: publishedPlaces(directory),
  })
