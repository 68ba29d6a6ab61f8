/**
 * The pointer: its replacement is the commit of a version. At its start a run replaces the pointer by one with a new token (the fence).
 * So a writer that was paused cannot commit any more: the ETag that it read is gone.
 */
import { WarehouseError } from '../../base/errors.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { putDocument, type ReadDocument, readDocument } from './conditional.js'
import {
  type NamedObject,
  NOTHING_PUBLISHED,
  newToken,
  type PointerContents,
  type PointerDocument,
  parseDocument,
  pointerSchema,
} from './documents.js'
import { type Lease, LostPublishError } from './held-lease.js'
import { isManifest, POINTER_KEY, VERSIONS } from './keys.js'

export interface VersionCommit {
  /** The pointer's version + 1. */
  readonly version: number
  readonly manifest: string
  readonly database: string
  readonly run: string
  readonly publishedAt: string
}

/** Only the writer that fenced last can commit. Every method throws a `LostPublishError` after another writer fenced. */
export interface FencedPointer {
  readonly contents: PointerContents
  commitVersion(commit: VersionCommit, signal: AbortSignal): Promise<void>
  /** Names a newer work database, derived from the current state. */
  commitSnapshot(snapshot: NamedObject, signal: AbortSignal): Promise<void>
}

/** Earlier versions that the pointer names. Their databases are kept. */
const EARLIER_MAX = 2
/** Reads and puts of a fence that collides with the last writes of another run. */
const FENCES_MAX = 5
/** Puts of one commit, where an earlier put of ours arrived late. */
const PUTS_MAX = 3

/** For readers. Null if nothing was ever written. Throws an error `bucket_damaged` if the pointer is lost. */
export const readPointer = async (
  store: ObjectStore,
  signal: AbortSignal,
): Promise<PointerContents | null> => {
  const found = await findPointer(store, signal)
  return found === null ? null : contentsOf(found.document)
}

const findPointer = async (
  store: ObjectStore,
  signal: AbortSignal,
): Promise<ReadDocument<PointerDocument> | null> => {
  const found = await readDocument(store, POINTER_KEY, pointerSchema, signal)
  if (found === null) await refuseOrphans(store, signal)
  return found
}

export interface FenceOptions {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  readonly signal: AbortSignal
}

/** Reads the pointer and makes it ours. */
export const fencePointer = async ({ store, lease, signal }: FenceOptions): Promise<FencedPointer> => {
  for (let fences = 0; fences < FENCES_MAX; fences += 1) {
    const found = await findPointer(store, signal)
    const contents = found === null ? NOTHING_PUBLISHED : contentsOf(found.document)
    const document = documentOf(contents)
    lease.assertHeld()
    const replaces = found?.etag ?? null
    const outcome = await putDocument({ store, key: POINTER_KEY, document, replaces, signal })
    if (outcome.kind === 'written') return new OwnPointer(store, lease, document, outcome.etag)
  }
  throw new LostPublishError(`another run is writing to ${store.address}. Start this run again later`)
}

/** Without its pointer a bucket with versions would look empty, and the next version would replace them all. */
const refuseOrphans = async (store: ObjectStore, signal: AbortSignal): Promise<void> => {
  for await (const { key } of store.list(VERSIONS, signal)) {
    if (!isManifest(key)) continue
    throw new WarehouseError(
      'bucket_damaged',
      `${store.address}/${POINTER_KEY} is missing, but there are versions, such as ${key}. Restore it from the bucket's own versions, or remove everything below ${store.address} to start again`,
    )
  }
}

class OwnPointer implements FencedPointer {
  readonly #store: ObjectStore
  readonly #lease: Pick<Lease, 'assertHeld'>
  /** Tokens of everything that we wrote or tried to write. */
  readonly #tokens: Set<string>
  #contents: PointerContents
  #etag: string

  constructor(store: ObjectStore, lease: Pick<Lease, 'assertHeld'>, document: PointerDocument, etag: string) {
    this.#store = store
    this.#lease = lease
    this.#tokens = new Set([document.token])
    this.#contents = contentsOf(document)
    this.#etag = etag
  }

  get contents(): PointerContents {
    return this.#contents
  }

  commitVersion(commit: VersionCommit, signal: AbortSignal): Promise<void> {
    return this.#commit(
      (current) => {
        if (current.version + 1 !== commit.version) throw this.#lostError()
        return afterVersion(current, commit)
      },
      ({ manifest }) => manifest === commit.manifest,
      signal,
    )
  }

  commitSnapshot(snapshot: NamedObject, signal: AbortSignal): Promise<void> {
    return this.#commit(
      (current) => ({ ...current, snapshot }),
      (found) => found.snapshot?.key === snapshot.key,
      signal,
    )
  }

  /** `change` computes the next contents. `isCommitted`: the contents that were found hold the change already. */
  async #commit(
    change: (current: PointerContents) => PointerContents,
    isCommitted: (found: PointerContents) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    for (let puts = 0; puts < PUTS_MAX; puts += 1) {
      const document = documentOf(change(this.#contents))
      this.#lease.assertHeld()
      this.#tokens.add(document.token)
      const outcome = await putDocument({
        store: this.#store,
        key: POINTER_KEY,
        document,
        replaces: this.#etag,
        signal,
      })
      if (outcome.kind === 'written') {
        this.#contents = contentsOf(document)
        this.#etag = outcome.etag
        return
      }
      const found = outcome.found === null ? null : parseDocument(pointerSchema, outcome.found.body)
      const isOurs = found !== null && this.#tokens.has(found.token)
      if (outcome.found !== null && found !== null && isOurs) {
        // An earlier put whose answer we never got has arrived.
        this.#etag = outcome.found.etag
        this.#contents = contentsOf(found)
      }
      // A fence of another run keeps the contents: our put arrived before it.
      if (found !== null && isCommitted(found)) return
      if (!isOurs) throw this.#lostError()
    }
    throw this.#lostError()
  }

  #lostError(): LostPublishError {
    return new LostPublishError(
      `another run has taken ${this.#store.address} over, so this run's data is not published. Nothing that was published is harmed; the next run reads what is missing`,
    )
  }
}

const afterVersion = (current: PointerContents, commit: VersionCommit): PointerContents => ({
  version: commit.version,
  manifest: commit.manifest,
  database: commit.database,
  earlier: [...(current.manifest === null ? [] : [current.manifest]), ...current.earlier].slice(
    0,
    EARLIER_MAX,
  ),
  run: commit.run,
  published_at: commit.publishedAt,
  snapshot: null,
})

const documentOf = (contents: PointerContents): PointerDocument => ({
  format: 1,
  token: newToken(),
  ...contents,
})

const contentsOf = ({ format: _, token: __, ...contents }: PointerDocument): PointerContents => contents
