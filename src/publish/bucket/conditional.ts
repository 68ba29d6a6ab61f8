/**
 * Reads documents, and writes them under a condition. A put whose answer is lost may have happened, and the client's own repetition of
 * a put that won is answered with "the condition does not hold". So we read the object back and compare its token.
 */
import { z } from 'zod'
import { WarehouseError } from '../../base/errors.js'
import { attemptPut } from '../../object-store/attempt-put.js'
import { ObjectStoreError } from '../../object-store/errors.js'
import type { ObjectStore, StoredObject } from '../../object-store/object-store.js'
import { probeConditionalWrites } from '../../object-store/probe.js'
import { documentBody, parseDocument, proofSchema } from './documents.js'
import { PROOF_KEY } from './keys.js'

export interface ReadDocument<Document> {
  readonly document: Document
  readonly etag: string
  readonly ageMs: number | null
}

/** Null if there is no such object. Throws `bucket_damaged` if it is not such a document. */
export const readDocument = async <Document>(
  store: ObjectStore,
  key: string,
  schema: z.ZodType<Document>,
  signal: AbortSignal,
): Promise<ReadDocument<Document> | null> => {
  const found = await store.get(key, signal)
  if (found === null) return null
  const document = parseDocument(schema, found.body)
  if (document === null)
    throw new WarehouseError(
      'bucket_damaged',
      `${store.address}/${key} cannot be read: it is damaged, or a newer version of fieldwork-sync wrote it. Update fieldwork-sync, or restore the object from the bucket's own versions`,
    )
  return { document, etag: found.etag, ageMs: found.ageMs }
}

export interface ConditionalPut {
  readonly store: ObjectStore
  readonly key: string
  readonly document: { readonly token: string }
  /** The ETag of the object to replace; null: there must be no object. */
  readonly replaces: string | null
  readonly signal: AbortSignal
}

/** `lost`: somebody else wrote or deleted the object. `found` is the object now. */
export type ConditionalOutcome =
  | { readonly kind: 'written'; readonly etag: string }
  | { readonly kind: 'lost'; readonly found: StoredObject | null }

/** Requests of a put whose outcome stays unknown or conflicts with another request. */
const PUTS_MAX = 3

/** After an error it is unknown whether the document was written, or will be: a request may still be under way. */
export const putDocument = async ({
  store,
  key,
  document,
  replaces,
  signal,
}: ConditionalPut): Promise<ConditionalOutcome> => {
  const body = documentBody(document)
  let failure: ObjectStoreError | null = null
  for (let puts = 0; puts < PUTS_MAX; puts += 1) {
    const outcome = await attemptPut(() =>
      replaces === null
        ? store.putIfAbsent(key, body, signal)
        : store.putIfMatch(key, body, replaces, signal),
    )
    if (!(outcome instanceof ObjectStoreError) && outcome.kind === 'written') return outcome
    if (outcome instanceof ObjectStoreError) failure = outcome
    const found = await store.get(key, signal)
    if (found !== null && tokenOf(found) === document.token) return { kind: 'written', etag: found.etag }
    if ((found?.etag ?? null) !== replaces) return { kind: 'lost', found }
  }
  throw (
    failure ??
    new ObjectStoreError(
      `${store.address}/${key} could not be written: the store answered ${PUTS_MAX} times that it had changed, but it had not. Run check`,
    )
  )
}

const tokenSchema = z.object({ token: z.string() })

/** The token of a document; null if it has none. */
export const tokenOf = ({ body }: StoredObject): string | null =>
  parseDocument(tokenSchema, body)?.token ?? null

// The proof that the store keeps the conditions of writes. Without them two runs at once would overwrite each other, and neither lease
// nor pointer would show it. So no run goes on before a proof has succeeded. Only a success is remembered: after a proof that failed, or
// was interrupted, the next run tries again.

interface Proving {
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
