/**
 * The proof that the store keeps the conditions of writes. Without them two runs at once would overwrite each other, and neither lease
 * nor pointer would show it. So no run goes on before a proof has succeeded. Only a success is remembered: after a proof that failed, or
 * was interrupted, the next run tries again.
 */
import { attemptPut } from '../../object-store/attempt-put.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { probeConditionalWrites } from '../../object-store/probe.js'
import { documentBody, parseDocument, proofSchema } from './documents.js'
import { PROOF_KEY } from './keys.js'

export interface Proving {
  readonly store: ObjectStore
  /** Origin of the server; null for AWS. */
  readonly endpoint: string | null
  readonly signal: AbortSignal
}

/** A server may lose its conditions with a new version, or with a gateway before it. */
const PROOF_MS_MAX = 7 * 24 * 3_600_000

/** Call it with the lease, and before anything else is written. Throws an `ObjectStoreError` if the store keeps no conditions. */
export const proveConditionalWrites = async ({ store, endpoint, signal }: Proving): Promise<void> => {
  const tried = `${endpoint ?? 'AWS'} ${store.address}`
  const found = await store.get(PROOF_KEY, signal)
  const isRecent = found !== null && (found.ageMs === null || found.ageMs <= PROOF_MS_MAX)
  if (isRecent && parseDocument(proofSchema, found.body)?.store === tried) return
  await requireConditionalWrites(store, signal)
  const body = documentBody({ format: 1, store: tried })
  // If it is not written, the next run proves it again.
  await attemptPut(() =>
    found === null
      ? store.putIfAbsent(PROOF_KEY, body, signal)
      : store.putIfMatch(PROOF_KEY, body, found.etag, signal),
  )
}

/** Throws an `ObjectStoreError` if the store keeps no conditions. Nothing is remembered. */
export const requireConditionalWrites = async (store: ObjectStore, signal: AbortSignal): Promise<void> => {
  const { problem } = await probeConditionalWrites(store, signal)
  if (problem !== null) throw new ObjectStoreError(problem)
}
