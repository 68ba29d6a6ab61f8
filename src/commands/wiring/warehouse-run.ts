/** A run that writes to the warehouse: opens it, does the work, and publishes the committed rows. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { keepHeapSmall } from '../../base/small-heap.js'
import type { RunCommand, RunObserver, RunReport, SyncReport } from '../../model/run.js'
import { publishedPlaces, publishersOf } from '../../publish/formats.js'
import { shutdownDeadlineAfter } from '../../sync/budget/shutdown-deadline.js'
import { publishAll } from '../../sync/publish.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import { openWarehouse } from '../../warehouse/lifecycle/open.js'
import type { Work } from '../context.js'

/** Opens the warehouse and locks it. Throws a `WarehouseError`. Dispose of the database to release the lock. */
export const holdWarehouse = (directory: string, command: string, log: Log): Promise<Database> =>
  openWarehouse({
    directory,
    clock: systemClock,
    log,
    command: `fieldwork-sync ${command}`,
    published: publishedPlaces(directory),
  })

export interface WarehouseRun extends Work {
  readonly command: RunCommand
  readonly observer: RunObserver
}

/** Throws a `WarehouseError` or a bug; every other failure is in the report. */
export const runAndPublish = async (
  { settings, command, log, observer, signal }: WarehouseRun,
  work: (database: Database, runId: string) => Promise<readonly RunReport[]>,
): Promise<SyncReport> => {
  keepHeapSmall()
  const clock = systemClock
  const { warehouseDirectory: directory, publish } = settings
  using shutdown = shutdownDeadlineAfter(signal, clock)
  await using database = await holdWarehouse(directory, command, log)
  const reports = await work(database, newRunId(clock.nowMs()))
  // Awaited here: the database is closed when this function returns.
  return await publishAll({
    publishers: publishersOf(publish, { database, directory, clock, log }),
    reports,
    signal: shutdown.forWorkFromNow(),
    finishRun: (report) => accountWarehouse(database, report.account).finishRun(report),
    observer,
    log,
  })
}

/** Ids sort by time, and are unique even if two runs start in the same second. */
const newRunId = (nowMs: number): string =>
  `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}`
