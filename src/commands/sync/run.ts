/**
 * The wiring of `sync`: opens the warehouse, runs all accounts side by side, and publishes what was committed.
 */
import type { Log } from '../../base/log.js'
import type { CreateWire } from '../../http/wire.js'
import type { RunObserver, SyncReport } from '../../model/run.js'
import type { SourceUsage } from '../../model/survey-source.js'
import type { Settings } from '../../settings/settings.js'
import { createRequestPot } from '../../sync/budget/request-pot.js'
import { sideBySide } from '../../sync/side-by-side.js'
import { runAndPublish } from '../wiring/warehouse-run.js'
import { syncAccount } from './sync-account.js'

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
export const syncAccounts = (options: SyncAccounts): Promise<SyncReport> => {
  const { settings, log, signal } = options
  const shares = createRequestPot(
    settings.budget.requestsMax,
    settings.accounts.map(({ share }) => share),
  )
  return runAndPublish({ ...options, command: 'sync' }, (database, runId) =>
    sideBySide({
      accounts: settings.accounts.flatMap((account, place) => {
        const requests = shares[place]
        return requests === undefined ? [] : [{ name: account.name, account, requests }]
      }),
      signal,
      log,
      run: ({ account, requests }, stop) =>
        syncAccount({ ...options, account, requests, database, runId, signal: stop }),
    }),
  )
}
