/** The wiring of `sync`: opens the warehouse, runs all accounts side by side, and publishes the committed rows. */
import type { SyncReport } from '../../model/run.js'
import { createRequestBudget } from '../../sync/budget/request-budget.js'
import { sideBySide } from '../../sync/side-by-side.js'
import { runAndPublish } from '../wiring/warehouse-run.js'
import { type SyncAccounts, syncAccount } from './sync-account.js'

/** Throws a `WarehouseError` or a bug; every other failure is in the report. */
export const syncAccounts = (options: SyncAccounts): Promise<SyncReport> => {
  const { settings, log } = options
  const allocations = createRequestBudget(
    settings.budget.requestsMax,
    settings.accounts.map(({ weight }) => weight),
  )
  return runAndPublish({ ...options, command: 'sync' }, ({ database, runId, place }) =>
    sideBySide({
      accounts: settings.accounts.flatMap((account, place) => {
        const requests = allocations[place]
        return requests === undefined ? [] : [{ name: account.name, account, requests }]
      }),
      signal: place.signal,
      log,
      run: ({ account, requests }, stop) =>
        syncAccount({
          ...options,
          account,
          requests,
          database,
          runId,
          signal: stop,
          requireAdmission: place.requireHeld,
        }),
    }),
  )
}
