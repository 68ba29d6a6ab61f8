/**
 * The pointer, whose replacement is the commit of a version. At its start a run replaces the pointer by a copy with a new token (the
 * fence). So a paused writer cannot commit any more, because the ETag that it read is outdated.
 */
import { WarehouseError } from '../../base/errors.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { OwnedDocument, putDocument, readDocument, stamp } from '../../object-store/owned-document.js'
import {
  isManifest,
  type NamedObject,
  NOTHING_PUBLISHED,
  POINTER_KEY,
  type PointerContents,
  type PointerDocument,
  pointerSchema,
  VERSIONS,
} from './documents.js'
import type { Lease } from './lease.js'

/** Another run published in the meantime, so this run's version is not published. Exit 6. */
export class LostPublishError extends WarehouseError {
  constructor(message: string) {
    super('lost_publish', message)
  }
}

/** The fields of the pointer that a version sets. The version is the pointer's version + 1. */
type VersionCommit = {
  readonly [Key in Exclude<keyof PointerContents, 'earlier' | 'shown' | 'snapshot'>]: NonNullable<
    PointerContents[Key]
  >
}

/** Only the writer that fenced last can commit. Every method throws a `LostPublishError` after another writer fenced. */
export type FencedPointer = ReturnType<typeof fenced>

/** Earlier versions that the pointer names. Their databases are kept. */
const EARLIER_MAX = 2
/** One version a day, for as long as manifests are kept. */
const SHOWN_MAX = 30 + EARLIER_MAX
/** Reads and puts of a fence that collides with the last writes of another run. */
const FENCES_MAX = 5

/** For readers. Null if nothing was ever written. Throws an error `bucket_damaged` if the pointer is lost. */
export const readPointer = async (store: ObjectStore, signal: AbortSignal) => {
  const stored = await findPointer(store, signal)
  return stored === null ? null : contentsOf(stored.document)
}

const findPointer = async (store: ObjectStore, signal: AbortSignal) => {
  const stored = await readDocument(store, POINTER_KEY, pointerSchema, signal)
  if (stored === null) await refuseOrphans(store, signal)
  return stored
}

/** Throws if there are versions but no pointer: the bucket would look empty, and the next version would replace all of them. */
const refuseOrphans = async (store: ObjectStore, signal: AbortSignal): Promise<void> => {
  for await (const { key } of store.list(VERSIONS, signal)) {
    if (!isManifest(key)) continue
    throw new WarehouseError(
      'bucket_damaged',
      `${store.address}/${POINTER_KEY} is missing, but there are versions, such as ${key}. Restore it from the bucket's own versions, or remove everything below ${store.address} to start again`,
    )
  }
}

interface FenceOptions {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  readonly signal: AbortSignal
}

/** Reads the pointer and makes it ours. */
export const fencePointer = async ({ store, lease, signal }: FenceOptions): Promise<FencedPointer> => {
  for (let fences = 0; fences < FENCES_MAX; fences += 1) {
    const stored = await findPointer(store, signal)
    const contents = stored === null ? NOTHING_PUBLISHED : contentsOf(stored.document)
    const document: PointerDocument = { ...stamp(), ...contents }
    lease.assertHeld()
    const outcome = await putDocument(store, POINTER_KEY, document, stored?.etag ?? null, signal)
    if (outcome.kind === 'written') {
      const owned = { store, key: POINTER_KEY, schema: pointerSchema, document, etag: outcome.etag }
      return fenced(new OwnedDocument(owned), { store, lease })
    }
  }
  throw new LostPublishError(`another run is writing to ${store.address}. Start this run again later`)
}

const fenced = (pointer: OwnedDocument<PointerDocument>, { store, lease }: Omit<FenceOptions, 'signal'>) => {
  const lostError = () =>
    new LostPublishError(
      `another run has taken ${store.address} over, so this run's data is not published. Nothing that was published is harmed; the next run reads what is missing`,
    )
  const commit = async (
    change: (current: PointerContents) => PointerContents,
    isDone: (current: PointerContents) => boolean,
    signal: AbortSignal,
  ): Promise<void> => {
    const next = (current: PointerDocument): PointerDocument => {
      const contents = change(contentsOf(current))
      lease.assertHeld()
      return { ...stamp(), ...contents }
    }
    // A fence of another run keeps the contents. If they have the change, our put arrived before the fence.
    const outcome = await pointer.replace(next, signal, isDone)
    if (outcome.kind === 'lost') throw lostError()
  }
  return {
    get contents(): PointerContents {
      return contentsOf(pointer.document)
    },
    commitVersion: (version: VersionCommit, signal: AbortSignal) =>
      commit(
        (current) => {
          if (current.version + 1 !== version.version) throw lostError()
          const earlier = [...(current.manifest === null ? [] : [current.manifest]), ...current.earlier]
          const shown = shownWith(version, current.shown)
          return { ...version, earlier: earlier.slice(0, EARLIER_MAX), shown, snapshot: null }
        },
        (current) => current.manifest === version.manifest,
        signal,
      ),
    /** Names a newer work database, derived from the current state. */
    commitSnapshot: (snapshot: NamedObject, signal: AbortSignal) =>
      commit(
        (current) => ({ ...current, snapshot }),
        (current) => current.snapshot?.key === snapshot.key,
        signal,
      ),
  }
}

/** The shown versions with a new one. They are kept in the pointer, because the bucket also has manifests of runs that never published. */
const shownWith = ({ manifest, published_at }: VersionCommit, before: PointerContents['shown']) =>
  [{ manifest, published_at }, ...before]
    .filter((version, index, all) => index <= EARLIER_MAX || dayOf(version) !== dayOf(all[index - 1]))
    .slice(0, SHOWN_MAX)

/** The UTC day. */
const dayOf = (version: PointerContents['shown'][number] | undefined) => version?.published_at.slice(0, 10)

const contentsOf = ({ format: _format, token: _token, ...contents }: PointerDocument): PointerContents =>
  contents
