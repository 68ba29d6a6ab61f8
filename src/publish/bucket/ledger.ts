/**
 * Hands the request ledgers to the next run, which may be on another machine. The format of a ledger belongs to `http/rate-limit`; here
 * it is a text. Clocks of machines are not compared: a ledger counts as if it had been written when it is read.
 */
import type { Clock } from '../../base/clock.js'
import { listAll } from '../../object-store/list-all.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { putDocument } from './conditional.js'
import { ledgerSchema, newToken, parseDocument } from './documents.js'
import { LostPublishError } from './errors.js'
import type { Lease, PreviousHolder } from './held-lease.js'
import { LEDGERS, ledgerKey } from './keys.js'

/**
 * After so long no request counts under any setting: the longest window is an hour, and a request that was lost holds its slot for two
 * timeouts of at most ten minutes more.
 */
export const LEDGER_MS_MAX = 2 * 3_600_000

/**
 * `local`: the local ledgers hold every request that may still count. `bucket`: those in the bucket do. `unknown`: nobody knows, so
 * assume that each cap was used up just now.
 */
export type LedgerSource = 'local' | 'bucket' | 'unknown'

/** `ledgersOf`: the holder whose requests the local ledgers hold completely. */
export const ledgerSource = (previous: PreviousHolder | null, ledgersOf: string | null): LedgerSource => {
  if (previous === null || (previous.id !== null && previous.id === ledgersOf)) return 'local'
  if (previous.ageMs !== null && previous.ageMs > LEDGER_MS_MAX) return 'local'
  return previous.wasReleased && previous.ledgers !== null ? 'bucket' : 'unknown'
}

export interface LedgerCopy {
  /** Empty if no request of it may still count. */
  readonly text: string
  /** Wall clock of the machine that wrote it, milliseconds since 1970. */
  readonly writtenAtMs: number
}

/** The names of the ledgers in the bucket. */
export const listLedgers = async (store: ObjectStore, signal: AbortSignal): Promise<readonly string[]> =>
  (await listAll(store, LEDGERS, signal)).map(({ key }) => key.slice(LEDGERS.length))

/** Null if it is missing or damaged: then nobody knows what was sent. `name` is the name of the local file. */
export const downloadLedger = async (
  store: ObjectStore,
  name: string,
  signal: AbortSignal,
): Promise<LedgerCopy | null> => {
  const found = await store.get(ledgerKey(name), signal)
  const document = found === null ? null : parseDocument(ledgerSchema, found.body)
  if (found === null || document === null) return null
  const isOutdated = found.ageMs !== null && found.ageMs > LEDGER_MS_MAX
  return { text: isOutdated ? '' : document.text, writtenAtMs: document.written_at_ms }
}

export interface LedgerUpload {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  readonly name: string
  readonly text: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Call it after the last request of the run. */
export const uploadLedger = async (upload: LedgerUpload): Promise<void> => {
  const { store, lease, name, text, clock, signal } = upload
  const key = ledgerKey(name)
  const found = await store.get(key, signal)
  const document = { format: 1, token: newToken(), written_at_ms: Math.floor(clock.nowMs()), text }
  lease.assertHeld()
  const outcome = await putDocument({ store, key, document, replaces: found?.etag ?? null, signal })
  if (outcome.kind === 'lost')
    throw new LostPublishError(`${store.address}/${key} was written by another run at the same time`)
}
