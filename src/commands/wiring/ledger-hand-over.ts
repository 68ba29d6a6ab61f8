/**
 * Hands the request ledgers of a bucket from run to run, so that the cap also holds when the next run is on another machine. All ledgers
 * are handed over, because a run may use only some of the accounts.
 */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { ledgerFileName } from '../../http/rate-limit/ledger.js'
import {
  fullLedgerText,
  isLedgerName,
  ledgerNames,
  movedLedgerText,
  readLedgerText,
  replaceLedgerText,
} from '../../http/rate-limit/ledger-hand-over.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import type { Lease } from '../../publish/bucket/held-lease.js'
import { downloadLedger, ledgerSource, listLedgers, uploadLedger } from '../../publish/bucket/ledger.js'
import type { Settings } from '../../settings/settings.js'

export interface HandingOver {
  readonly store: ObjectStore
  readonly lease: Lease
  readonly settings: Pick<Settings, 'accounts' | 'warehouseDirectory'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Fills the local ledgers before the first request. `ledgersOf` is the holder whose requests they hold completely; null without one.
 * Returns whether they hold now every request that may still count.
 */
export const takeLedgersOver = async (
  { store, lease, settings, clock, log }: HandingOver,
  ledgersOf: string | null,
  signal: AbortSignal,
): Promise<boolean> => {
  const { warehouseDirectory: directory, accounts } = settings
  const source = ledgerSource(lease.previous, ledgersOf)
  if (source === 'local') return true
  for (const name of ledgerNames(directory)) replaceLedgerText(directory, name, '')
  if (source === 'bucket') {
    for (const name of (await listLedgers(store, signal)).filter(isLedgerName)) {
      const copy = await downloadLedger(store, name, signal)
      const text = copy === null ? '' : movedLedgerText(copy.text, clock.nowMs() - copy.writtenAtMs)
      replaceLedgerText(directory, name, text)
    }
    return true
  }
  // The Redis of a shared cap counted what the last run sent.
  const own = accounts.filter(({ shared }) => shared === null)
  for (const account of own)
    replaceLedgerText(
      directory,
      ledgerFileName(account),
      fullLedgerText(account.rate.requests, clock.nowMs()),
    )
  if (own.length > 0)
    log.warn(
      {},
      'nobody knows what the last run, which was killed, sent at its end: the first requests wait until that has left the window',
    )
  return false
}

/** Uploads the local ledgers after the last request. */
export const handLedgersOn = async (
  { store, lease, settings, clock }: HandingOver,
  signal: AbortSignal,
): Promise<void> => {
  const { warehouseDirectory: directory } = settings
  for (const name of ledgerNames(directory)) {
    const text = readLedgerText(directory, name)
    await uploadLedger({ store, lease, name, text, clock, signal })
  }
}
