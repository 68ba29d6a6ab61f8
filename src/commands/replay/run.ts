/** The wiring of `replay`: opens the warehouse, replays the rows of each account in turn, and publishes. */
import { systemClock } from '../../base/clock.js'
import { ExpectedError } from '../../base/errors.js'
import { packageVersion } from '../../base/version.js'
import { createProgressLog } from '../../logging/progress.js'
import type { RunReport, SyncReport } from '../../model/run.js'
import { storageAddress } from '../../settings/storage.js'
import { decodeAgain } from '../../survey-api/decode-again.js'
import { replayAccount } from '../../sync/replay.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import { accountsInQuarantine } from '../../warehouse/history/replay.js'
import type { Work } from '../context.js'
import { hasWarehouse } from '../wiring/published.js'
import { type RunWatch, runAndPublish } from '../wiring/warehouse-run.js'

interface Replay extends Work {
  readonly watch: RunWatch | null
}

/**
 * Publishes even if quarantine is empty: a killed replay may have committed rows that are not published yet.
 * Throws a `WarehouseError`, an error `no_warehouse` or a bug; every other failure is in the report.
 */
export const replayAll = async ({ settings, log, signal, watch }: Replay): Promise<SyncReport> => {
  const clock = systemClock
  const { warehouseDirectory, storage } = settings
  // Opening would create a warehouse, even for a mistyped path.
  if (!(await hasWarehouse(settings, signal)))
    throw new ExpectedError(
      'no_warehouse',
      `there is no warehouse in ${storage === null ? warehouseDirectory : storageAddress(storage)}: nothing to replay. Check ${storage === null ? '--warehouse' : 'storage.url'}, or run fieldwork-sync sync first`,
    )
  const observer = createProgressLog({ log, clock, usage: () => undefined })
  return runAndPublish(
    { settings, command: 'replay', log, observer, signal, watch },
    async ({ database, runId, place }) => {
      const reports: RunReport[] = []
      for (const account of await database.exclusively(accountsInQuarantine)) {
        reports.push(
          await replayAccount({
            warehouse: accountWarehouse(database, account),
            decodeAgain,
            clock,
            signal: place.signal,
            rules: settings,
            runId,
            version: packageVersion(),
          }),
        )
      }
      return reports
    },
  )
}
