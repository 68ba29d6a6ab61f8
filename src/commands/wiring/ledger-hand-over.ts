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
  const { previous } = lease
  const source = ledgerSource(previous, ledgersOf)
  const uploaded = previous?.ledgers ?? []
  const local = ledgerNames(directory)
  if (source !== 'local') for (const name of local) replaceLedgerText(directory, name, '')
  let unknown: readonly string[] = []
  if (source === 'unknown') unknown = [...accounts.map(ledgerFileName), ...inBucket]
  else if (source === 'bucket')
    for (const name of new Set([...uploaded, ...inBucket])) {
      const copy = await downloadLedger(store, name, signal)
      if (copy === null) unknown = [...unknown, name]
      else replaceLedgerText(directory, name, movedLedgerText(copy.text, clock.nowMs() - copy.writtenAtMs))
    }
  else if (previous?.id === ledgersOf) unknown = uploaded.filter((name) => !local.includes(name))
  assumeFull(handing, unknown)
  // If this run is killed, the next one knows by this of which accounts it may have used up the cap.
  for (const name of accounts.map(ledgerFileName).filter((own) => !inBucket.includes(own)))
    await uploadLedger({ store, lease, name, text: '', clock, signal })
}

/** What was sent under these ledgers is unknown, so their caps count as used up now. They may be of accounts that other runs have. */
const assumeFull = ({ settings, clock, log }: HandingOver, unknown: readonly string[]): void => {
  const { warehouseDirectory: directory, accounts } = settings
  const own = new Map(accounts.map((account) => [ledgerFileName(account), account]))
  // The Redis of a shared cap counted what the last run sent.
  const names = [...new Set(unknown)].filter((name) => !own.get(name)?.shared)
  for (const name of names) {
    const requests = own.get(name)?.rate.requests ?? RATE_REQUESTS_MAX
    replaceLedgerText(directory, name, fullLedgerText(requests, clock.nowMs()))
  }
  if (names.length > 0)
    log.warn(
      { ledgers: names },
      'nobody knows what the last run sent at its end: it was killed, or its lease or ledger was deleted or damaged. The first requests wait until that has left the window',
    )
}

/** Uploads the local ledgers after the last request. Returns their names. */
export const handLedgersOn = async (
  { store, lease, settings, clock }: HandingOver,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const { warehouseDirectory: directory } = settings
  const names = ledgerNames(directory)
  for (const name of names) {
    const text = readLedgerText(directory, name)
    await uploadLedger({ store, lease, name, text, clock, signal })
  }
  return names
}
