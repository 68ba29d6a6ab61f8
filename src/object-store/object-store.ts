/**
 * The port to an object store: five verbs (get, put if absent, put if match, list, delete), which every store with conditional writes has.
 * Everything else is built on top of them. `open.ts` opens real stores.
 */
import { WarehouseError } from '../base/errors.js'

/**
 * The object store refused a request, stayed unreachable, or sent an unusable answer. The message says which object, why, and what to do.
 * Exit 7.
 */
export class ObjectStoreError extends WarehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('object_store', message, options)
  }
}

/** Every verb rejects with the signal's reason or an `ObjectStoreError`. After a rejection, a write may have happened or not. */
export interface ObjectStore extends AsyncDisposable {
  /** For messages, without a slash at its end, such as `s3://research/fieldwork`. Keys are relative to it. */
  readonly address: string
  /** Null if there is no such object. */
  get(key: string, signal: AbortSignal): Promise<StoredObject | null>
  /** Writes the object to a new file at `path`. False if there is no such object. A file with a part of the object never remains. */
  getToFile(key: string, path: string, signal: AbortSignal): Promise<boolean>
  /**
   * Creates an object. A large file is sent in several parts at the same time, and the condition is checked when the last part has arrived.
   */
  putIfAbsent(key: string, body: ObjectBody, signal: AbortSignal): Promise<PutOutcome>
  /** Replaces the object whose ETag is `etag`. */
  putIfMatch(key: string, body: ObjectBody, etag: string, signal: AbortSignal): Promise<PutOutcome>
  /** The objects whose keys begin with `prefix`, in the order of their keys, over all pages. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ListedObject>
  /** Deletes objects. A missing object is no error. */
  delete(keys: readonly string[], signal: AbortSignal): Promise<void>
}

/** Bytes, a file that nobody changes while it is sent, or another object, whose bytes the store copies by itself. */
export type ObjectBody = Uint8Array | FileBody | CopiedBody

/** Nobody changes the object while it is copied. It must not be empty. */
export interface CopiedBody {
  readonly copyOf: string
  readonly bytes: number
}

export interface FileBody {
  readonly file: string
  /** Called after each part that was sent and has arrived. */
  readonly onSent?: ((partBytes: number) => void) | undefined
  /** An object with much of the same at the same places. The store copies these parts of a large file, and only the others are sent. */
  readonly base?: BaseBody | undefined
}

export interface BaseBody extends CopiedBody {
  /** Called once if the store does not copy parts, or does not prove them. Then all others are sent. */
  readonly onRefused: (problem: string) => void
}

interface ObjectAge {
  /** How long ago the object was written, by the store's own clock, milliseconds, at least 0; null if the store does not say. */
  readonly ageMs: number | null
}

export interface StoredObject extends ObjectAge {
  readonly body: Uint8Array
  readonly etag: string
}

export interface ListedObject extends ObjectAge {
  readonly key: string
  readonly bytes: number
  /** As `get` has it. */
  readonly etag: string
}

/** `lost`: the condition did not hold. If the request was repeated, our own first attempt may have won. */
export type PutOutcome = { readonly kind: 'written'; readonly etag: string } | { readonly kind: 'lost' }

/** All objects whose keys begin with `prefix`, in the order of their keys. */
export const listAll = async (store: ObjectStore, prefix: string, signal: AbortSignal) => {
  const objects: ListedObject[] = []
  for await (const object of store.list(prefix, signal)) objects.push(object)
  return objects
}
