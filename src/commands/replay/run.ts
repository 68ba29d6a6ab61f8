/** The wiring of `replay`: opens the warehouse as a sync does, replays account by account, and publishes. */
import { access } from 'node:fs/promises'
import { systemClock } from '../../base/clock.js'
import { ConfigError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { packageVersion } from '../../base/version.js'
import type { RunReport, SyncReport } from '../../model/run.js'
import { findPublishedParquet } from '../../publish/parquet/restore.js'
import type { Settings } from '../../settings/settings.js'
import { decodeAgain } from '../../survey-api/decode-again.js'
import { shutdownDeadlineAfter } from '../../sync/budget/shutdown-deadline.js'
import { publishAll } from '../../sync/publish.js'
import { replayAccount } from '../../sync/replay.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import { accountsInQuarantine } from '../../warehouse/history/replay.js'
import { parquetDirectory, publishedFile, workFile } from '../../warehouse/lifecycle/files.js'
import { openWarehouse } from '../../warehouse/lifecycle/open.js'
import { publishersOf } from '../wiring/publishers.js'
import { newRunId } from '../wiring/run-id.js'

/** No sync has ever run in the directory that the settings name. */
export class NoWarehouseError extends ConfigError {
  readonly code = 'no_warehouse'
}

export interface ReplayAll {
  readonly settings: Settings
  readonly log: Log
  readonly signal: AbortSignal
}

/** Throws a `WarehouseError`, `NoWarehouseError`, or a bug; everything else is in the report. */
export const replayAll = async ({ settings, log, signal }: ReplayAll): Promise<SyncReport> => {
  const clock = systemClock
  const directory = settings.warehouseDirectory
  await requireWarehouse(directory)
  using shutdown = shutdownDeadlineAfter(signal, clock)
  await using database = await openWarehouse({
    directory,
    clock,
    log,
    command: 'fieldwork-sync replay',
    findPublished: findPublishedParquet(directory),
  })
  const runId = newRunId(clock.nowMs())
  const reports: RunReport[] = []
  for (const account of await database.exclusively(accountsInQuarantine)) {
    reports.push(
      await replayAccount({
        warehouse: accountWarehouse(database, account),
        decodeAgain,
        clock,
        signal,
        rules: { contract: settings.contract, rejectedRowsMax: settings.limits.rejectedRowsMax },
        runId,
        version: packageVersion(),
      }),
    )
  }
  // Also where nothing was in quarantine: a replay that was killed may have committed what is not published yet.
  return await publishAll({
    publishers: publishersOf({ settings, database, clock, log }),
    reports,
    signal: shutdown.forWorkFromNow(),
    finishRun: (report) => accountWarehouse(database, report.account).finishRun(report),
    observer: {
      listed: () => undefined,
      refreshed: () => undefined,
      ended: () => undefined,
      publishing: (event) => log.info(event, 'publishing'),
    },
    log,
  })
}

/** Opening it would make one, and a slip in a path is no warehouse. */
const requireWarehouse = async (directory: string): Promise<void> => {
  for (const path of [workFile(directory), publishedFile(directory), parquetDirectory(directory)]) {
    const isThere = await access(path).then(
      () => true,
      () => false,
    )
    if (isThere) return
  }
  throw new NoWarehouseError(
    `there is no warehouse in ${directory}: nothing to replay. Check --warehouse, or run fieldwork-sync sync first`,
  )
}
