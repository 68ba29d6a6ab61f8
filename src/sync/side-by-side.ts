/**
 * The accounts of a run, all at the same time: each has its own limiter and waits for its own slots, so that together
 * they take as long as the slowest of them. What goes wrong with one account is in its report and nobody else's; what
 * its run throws concerns them all (a warehouse that cannot be written, a bug), and stops the others.
 */
import { EXIT_CODES, ExpectedError, messageOf, StoppedError } from '../base/errors.js'
import type { Log } from '../base/log.js'

export interface SideBySide<Account extends { readonly name: string }, Report> {
  readonly accounts: readonly Account[]
  /** Aborts with a `StoppedError`. */
  readonly signal: AbortSignal
  readonly log: Log
  /** The run of one account. Its signal aborts with `signal`, or when the run of another account threw. */
  readonly run: (account: Account, signal: AbortSignal) => Promise<Report>
}

/**
 * The reports, in the order of the accounts. Rejects when all runs have ended, with what the first of them threw; with
 * a warehouse that cannot be written rather than with what may have come of it.
 */
export const sideBySide = async <Account extends { readonly name: string }, Report>({
  accounts,
  signal,
  log,
  run,
}: SideBySide<Account, Report>): Promise<readonly Report[]> => {
  const failed = new AbortController()
  const failures: unknown[] = []
  const together = AbortSignal.any([signal, failed.signal])
  const reports = await Promise.all(
    accounts.map(async (account): Promise<readonly Report[]> => {
      try {
        return [await run(account, together)]
      } catch (error) {
        failures.push(error)
        if (accounts.length > 1) tell(log, account.name, error, failures.length === 1)
        failed.abort(
          new StoppedError(
            `stopped by the run of account ${account.name}, which ended with: ${messageOf(error)}`,
          ),
        )
        return []
      }
    }),
  )
  if (failures.length > 0) throw failures.find(isOfTheWarehouse) ?? failures[0]
  return reports.flat()
}

const tell = (log: Log, account: string, error: unknown, isFirst: boolean): void =>
  log.error(
    { account, err: error },
    isFirst
      ? 'the run of this account ended with what concerns all accounts: the other accounts are stopped'
      : 'the run of this account could not be ended as it should either',
  )

const isOfTheWarehouse = (error: unknown): boolean =>
  error instanceof ExpectedError && error.exitCode === EXIT_CODES.warehouse
