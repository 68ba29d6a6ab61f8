/**
 * The wiring of `sync`: opens the warehouse, runs all accounts side by side, and publishes what was committed.
 */
import { systemClock } from '../../base/clock.js'
import { type Log, logWith } from '../../base/log.js'
import { createRedactor } from '../../base/secret.js'
import { packageVersion } from '../../base/version.js'
import type { CreateWire } from '../../http/wire.js'
import type { RunObserver, RunReport, RunStatus, SyncReport } from '../../model/run.js'
import type { SourceUsage } from '../../model/survey-source.js'
import type { AccountWarehouse } from '../../model/warehouse.js'
import { findPublishedParquet } from '../../publish/parquet/restore.js'
import type { AccountSettings, Settings } from '../../settings/settings.js'
import { graceAfter } from '../../sync/grace.js'
import { publishAll } from '../../sync/publish.js'
import { runAccount } from '../../sync/run.js'
import { sideBySide } from '../../sync/side-by-side.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/database.js'
import { openWarehouse } from '../../warehouse/open.js'
import { openSource } from './open-source.js'
import { publishersOf } from './publishers.js'
import { newRunId } from './run-id.js'

export interface SyncAccounts {
  readonly settings: Settings
  readonly log: Log
  readonly observer: RunObserver
  readonly signal: AbortSignal
  /** Told how to ask for an account's usage, as soon as there is any. */
  readonly onSource: (account: string, usage: () => SourceUsage) => void
  /** The network; the real one unless given: a simulation brings its own. */
  readonly createWire?: CreateWire
}

/** Throws a `WarehouseError`, or a bug; everything else is in the report. */
export const syncAccounts = async (options: SyncAccounts): Promise<SyncReport> => {
  const { settings, log, observer, signal } = options
  const clock = systemClock
  const directory = settings.warehouseDirectory
  using grace = graceAfter(signal, clock)
  await using database = await openWarehouse({
    directory,
    clock,
    log,
    command: 'fieldwork-sync sync',
    findPublished: findPublishedParquet(directory),
  })
  const runId = newRunId(clock.nowMs())
  const watched = async (account: string, run: Promise<RunReport>): Promise<RunReport> => {
    let status: RunStatus = 'failed'
    try {
      const report = await run
      status = report.status
      if (status === 'failed' && settings.accounts.length > 1)
        log.warn(
          { account, reason: report.reason },
          'the run of this account failed; those of the others go on',
        )
      return report
    } finally {
      observer.ended({ account, status })
    }
  }
  const reports = await sideBySide({
    accounts: settings.accounts,
    signal,
    log,
    run: (account, stop) =>
      watched(account.name, syncAccount({ ...options, signal: stop }, database, account, runId)),
  })
  // Awaited here: the database is closed when this function returns.
  return await publishAll({
    publishers: publishersOf({ settings, database, clock, log }),
    reports,
    signal: grace.forWorkFromNow(),
    finishRun: (report) => accountWarehouse(database, report.account).finishRun(report),
    observer,
    log,
  })
}

const syncAccount = async (
  { settings, log: ofAll, observer, signal, onSource, createWire }: SyncAccounts,
  database: Database,
  account: AccountSettings,
  runId: string,
): Promise<RunReport> => {
  // Several write into one log: every line says which.
  const log = logWith(ofAll, { account: account.name })
  const ledgerDirectory = settings.warehouseDirectory
  await using opened = openSource({
    account,
    limits: settings.limits,
    ledgerDirectory,
    clock: systemClock,
    log,
    ...(createWire === undefined ? {} : { createWire }),
  })
  onSource(account.name, () => opened.source.usage())
  return await runAccount({
    source: opened.source,
    warehouse: recordingWithout(
      settings.accounts,
      accountWarehouse(database, account.name, settings.refresh.dailyWindows),
    ),
    clock: systemClock,
    log,
    observer,
    signal,
    rules: {
      discover: settings.discover,
      refresh: settings.refresh,
      history: settings.history,
      budget: settings.budget,
      contract: settings.contract,
      rejectedRowsMax: settings.limits.rejectedRowsMax,
      consecutiveFailuresMax: settings.limits.consecutiveFailuresMax,
      full: settings.full,
    },
    runId,
    version: packageVersion(),
  })
}

/** What a bug says is recorded as why the run failed, and nobody knows beforehand what it says. */
const recordingWithout = (
  accounts: readonly AccountSettings[],
  warehouse: AccountWarehouse,
): AccountWarehouse => {
  const redact = createRedactor(accounts.map(({ token }) => token))
  return {
    ...warehouse,
    finishRun: (report) =>
      warehouse.finishRun({ ...report, reason: report.reason === null ? null : redact(report.reason) }),
  }
}
