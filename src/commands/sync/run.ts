/**
 * The wiring of `sync`: opens the warehouse, runs all accounts side by side, and publishes what was committed.
 */
import { systemClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { CreateTransport } from '../../http/transport.js'
import type { RunObserver, SyncReport } from '../../model/run.js'
import type { SourceUsage } from '../../model/survey-source.js'
import { findPublishedParquet } from '../../publish/parquet/restore.js'
import type { Settings } from '../../settings/settings.js'
import { createRequestBudget } from '../../sync/budget/request-budget.js'
import { shutdownDeadlineAfter } from '../../sync/budget/shutdown-deadline.js'
import { publishAll } from '../../sync/publish.js'
import { sideBySide } from '../../sync/side-by-side.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import { openWarehouse } from '../../warehouse/lifecycle/open.js'
import { publishersOf } from '../wiring/publishers.js'
import { newRunId } from '../wiring/run-id.js'
import { syncAccount } from './sync-account.js'

export interface SyncAccounts {
  readonly settings: Settings
  readonly log: Log
  readonly observer: RunObserver
  readonly signal: AbortSignal
  /** Told how to ask for an account's usage, as soon as there is any. */
  readonly onSource: (account: string, usage: () => SourceUsage) => void
  /** The network; the real one unless given: a simulation brings its own. */
  readonly createTransport?: CreateTransport
}

/** Throws a `WarehouseError`, or a bug; everything else is in the report. */
export const syncAccounts = async (options: SyncAccounts): Promise<SyncReport> => {
  const { settings, log, observer, signal } = options
  const clock = systemClock
  const directory = settings.warehouseDirectory
  using shutdown = shutdownDeadlineAfter(signal, clock)
  await using database = await openWarehouse({
    directory,
    clock,
    log,
    command: 'fieldwork-sync sync',
    findPublished: findPublishedParquet(directory),
  })
  const runId = newRunId(clock.nowMs())
  const allocations = createRequestBudget(
    settings.budget.requestsMax,
    settings.accounts.map(({ weight }) => weight),
  )
  const reports = await sideBySide({
    accounts: settings.accounts.flatMap((account, place) => {
      const requests = allocations[place]
      return requests === undefined ? [] : [{ name: account.name, account, requests }]
    }),
    signal,
    log,
    run: ({ account, requests }, stop) =>
      syncAccount({ ...options, account, requests, database, runId, signal: stop }),
  })
  // Awaited here: the database is closed when this function returns.
  return await publishAll({
    publishers: publishersOf({ settings, database, clock, log }),
    reports,
    signal: shutdown.forWorkFromNow(),
    finishRun: (report) => accountWarehouse(database, report.account).finishRun(report),
    observer,
    log,
  })
}
