/**
 * Hands the request ledgers of a bucket from run to run, so that the cap also holds when the next run is on another machine. All ledgers
 * are handed over, because a run may use only some of the accounts.
 */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import {
  fullLedgerText,
  isLedgerName,
  ledgerFileName,
  ledgerNames,
  movedLedgerText,
  readLedgerText,
  replaceLedgerText,
} from '../../http/rate-limit/ledger.js'
import type { ListedObject, ObjectStore } from '../../object-store/object-store.js'
import type { Lease, NamedLedgers, PreviousHolder } from '../../publish/bucket/held-lease.js'
import { LEASE_KEY, ledgerKey } from '../../publish/bucket/keys.js'
import {
  downloadLedger,
  hasLedgers,
  isTooOld,
  ledgerSource,
  listLedgers,
  uploadLedger,
} from '../../publish/bucket/ledger.js'
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
 * requests they hold completely; null if the directory was never used with this bucket.
 */
export const takeLedgersOver = async (
  handing: HandingOver,
  ledgersOf: string | null,
  signal: AbortSignal,
): Promise<void> => {
  const { store, lease, settings, clock } = handing
  const { previous } = lease
  const directory = settings.warehouseDirectory
  const own = settings.accounts.map(ledgerFileName)
  const listed = await listLedgers(store, signal)
  const inBucket = new Map([...listed].filter(([name]) => isLedgerName(name)))
  const names = [...new Set([...own, ...inBucket.keys(), ...Object.keys(previous?.ledgers ?? {})])]
  const source = ledgerSource(previous, ledgersOf, inBucket.values())
  const local = new Set(ledgerNames(directory))
  // What a directory sent before it was used with this bucket counts as well.
  if ((source === 'bucket' || source === 'unknown') && ledgersOf !== null)
    for (const name of local) replaceLedgerText(directory, name, '')
  if (source === 'unknown') assumeFull(handing, names, whyUnknown(previous))
  if (previous !== null && (source === 'bucket' || source === 'local')) {
    const problems = new Map<string, string>()
    for (const name of names) {
      const known = { source, previous, listed: inBucket.get(name), isLocal: local.has(name) }
      const problem = await fill(handing, name, known, signal)
      if (problem !== null) problems.set(name, problem)
    }
    assumeFull(
      handing,
      [...problems.keys()],
      `${[...problems.values()].join(', ')}, so nobody knows what was sent`,
    )
  }
  for (const name of own) {
    if (!ledgerNames(directory).includes(name)) replaceLedgerText(directory, name, '')
    // If this run is killed, the next one knows by this of which accounts it may have used up the cap.
    if (!inBucket.has(name)) await uploadLedger({ store, lease, name, text: '', clock, signal })
  }
}

interface KnownLedger {
  readonly source: 'bucket' | 'local'
  readonly previous: PreviousHolder
  /** Undefined if it is not in the bucket. */
  readonly listed: ListedObject | undefined
  readonly isLocal: boolean
}

/** Fills one local ledger. Returns why nobody knows what it held; null if that is known. A ledger that is missing is not an empty one. */
const fill = async (
  { store, settings, clock }: HandingOver,
  name: string,
  { source, previous, listed, isLocal }: KnownLedger,
  signal: AbortSignal,
): Promise<string | null> => {
  const isKept = source === 'local' && isLocal
  if (!hasLedgers(previous)) {
    // The last run was killed, and used this directory.
    const isNeeded = !isKept && listed !== undefined && !isTooOld(listed)
    return isNeeded ? `${name} is missing in ${settings.warehouseDirectory}` : null
  }
  const token = previous.ledgers?.[name]
  // The last run names all ledgers that it left: an account without one was not used. Older versions name none.
  if (listed === undefined && token === undefined && (isKept || previous.ledgers !== null)) return null
  const found = await downloadLedger(store, name, token, signal)
  if (found.kind === 'old') return null
  if (isKept && found.kind !== 'replaced') return null
  if (found.kind === 'replaced') return `${ledgerKey(name)} is not the one that the last run left`
  if (found.kind !== 'copy') return `${ledgerKey(name)} is ${found.kind}`
  const text = movedLedgerText(found.text, clock.nowMs() - found.writtenAtMs)
  replaceLedgerText(settings.warehouseDirectory, name, text)
  return null
}

const whyUnknown = (previous: PreviousHolder | null): string => {
  if (previous === null) return 'the bucket was emptied, so nobody knows what other machines sent'
  if (previous.id === null) return `${LEASE_KEY} was deleted, so nobody knows what the last run sent`
  return previous.wasReleased
    ? 'the last run could not upload its request ledgers, so nobody knows what it sent'
    : 'nobody knows what the last run, which was killed, sent at its end'
}

/** Each of these caps counts as used up now, also those of accounts that other runs have. */
const assumeFull = ({ settings, clock, log }: HandingOver, ledgers: readonly string[], why: string): void => {
  const { warehouseDirectory: directory, accounts } = settings
  const own = new Map(accounts.map((account) => [ledgerFileName(account), account]))
  // The Redis of a shared cap counted what the last run sent.
  const names = ledgers.filter((name) => !own.get(name)?.shared)
  for (const name of names) {
    const requests = own.get(name)?.rate.requests ?? RATE_REQUESTS_MAX
    replaceLedgerText(directory, name, fullLedgerText(requests, clock.nowMs()))
  }
  if (names.length > 0) log.warn({}, `${why}: the first requests wait until that has left the window`)
}

/** Uploads the local ledgers after the last request. Returns what the lease names when it is released. */
export const handLedgersOn = async (
  { store, lease, settings, clock }: HandingOver,
  signal: AbortSignal,
): Promise<NamedLedgers> => {
  const { warehouseDirectory: directory } = settings
  const named: [string, string][] = []
  for (const name of ledgerNames(directory)) {
    const text = readLedgerText(directory, name)
    named.push([name, await uploadLedger({ store, lease, name, text, clock, signal })])
  }
  return Object.fromEntries(named)
}
