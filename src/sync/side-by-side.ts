/**
 * Runs all accounts at the same time. An error that one run throws (a warehouse that cannot be written, a bug) stops the others
 * (docs/decisions/accounts-and-budgets.md#0051-accounts-run-side-by-side).
 */
import { EXIT_CODES, ExpectedError, messageOf, StoppedError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import { RequestCounter } from './requests.js'

interface SideBySide<Account, Report> {
  readonly accounts: readonly Account[]
  /** `--max-requests` of all accounts together; null: no limit. */
  readonly requestsMax: number | null
  readonly signal: AbortSignal
  readonly log: Log
  /** The run of one account, with the counter of all accounts. `signal` also aborts after the run of another account has thrown. */
  readonly run: (account: Account, requests: RequestCounter, signal: AbortSignal) => Promise<Report>
}

/**
 * The reports are in the order of the accounts. If a run throws, this rejects after all runs have ended: with the first error of the
 * warehouse, or else with the first error, because later errors may be consequences.
 */
export const sideBySide = async <Account extends { readonly name: string }, Report>({
  accounts,
  requestsMax,
  signal,
  log,
  run,
}: SideBySide<Account, Report>): Promise<readonly Report[]> => {
  const failed = new AbortController()
  const failures: unknown[] = []
  const together = AbortSignal.any([signal, failed.signal])
  const requests = new RequestCounter(requestsMax)
  const reports = await Promise.all(
    accounts.map(async (account): Promise<readonly Report[]> => {
      try {
        return [await run(account, requests, together)]
      } catch (error) {
        failures.push(error)
        if (accounts.length > 1) logFailure(log, account.name, error, failures.length === 1)
        failed.abort(
          new StoppedError(
            `stopped by the run of account ${account.name}, which ended with: ${messageOf(error)}`,
          ),
        )
        return []
      }
    }),
  )
  if (failures.length > 0) throw failures.find(isWarehouseFailure) ?? failures[0]
  return reports.flat()
}

const logFailure = (log: Log, account: string, error: unknown, isFirst: boolean): void =>
  log.error(
    { account, err: error },
    isFirst
      ? 'the run of this account failed in a way that concerns all accounts: the other accounts are stopped'
      : 'the run of this account failed as well',
  )

const isWarehouseFailure = (error: unknown): boolean =>
  error instanceof ExpectedError && error.exitCode === EXIT_CODES.warehouse
