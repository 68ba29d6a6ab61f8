/** A run that writes to the warehouse: opens it, does the work, and publishes the committed rows. */
import { systemClock } from '../../base/clock.js'
import { keepHeapSmall } from '../../base/small-heap.js'
import type { RunCommand, RunObserver, RunReport, SyncReport } from '../../model/run.js'
import type { OpenStore } from '../../object-store/s3.js'
import { publishAll, shutdownDeadlineAfter } from '../../sync/publish.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import type { Work } from '../context.js'
import { holdPlace } from './hold-place.js'
import type { Place } from './place.js'
import { newRunId } from './run-id.js'

export interface WarehouseRun extends Work {
  readonly command: RunCommand
  readonly observer: RunObserver
  /** Watches the run for its metrics; null if there are none. */
  readonly watch?: RunWatch | null | undefined
  /** The object store, by default a real one; the simulation passes its own. */
  readonly openStore?: OpenStore | undefined
}

export interface RunWatch {
  /** The run holds the warehouse. It has waited so long, such as for the lease of a bucket. */
  held(waitMs: number): void
  /** The run has published. The database is still open. */
  published(database: Database): Promise<void>
}

export interface OpenRun {
  readonly database: Database
  readonly runId: string
  readonly place: Pick<Place, 'signal' | 'requireHeld'>
}

/** Throws a `WarehouseError` or a bug; every other failure is in the report. */
export const runAndPublish = async (
  { settings, command, log, observer, signal, openStore, watch = null }: WarehouseRun,
  work: (run: OpenRun) => Promise<readonly RunReport[]>,
): Promise<SyncReport> => {
  keepHeapSmall()
  const clock = systemClock
  using shutdown = shutdownDeadlineAfter(signal, clock)
  const runId = newRunId(clock.nowMs())
  const startedMs = clock.monotonicMs()
  await using place = await holdPlace({ settings, command, runId, log, signal, openStore })
  const waitMs = clock.monotonicMs() - startedMs
  await using database = await place.openWarehouse()
  watch?.held(waitMs)
  const reports = await work({ database, runId, place })
  const report = await publishAll({
    publishers: place.publishers(database),
    reports,
    signal: shutdown.forWorkFromNow(),
    finishRun: (report) => accountWarehouse(database, report.account).finishRun(report),
    observer,
    log,
  })
  await watch?.published(database)
  return report
}
