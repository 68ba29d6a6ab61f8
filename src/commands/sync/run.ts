/** What `sync` does: opens the warehouse, runs all accounts side by side, and publishes the committed rows. */
import { systemClock } from '../../base/clock.js'
import { logWith } from '../../base/log.js'
import { createRedactor } from '../../base/secret.js'
import { packageVersion } from '../../base/version.js'
import type { CreateTransport } from '../../http/transport.js'
import type { RunObserver, RunReport, RunStatus, SyncReport } from '../../model/run.js'
import type { SourceUsage } from '../../model/survey-source.js'
import type { AccountWarehouse } from '../../model/warehouse.js'
import type { OpenStore } from '../../object-store/s3.js'
import { type AccountSettings, type SettingsWithSecrets, secretsOf } from '../../settings/settings.js'
import { requireShardLayout } from '../../storage/directory.js'
import type { Allocation } from '../../sync/requests.js'
import { runAccount } from '../../sync/run.js'
import { sideBySide } from '../../sync/side-by-side.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import type { Work } from '../context.js'
import { type CommandTelemetry, logProxies } from '../monitored-run.js'
import { openSource, type RunWatch, runAndPublish } from '../warehouse-run.js'

interface Sync extends Work, Pick<CommandTelemetry, 'progress'> {
  readonly watch: RunWatch | null
}

/** The job of the command, with its progress on stderr. Throws like `syncAccounts`, or for the directory of another shard layout. */
export const sync = async ({ progress, ...work }: Sync): Promise<SyncReport> => {
  const { settings, log } = work
  await requireShardLayout(settings)
  logProxies(settings.accounts, log)
  const sources = new Map<string, () => SourceUsage>()
  using observer = progress((account) => sources.get(account)?.())
  return await syncAccounts({
    ...work,
    observer,
    onSource: (account, usage) => sources.set(account, usage),
  })
}

export interface SyncAccounts extends Work {
  readonly observer: RunObserver
  /** Called once per account, as soon as its request usage can be read with `usage`. */
  readonly onSource: (account: string, usage: () => SourceUsage) => void
  /** Watches the run for its metrics. */
  readonly watch?: RunWatch | null | undefined
  /** The network, by default the real one; the simulation passes its own. */
  readonly createTransport?: CreateTransport | undefined
  /** The object store, by default a real one; the simulation passes its own. */
  readonly openStore?: OpenStore | undefined
}

/** Throws a `WarehouseError` or a bug; every other failure is in the report. */
export const syncAccounts = (options: SyncAccounts): Promise<SyncReport> => {
  const { settings, log } = options
  return runAndPublish({ ...options, command: 'sync' }, ({ database, runId, storage }) =>
    sideBySide({
      accounts: settings.accounts,
      requestsMax: settings.budget.requests_max,
      signal: storage.signal,
      log,
      run: (account, requests, signal) =>
        syncAccount({
          ...options,
          account,
          requests,
          database,
          runId,
          signal,
          requireAdmission: storage.requireHeld,
        }),
    }),
  )
}

interface SyncAccount extends SyncAccounts {
  readonly account: AccountSettings
  readonly database: Database
  /** The account's part of `--max-requests`. */
  readonly requests: Allocation
  readonly runId: string
  /** Throws if this process may no longer send requests. */
  readonly requireAdmission: () => void
}

/** One account: its HTTP client, its view of the warehouse, its allocation of the budget. Throws errors that end all runs. */
const syncAccount = async (options: SyncAccount): Promise<RunReport> => {
  const { account, observer } = options
  // Several accounts write into one log, so every line names its account.
  const log = logWith(options.log, { account: account.name })
  let status: RunStatus = 'failed'
  try {
    const report = await run({ ...options, log })
    status = report.status
    if (status === 'failed') log.error({ reason: report.reason }, 'the run of this account failed')
    return report
  } finally {
    observer.ended({ account: account.name, status })
  }
}

const run = async (options: SyncAccount): Promise<RunReport> => {
  const { account, settings, database, log, createTransport } = options
  await using opened = openSource({
    account,
    limits: settings.limits,
    ledgerDirectory: settings.warehouseDirectory,
    requireAdmission: options.requireAdmission,
    clock: systemClock,
    log,
    createTransport,
  })
  options.onSource(account.name, () => opened.source.usage())
  return await runAccount({
    source: opened.source,
    warehouse: recordingWithout(settings, accountWarehouse(database, account.name)),
    clock: systemClock,
    log,
    observer: options.observer,
    signal: options.signal,
    rules: settings,
    requests: options.requests,
    runId: options.runId,
    version: packageVersion(),
  })
}

/** The message of a bug is recorded as the reason of a failed run, and it may contain a token. */
const recordingWithout = (settings: SettingsWithSecrets, warehouse: AccountWarehouse): AccountWarehouse => {
  const redact = createRedactor(secretsOf(settings))
  return {
    ...warehouse,
    finishRun: (report) =>
      warehouse.finishRun({ ...report, reason: report.reason === null ? null : redact(report.reason) }),
  }
}
