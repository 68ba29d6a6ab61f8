/**
 * Writes objects and JSON documents that have one owner. A put whose answer is lost may have happened, and when the client repeats a put
 * that won, the store answers "the condition does not hold". So the object is read back to see whether we wrote it.
 */
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { WarehouseError } from '../base/errors.js'
import { parseJson } from '../base/parse.js'
import {
  type ObjectBody,
  type ObjectStore,
  ObjectStoreError,
  type PutOutcome,
  type StoredObject,
} from './object-store.js'

interface OwnedPut<Body extends ObjectBody = ObjectBody> {
  readonly store: ObjectStore
  readonly key: string
  readonly body: Body
  /** The ETag of the object to replace; null: there must be no object. */
  readonly replaces: string | null
  readonly signal: AbortSignal
  /** Requests of a put whose outcome stays unknown or conflicts with another request. */
  readonly putsMax?: number
}

type Written = Extract<PutOutcome, { readonly kind: 'written' }>
/** Somebody else wrote or deleted the object. `existing` is the object now. */
interface Lost {
  readonly kind: 'lost'
  readonly existing: StoredObject | null
}
type OwnedOutcome = Written | Lost

const PUTS_MAX = 3

/**
 * `readBack` finds the outcome of a put that was refused or failed. Null: the object is as before, so the put is sent again. After an error
 * the object may have been written, or may still be written by a request that is under way.
 */
export const putOwned = async <Outcome>(
  { store, key, body, replaces, signal, putsMax = PUTS_MAX }: OwnedPut,
  readBack: (failure: ObjectStoreError | null) => Promise<Outcome | null>,
): Promise<Written | Outcome> => {
  let last: ObjectStoreError | null = null
  for (let puts = 0; puts < putsMax; puts += 1) {
    const sent =
      replaces === null ? store.putIfAbsent(key, body, signal) : store.putIfMatch(key, body, replaces, signal)
    const outcome = await sent.catch(storeError)
    if (!(outcome instanceof ObjectStoreError) && outcome.kind === 'written') return outcome
    const failure = outcome instanceof ObjectStoreError ? outcome : null
    const decided = await readBack(failure)
    if (decided !== null) return decided
    last = failure ?? last
  }
  throw (
    last ??
    new ObjectStoreError(
      `${store.address}/${key} could not be written: the store answered ${putsMax} times that it had changed, but it had not. Run check`,
    )
  )
}

const storeError = (error: unknown): ObjectStoreError => {
  if (error instanceof ObjectStoreError) return error
  throw error
}

/** Puts a small object. We wrote the object if it has our bytes. */
export const putOwnedBytes = (put: OwnedPut<Uint8Array>): Promise<OwnedOutcome> =>
  putOwned<OwnedOutcome>(put, async () => {
    const existing = await put.store.get(put.key, put.signal)
    if (existing !== null && Buffer.compare(put.body, existing.body) === 0)
      return { kind: 'written', etag: existing.etag }
    return (existing?.etag ?? null) === put.replaces ? null : { kind: 'lost', existing }
  })

export const documentBody = (document: object): Buffer =>
  Buffer.from(`${JSON.stringify(document, null, 1)}\n`)

/** The first fields of a document that is replaced. After a lost answer, the token shows whether we wrote the document. */
export const stamp = () => ({ format: 1, token: randomUUID() }) as const

export interface ReadDocument<Document> {
  readonly document: Document
  readonly etag: string
  readonly ageMs: number | null
}

/** Null if there is no such object. Throws `bucket_damaged` if the object does not fit `schema`. */
export const readDocument = async <Document>(
  store: ObjectStore,
  key: string,
  schema: z.ZodType<Document>,
  signal: AbortSignal,
): Promise<ReadDocument<Document> | null> => {
  const stored = await store.get(key, signal)
  if (stored === null) return null
  const document = parseJson(schema, stored.body)
  if (document === null)
    throw new WarehouseError(
      'bucket_damaged',
      `${store.address}/${key} cannot be read: it is damaged, or a newer version of fieldwork-sync wrote it. Update fieldwork-sync, or restore the object from the bucket's own versions`,
    )
  return { document, etag: stored.etag, ageMs: stored.ageMs }
}

/** `replaces` is the ETag of the object to replace; null: there must be no object. */
export const putDocument = (
  store: ObjectStore,
  key: string,
  document: object,
  replaces: string | null,
  signal: AbortSignal,
): Promise<OwnedOutcome> => putOwnedBytes({ store, key, body: documentBody(document), replaces, signal })

/** Puts of one replacement, if an earlier put of ours arrives late. */
const REPLACEMENTS_MAX = 3

interface Owned<Document> {
  readonly store: ObjectStore
  readonly key: string
  readonly schema: z.ZodType<Document>
  /** The document that we wrote last, and its ETag. */
  readonly document: Document
  readonly etag: string
}

/** A document that only this run replaces, until another run takes it over. */
export class OwnedDocument<Document extends { readonly token: string }> {
  #owned: Owned<Document>
  /** The tokens of all documents that we wrote or tried to write. */
  readonly #tokens: Set<string>

  constructor(owned: Owned<Document>) {
    this.#owned = owned
    this.#tokens = new Set([owned.document.token])
  }

  get document(): Document {
    return this.#owned.document
  }

  /** `next` makes a document with a new token, before each put. `isDone`: whether a document that is already stored has the change. */
  async replace(
    next: (current: Document) => Document,
    signal: AbortSignal,
    isDone: (current: Document) => boolean = () => false,
  ): Promise<{ readonly kind: 'written' } | Lost> {
    const { store, key, schema } = this.#owned
    for (let puts = 0; puts < REPLACEMENTS_MAX; puts += 1) {
      const document = next(this.#owned.document)
      this.#tokens.add(document.token)
      const outcome = await putDocument(store, key, document, this.#owned.etag, signal)
      if (outcome.kind === 'written') {
        this.#owned = { ...this.#owned, document, etag: outcome.etag }
        return { kind: 'written' }
      }
      const { existing } = outcome
      const stored = existing === null ? null : parseJson(schema, existing.body)
      const isOurs = existing !== null && stored !== null && this.#tokens.has(stored.token)
      // An earlier put of ours, whose answer was lost, has arrived.
      if (isOurs) this.#owned = { ...this.#owned, document: stored, etag: existing.etag }
      if (stored !== null && isDone(stored)) return { kind: 'written' }
      if (!isOurs) return { kind: 'lost', existing }
    }
    throw new ObjectStoreError(`${store.address}/${key} could not be written`)
  }
}
