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
import { RATE_REQUESTS_MAX } from '../../settings/readers.js'
import type { Settings } from '../../settings/settings.js'

export interface HandingOver {
  readonly store: ObjectStore
  readonly lease: Lease
  readonly settings: Pick<Settings, 'accounts' | 'warehouseDirectory'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Fills the local ledgers before the first request: then they hold every request that may still count. `ledgersOf` is the holder whose
 * requests they hold completely; null without one.
 */
export const takeLedgersOver = async (
  handing: HandingOver,
  ledgersOf: string | null,
  signal: AbortSignal,
): Promise<void> => {
  const { store, lease, settings, clock } = handing
  const { warehouseDirectory: directory, accounts } = settings
  const inBucket = (await listLedgers(store, signal)).filter(isLedgerName)
  const source = ledgerSource(lease.previous, ledgersOf)
  if (source !== 'local') for (const name of ledgerNames(directory)) replaceLedgerText(directory, name, '')
  if (source === 'bucket')
    for (const name of inBucket) {
      const copy = await downloadLedger(store, name, signal)
      const text = copy === null ? '' : movedLedgerText(copy.text, clock.nowMs() - copy.writtenAtMs)
      replaceLedgerText(directory, name, text)
    }
  if (source === 'unknown') assumeFull(handing, inBucket)
  // If this run is killed, the next one knows by this of which accounts it may have used up the cap.
  for (const name of accounts.map(ledgerFileName).filter((own) => !inBucket.includes(own)))
    await uploadLedger({ store, lease, name, text: '', clock, signal })
}

/** Each cap of the bucket counts as used up now, also those of accounts that other runs have. */
const assumeFull = ({ settings, clock, log }: HandingOver, inBucket: readonly string[]): void => {
  const { warehouseDirectory: directory, accounts } = settings
  const own = new Map(accounts.map((account) => [ledgerFileName(account), account]))
  // The Redis of a shared cap counted what the last run sent.
  const names = [...new Set([...own.keys(), ...inBucket])].filter((name) => !own.get(name)?.shared)
  for (const name of names) {
    const requests = own.get(name)?.rate.requests ?? RATE_REQUESTS_MAX
    replaceLedgerText(directory, name, fullLedgerText(requests, clock.nowMs()))
  }
  if (names.length > 0)
    log.warn(
      {},
      'nobody knows what the last run, which was killed, sent at its end: the first requests wait until that has left the window',
    )
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
