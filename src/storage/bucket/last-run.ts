/**
 * `last-run.json` of a bucket. Only the holder of the lease writes the document, and the lease says whether a run is under way, so no clock
 * is needed.
 */
import { parseJson } from '../../base/parse.js'
import { type ObjectStore, ObjectStoreError } from '../../object-store/object-store.js'
import { putDocument, stamp } from '../../object-store/owned-document.js'
import { LAST_RUN_KEY, type LastRunDocument, type LastRuns, lastRunSchema, lastRunsOf } from '../last-run.js'
import type { LeaseState } from './lease.js'

/** Null for an object that cannot be read, which the next run replaces. */
const contentsOf = (body: Uint8Array): LastRunDocument | null => parseJson(lastRunSchema, body)

/** Null without a readable document. */
export const readLastRuns = async (
  store: ObjectStore,
  lease: LeaseState | null,
  signal: AbortSignal,
): Promise<LastRuns> => {
  const stored = await store.get(LAST_RUN_KEY, signal)
  const document = stored === null ? null : contentsOf(stored.body)
  return lastRunsOf(document, ({ run_id }) => lease?.isAlive === true && lease.holder.id === run_id)
}

const PUTS_MAX = 3

/** `change` returns null if the document stays. Throws an `ObjectStoreError`. */
export const changeLastRun = async (
  store: ObjectStore,
  change: (current: LastRunDocument | null) => LastRunDocument | null,
  signal: AbortSignal,
): Promise<void> => {
  for (let puts = 0; puts < PUTS_MAX; puts += 1) {
    const stored = await store.get(LAST_RUN_KEY, signal)
    const next = change(stored === null ? null : contentsOf(stored.body))
    if (next === null) return
    const document = { ...next, ...stamp() }
    const outcome = await putDocument(store, LAST_RUN_KEY, document, stored?.etag ?? null, signal)
    if (outcome.kind === 'written') return
  }
  throw new ObjectStoreError(`${store.address}/${LAST_RUN_KEY} could not be written: another run replaces it`)
}
