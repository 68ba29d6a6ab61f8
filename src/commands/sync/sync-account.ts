/** The wiring of one account's run: its HTTP client, its view of the warehouse, its allocation of the request budget. */
import { systemClock } from '../../base/clock.js'
import { type Log, logWith } from '../../base/log.js'
import { createRedactor } from '../../base/secret.js'
import { packageVersion } from '../../base/version.js'
import type { CreateTransport } from '../../http/transport.js'
import type { RunObserver, RunReport, RunStatus } from '../../model/run.js'
import type { SourceUsage } from '../../model/survey-source.js'
import type { AccountWarehouse } from '../../model/warehouse.js'
import { type AccountSettings, type Settings, secretsOf } from '../../settings/settings.js'
import type { Allocation } from '../../sync/budget/request-budget.js'
import { runAccount } from '../../sync/run.js'
import { accountWarehouse } from '../../warehouse/account-warehouse.js'
import type { Database } from '../../warehouse/connection/database.js'
import { openSource } from '../wiring/open-source.js'

export interface SyncAccount {
  readonly account: AccountSettings
  readonly settings: Settings
  readonly database: Database
  readonly log: Log
  readonly observer: RunObserver
  readonly signal: AbortSignal
  /** Of `--max-requests`; given back when the run has ended. */
  readonly requests: Allocation
  readonly onSource: (account: string, usage: () => SourceUsage) => void
  readonly createTransport?: CreateTransport | undefined
  readonly runId: string
}

/** Throws what ends more than this account's run. */
export const syncAccount = async (options: SyncAccount): Promise<RunReport> => {
  const { account, observer } = options
  // Several write into one log: every line says which.
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
  using requests = options.requests
  await using opened = openSource({
    account,
    limits: settings.limits,
    ledgerDirectory: settings.warehouseDirectory,
    clock: systemClock,
    log,
    ...(createTransport === undefined ? {} : { createTransport }),
  })
  options.onSource(account.name, () => opened.source.usage())
  return await runAccount({
    source: opened.source,
    warehouse: recordingWithout(settings.accounts, accountWarehouse(database, account.name)),
    clock: systemClock,
    log,
    observer: options.observer,
    signal: options.signal,
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
    requests,
    runId: options.runId,
    version: packageVersion(),
  })
}

/** What a bug says is recorded as why the run failed, and nobody knows beforehand what it says. */
const recordingWithout = (
  accounts: readonly AccountSettings[],
  warehouse: AccountWarehouse,
): AccountWarehouse => {
  const redact = createRedactor(secretsOf(accounts))
  return {
    ...warehouse,
    finishRun: (report) =>
      warehouse.finishRun({ ...report, reason: report.reason === null ? null : redact(report.reason) }),
  }
}
