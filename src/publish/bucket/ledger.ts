/**
 * Hands the request ledgers to the next run, which may be on another machine. The format of a ledger belongs to `http/rate-limit`; here
 * it is a text. Clocks of machines are not compared: a ledger counts as if it had been written when it is read.
 */
import type { Clock } from '../../base/clock.js'
import { listAll } from '../../object-store/list-all.js'
import type { ListedObject, ObjectStore } from '../../object-store/object-store.js'
import { putDocument } from './conditional.js'
import { ledgerSchema, newToken, parseDocument } from './documents.js'
import { type Lease, LostPublishError, type PreviousHolder } from './held-lease.js'
import { LEDGERS, ledgerKey } from './keys.js'

/**
 * After so long no request counts under any setting: the longest window is an hour, and a request that was lost holds its slot for two
 * timeouts of at most ten minutes more.
 */
export const LEDGER_MS_MAX = 2 * 3_600_000

/**
 * Which ledgers hold every request that may still count. `none` is needed, because no run was here for hours. `local`: those in the
 * directory. `bucket`: those in the bucket. `unknown`: nobody knows, so assume that each cap was used up just now.
 */
export type LedgerSource = 'none' | 'local' | 'bucket' | 'unknown'

/**
 * `ledgersOf`: the holder whose requests the local ledgers hold completely; null if the directory was never used with this bucket.
 * `inBucket`: the ledgers there.
 */
export const ledgerSource = (
  previous: PreviousHolder | null,
  ledgersOf: string | null,
  inBucket: Iterable<ListedObject>,
): LedgerSource => {
  // A bucket that was emptied has forgotten what other directories sent.
  if (previous === null) return ledgersOf === null ? 'none' : 'unknown'
  // An old lease beside a young ledger was restored.
  if ([previous, ...inBucket].every(isTooOld)) return 'none'
  if (previous.id !== null && previous.id === ledgersOf) return 'local'
  return hasLedgers(previous) ? 'bucket' : 'unknown'
}

/** Whether the bucket has every request of a run. */
export const hasLedgers = ({ wasReleased, ledgersUploaded }: PreviousHolder): boolean =>
  wasReleased && ledgersUploaded

/** Whether no request in it may count any more, by the store's clock. */
export const isTooOld = ({ ageMs }: { readonly ageMs: number | null }): boolean =>
  ageMs !== null && ageMs > LEDGER_MS_MAX

/** The ledgers in the bucket by the names of their local files. */
export const listLedgers = async (
  store: ObjectStore,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ListedObject>> =>
  new Map((await listAll(store, LEDGERS, signal)).map((object) => [object.key.slice(LEDGERS.length), object]))

/** `replaced`: it is not the ledger that the last run left. `old`: nothing in it may count any more. */
export type FoundLedger =
  | { readonly kind: 'missing' | 'damaged' | 'replaced' | 'old' }
  /** `writtenAtMs`: wall clock of the machine that wrote it, milliseconds since 1970. */
  | { readonly kind: 'copy'; readonly text: string; readonly writtenAtMs: number }

/** `name` is the name of the local file. `token` is that of the ledger that the last run left; undefined if nobody knows. */
export const downloadLedger = async (
  store: ObjectStore,
  name: string,
  token: string | undefined,
  signal: AbortSignal,
): Promise<FoundLedger> => {
  const found = await store.get(ledgerKey(name), signal)
  if (found === null) return { kind: 'missing' }
  const document = parseDocument(ledgerSchema, found.body)
  if (document === null) return { kind: 'damaged' }
  if (token !== undefined && document.token !== token) return { kind: 'replaced' }
  if (isTooOld(found)) return { kind: 'old' }
  return { kind: 'copy', text: document.text, writtenAtMs: document.written_at_ms }
}

export interface LedgerUpload {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  readonly name: string
  readonly text: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Call it after the last request of the run. Returns the token of the document. */
export const uploadLedger = async (upload: LedgerUpload): Promise<string> => {
  const { store, lease, name, text, clock, signal } = upload
  const key = ledgerKey(name)
  const found = await store.get(key, signal)
  const token = newToken()
  const document = { format: 1, token, written_at_ms: Math.floor(clock.nowMs()), text }
  lease.assertHeld()
  const outcome = await putDocument({ store, key, document, replaces: found?.etag ?? null, signal })
  if (outcome.kind === 'lost')
    throw new LostPublishError(`${store.address}/${key} was written by another run at the same time`)
  return token
}
