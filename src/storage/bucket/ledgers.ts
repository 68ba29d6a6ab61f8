/**
 * Hands the request ledgers of a bucket over from run to run, so that the cap also holds when the next run is on another machine. All
 * ledgers are handed over, because a run may use only some of the accounts. Clocks of machines are not compared: a ledger counts as if it
 * had been written at the moment when it is read.
 */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { parseJson } from '../../base/parse.js'
import {
  fullLedgerText,
  isLedgerName,
  ledgerFileName,
  ledgerNames,
  movedLedgerText,
  readLedgerText,
  replaceLedgerText,
} from '../../http/rate-limit/ledger.js'
import { type ListedObject, listAll, type ObjectStore } from '../../object-store/object-store.js'
import { putDocument, stamp } from '../../object-store/owned-document.js'
import { RATE_REQUESTS_MAX } from '../../settings/readers.js'
import type { Settings } from '../../settings/settings.js'
import { LEASE_KEY, LEDGERS, ledgerSchema } from './documents.js'
import type { Lease, NamedLedgers, PreviousHolder } from './lease.js'
import { LostPublishError } from './pointer.js'

export interface HandingOver {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld' | 'previous'>
  readonly settings: Pick<Settings, 'accounts' | 'warehouseDirectory'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Fills the local ledgers before the first request, with every request that may still count. `ledgersOf` is the last run whose requests are
 * all in the local ledgers; null if the directory was never used with this bucket.
 */
export const restoreLedgers = async (
  handing: HandingOver,
  ledgersOf: string | null,
  signal: AbortSignal,
): Promise<void> => {
  const { store, lease, settings } = handing
  const { previous } = lease
  const directory = settings.warehouseDirectory
  const own = settings.accounts.map(ledgerFileName)
  const listed = new Map(
    (await listAll(store, LEDGERS, signal))
      .map((object) => [object.key.slice(LEDGERS.length), object] as const)
      .filter(([name]) => isLedgerName(name)),
  )
  const names = [...new Set([...own, ...listed.keys(), ...Object.keys(previous?.ledgers ?? {})])]
  const source = ledgerSource(previous, ledgersOf, listed.values())
  const local = new Set(ledgerNames(directory))
  // Requests that were sent from this directory before it was used with the bucket count as well.
  if ((source === 'bucket' || source === 'unknown') && ledgersOf !== null)
    for (const name of local) replaceLedgerText(directory, name, '')
  if (source === 'unknown') assumeFull(handing, names, whyUnknown(previous))
  if (previous !== null && (source === 'bucket' || source === 'local')) {
    const problems = new Map<string, string>()
    for (const name of names) {
      const known = { source, previous, listed: listed.get(name), isLocal: local.has(name) }
      const problem = await fill(handing, name, known, signal)
      if (problem !== null) problems.set(name, problem)
    }
    const why = `${[...problems.values()].join(', ')}, so nobody knows what was sent`
    assumeFull(handing, [...problems.keys()], why)
  }
  for (const name of own) {
    if (!ledgerNames(directory).includes(name)) replaceLedgerText(directory, name, '')
    // If this run is killed, the next run knows by these ledgers which accounts this run may have used.
    if (!listed.has(name)) await uploadLedger(handing, name, '', signal)
  }
}

/**
 * After this time no request counts under any setting: the longest window is an hour, and a lost request holds its slot for two timeouts of
 * at most ten minutes more.
 */
const LEDGER_MS_MAX = 2 * 3_600_000

/**
 * Which ledgers hold every request that may still count. `none`: no ledger is needed, because no run was here for hours. `local`: the
 * ledgers in the directory. `bucket`: the ledgers in the bucket. `unknown`: each cap is assumed to be used up now.
 */
type LedgerSource = 'none' | 'local' | 'bucket' | 'unknown'

/** `ledgersOf` as in `restoreLedgers`; `inBucket`: the ledgers in the bucket. */
export const ledgerSource = (
  previous: PreviousHolder | null,
  ledgersOf: string | null,
  inBucket: Iterable<ListedObject>,
): LedgerSource => {
  // A bucket that was emptied no longer has the requests of other directories.
  if (previous === null) return ledgersOf === null ? 'none' : 'unknown'
  // An old lease beside a young ledger comes from a restored backup.
  if ([previous, ...inBucket].every(isTooOld)) return 'none'
  if (previous.id !== null && previous.id === ledgersOf) return 'local'
  return previous.hasLedgers ? 'bucket' : 'unknown'
}

/** Whether the document is so old that no request in it counts any more, by the store's clock. */
const isTooOld = ({ ageMs }: { readonly ageMs: number | null }): boolean =>
  ageMs !== null && ageMs > LEDGER_MS_MAX

interface KnownLedger {
  readonly source: LedgerSource
  readonly previous: PreviousHolder
  /** Undefined if the ledger is not in the bucket. */
  readonly listed: ListedObject | undefined
  readonly isLocal: boolean
}

/** Fills one local ledger. Returns why its content is unknown; null if it is known. A missing ledger does not count as empty. */
const fill = async (
  { store, settings, clock }: HandingOver,
  name: string,
  { source, previous, listed, isLocal }: KnownLedger,
  signal: AbortSignal,
): Promise<string | null> => {
  const { warehouseDirectory: directory } = settings
  const isKept = source === 'local' && isLocal
  if (!previous.hasLedgers) {
    // The last run used this directory and was killed, so the local ledger is right.
    const isNeeded = !isKept && listed !== undefined && !isTooOld(listed)
    return isNeeded ? `${name} is missing in ${directory}` : null
  }
  const token = previous.ledgers?.[name]
  // The lease names all ledgers of the last run, so an account without a ledger was not used. Older versions name no ledgers.
  if (listed === undefined && token === undefined && (isKept || previous.ledgers !== null)) return null
  const key = `${LEDGERS}${name}`
  const stored = await store.get(key, signal)
  const document = stored === null ? null : parseJson(ledgerSchema, stored.body)
  if (document !== null && token !== undefined && document.token !== token)
    return `${key} is not the one that the last run left`
  if (isKept) return null
  if (stored === null || document === null) return `${key} is ${stored === null ? 'missing' : 'damaged'}`
  if (isTooOld(stored)) return null
  replaceLedgerText(directory, name, movedLedgerText(document.text, clock.nowMs() - document.written_at_ms))
  return null
}

const whyUnknown = (previous: PreviousHolder | null): string => {
  if (previous === null) return 'the bucket was emptied, so nobody knows what other machines sent'
  if (previous.id === null) return `${LEASE_KEY} was deleted, so nobody knows what the last run sent`
  return previous.wasReleased
    ? 'the last run could not upload its request ledgers, so nobody knows what it sent'
    : 'nobody knows what the last run, which was killed, sent at its end'
}

/** Makes each of these caps count as used up now, also caps of accounts of other runs. */
const assumeFull = ({ settings, clock, log }: HandingOver, ledgers: readonly string[], why: string): void => {
  const { warehouseDirectory: directory, accounts } = settings
  const own = new Map(accounts.map((account) => [ledgerFileName(account), account]))
  // The Redis of a shared cap has counted the requests of the last run.
  const names = ledgers.filter((name) => !own.get(name)?.shared)
  for (const name of names) {
    const requests = own.get(name)?.rate.requests ?? RATE_REQUESTS_MAX
    replaceLedgerText(directory, name, fullLedgerText(requests, clock.nowMs()))
  }
  if (names.length > 0) log.warn({}, `${why}: the first requests wait until that has left the window`)
}

/** Uploads the local ledgers after the last request. Returns the ledgers that the lease names when it is released. */
export const uploadLedgers = async (handing: HandingOver, signal: AbortSignal): Promise<NamedLedgers> => {
  const { warehouseDirectory: directory } = handing.settings
  const named: Record<string, string> = {}
  for (const name of ledgerNames(directory))
    named[name] = await uploadLedger(handing, name, readLedgerText(directory, name), signal)
  return named
}

/** Returns the token of the document. */
export const uploadLedger = async (
  { store, lease, clock }: Pick<HandingOver, 'store' | 'lease' | 'clock'>,
  name: string,
  text: string,
  signal: AbortSignal,
): Promise<string> => {
  const key = `${LEDGERS}${name}`
  const stored = await store.get(key, signal)
  const document = { ...stamp(), written_at_ms: Math.floor(clock.nowMs()), text }
  lease.assertHeld()
  const outcome = await putDocument(store, key, document, stored?.etag ?? null, signal)
  if (outcome.kind === 'lost')
    throw new LostPublishError(`${store.address}/${key} was written by another run at the same time`)
  return document.token
}
