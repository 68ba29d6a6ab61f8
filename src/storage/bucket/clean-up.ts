/**
 * Removes what nothing names any more: mark, then sweep. Never by age alone, because a file of the current version may be years old.
 * Never without age either: a reader that has just read the pointer must find what it named.
 */
import type { Log } from '../../base/log.js'
import { type ListedObject, listAll, type ObjectStore } from '../../object-store/object-store.js'
import { type LeftLogs, logsToRemove, removalGroups } from '../../publish/delta/left-logs.js'
import {
  type BucketManifest,
  DATA,
  isManifest,
  isWrittenOnce,
  type PointerContents,
  SWEPT_PREFIXES,
} from './documents.js'
import type { Lease } from './lease.js'
import { readManifest } from './restore.js'

export interface CleanUpOptions extends Pick<LeftLogs, 'followed' | 'readLog'> {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  /** As it is in the bucket now. */
  readonly pointer: PointerContents
  readonly log: Log
  readonly signal: AbortSignal
  readonly limits?: CleanUpLimits
}

export interface CleanUpLimits {
  /** A manifest and its data files are kept for so long, even if it is not one of the newest three, milliseconds. */
  readonly keepMs: number
  /** Nothing younger is removed, milliseconds. */
  readonly sweepAfterMs: number
}

const HOUR_MS = 3_600_000
export const CLEAN_UP_LIMITS: CleanUpLimits = { keepMs: 30 * 24 * HOUR_MS, sweepAfterMs: 48 * HOUR_MS }

/** Keys of one delete request. */
const DELETED_AT_ONCE_MAX = 1_000

/** Returns how many objects were removed. If a kept manifest is damaged, nothing is removed, and a warning says so. */
export const cleanUp = async (options: CleanUpOptions): Promise<number> => {
  const { store, lease, pointer, log, signal, limits = CLEAN_UP_LIMITS } = options
  const listings = []
  for (const prefix of SWEPT_PREFIXES) listings.push(await listAll(store, prefix, signal))
  const listed = listings.flat()
  const objects = listed.filter(({ key }) => isWrittenOnce(key))
  const kept = keptManifests(objects, pointer, limits)
  const named = namedByPointer(pointer)
  for (const key of kept) {
    const manifest = await readManifest(store, key, signal)
    if (typeof manifest === 'string') {
      log.warn({ storage: store.address }, `nothing was cleaned up, because ${manifest}`)
      return 0
    }
    markNamed(named, key, manifest, pointer)
  }
  const swept = sweptKeys(objects, named, limits)
  const logs = await outlivedLogs(options, listed, swept)
  for (const keys of [...logs, ...batches(swept)]) {
    lease.assertHeld()
    await store.delete(keys, signal)
  }
  return swept.length + logs.flat().length
}

/** The keys of Delta logs that have to go before these files. */
const outlivedLogs = async (
  { store, log, limits = CLEAN_UP_LIMITS, ...given }: CleanUpOptions,
  listed: readonly ListedObject[],
  swept: readonly string[],
): Promise<readonly (readonly string[])[]> => {
  const objects = listed.filter(({ key }) => key.startsWith(DATA))
  const going = new Set(swept)
  const own = objects.map(({ key }) => key).filter(isWrittenOnce)
  const directories = await logsToRemove({
    ...given,
    objects,
    kept: own.filter((key) => !going.has(key)),
    swept: own.filter((key) => going.has(key)),
    keepMs: limits.keepMs,
  })
  if (directories.length > 0)
    log.info(
      { storage: store.address, tables: directories },
      'the Delta logs of tables that are no longer published as Delta are removed, because their files go',
    )
  return removalGroups(objects, directories)
}

/** The keys of the manifests that are kept: those the pointer names, and the young ones. */
export const keptManifests = (
  objects: readonly ListedObject[],
  { manifest, earlier }: PointerContents,
  { keepMs }: CleanUpLimits,
): ReadonlySet<string> => {
  const listed = objects.filter(({ key }) => isManifest(key))
  const present = new Set(listed.map(({ key }) => key))
  const young = listed.filter(({ ageMs }) => ageMs === null || ageMs < keepMs).map(({ key }) => key)
  // An earlier manifest that was deleted protects nothing. The current one must exist.
  const older = earlier.filter((key) => present.has(key))
  return new Set([...(manifest === null ? [] : [manifest]), ...older, ...young])
}

const namedByPointer = ({ snapshot, database }: PointerContents): Set<string> =>
  new Set([snapshot?.key, database].filter((key) => key !== undefined && key !== null))

/** Adds what a kept manifest names. Databases are large: only those of the versions that the pointer names are kept. */
const markNamed = (
  named: Set<string>,
  key: string,
  { tables, database }: BucketManifest,
  { manifest, earlier }: PointerContents,
): void => {
  named.add(key)
  for (const { files } of tables) for (const { path } of files) named.add(path)
  if (key === manifest || earlier.includes(key)) named.add(database.key)
}

/** The objects to remove, manifests first: after a kill no manifest is left whose files are gone. */
export const sweptKeys = (
  objects: readonly ListedObject[],
  named: ReadonlySet<string>,
  { sweepAfterMs }: CleanUpLimits,
): readonly string[] => {
  const keys = objects
    .filter(({ key, ageMs }) => !named.has(key) && ageMs !== null && ageMs >= sweepAfterMs)
    .map(({ key }) => key)
  return [...keys.filter(isManifest), ...keys.filter((key) => !isManifest(key))]
}

/** One request deletes its keys in any order, so manifests have a request of their own. */
const batches = (keys: readonly string[]): readonly (readonly string[])[] => {
  const manifests = keys.filter(isManifest)
  const others = keys.slice(manifests.length)
  return [manifests, others].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / DELETED_AT_ONCE_MAX) }, (_, place) =>
      group.slice(place * DELETED_AT_ONCE_MAX, (place + 1) * DELETED_AT_ONCE_MAX),
    ),
  )
}
