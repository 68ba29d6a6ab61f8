/**
 * Removes objects that nothing names any more: mark, then sweep. Age alone does not decide, because a file of the current version may be
 * years old. But a young object always stays, because a reader that has just read the pointer must find the objects that it named.
 */
import { HOUR_MS } from '../../base/durations.js'
import type { Log } from '../../base/log.js'
import { ADDRESSES, hasAddress, type PublishFormat } from '../../model/publish-formats.js'
import { type ListedObject, listAll, type ObjectStore } from '../../object-store/object-store.js'
import { type LeftLogs, logsToRemove, removalGroups } from '../../publish/delta/left-logs.js'
import {
  type BucketManifest,
  DATA,
  isAddress,
  isManifest,
  isWrittenOnce,
  type PointerContents,
  SWEPT_PREFIXES,
  versionOf,
} from './documents.js'
import type { Lease } from './lease.js'
import { readOtherManifest } from './restore.js'

interface CleanUpOptions extends Pick<LeftLogs, 'followed' | 'readLog'> {
  readonly store: ObjectStore
  readonly lease: Pick<Lease, 'assertHeld'>
  /** The pointer as it is in the bucket now. */
  readonly pointer: PointerContents
  /** The published formats. The addresses of other formats are removed as well. */
  readonly formats: readonly PublishFormat[]
  readonly log: Log
  readonly signal: AbortSignal
  readonly limits?: CleanUpLimits
}

export const CLEAN_UP_LIMITS = {
  /** How long a manifest and its data files are kept even if the manifest is not one of the newest three, milliseconds. */
  keepMs: 30 * 24 * HOUR_MS,
  /** The least age of a removed object, milliseconds. */
  sweepAfterMs: 48 * HOUR_MS,
}
export type CleanUpLimits = Readonly<typeof CLEAN_UP_LIMITS>

/** Keys of one delete request. */
const DELETED_AT_ONCE_MAX = 1_000

interface Marked {
  readonly listed: readonly ListedObject[]
  /** The keys that are kept; null if a kept manifest is damaged, so that nothing may be removed. */
  readonly named: ReadonlySet<string | null | undefined> | null
}

type Marking = Pick<CleanUpOptions, 'store' | 'pointer' | 'formats' | 'log' | 'signal' | 'limits'>

/** `onKept` gets each kept manifest that can be read, from the oldest on. */
export const mark = async (
  { store, pointer, formats, log, signal, limits = CLEAN_UP_LIMITS }: Marking,
  onKept: (key: string, manifest: BucketManifest) => void = () => undefined,
): Promise<Marked> => {
  const listings = []
  for (const prefix of SWEPT_PREFIXES) listings.push(await listAll(store, prefix, signal))
  const listed = listings.flat()
  const { snapshot, database, manifest: current, earlier } = pointer
  const named = new Set([
    snapshot?.key,
    database,
    ...formats.filter(hasAddress).map((format) => ADDRESSES[format]),
  ])
  let isDamaged = false
  for (const key of keptManifests(listed, pointer, limits)) {
    const manifest = await readOtherManifest(store, key, signal)
    if (typeof manifest === 'string') {
      log.warn({ storage: store.address }, `nothing was cleaned up, because ${manifest}`)
      isDamaged = true
      continue
    }
    named.add(key)
    for (const { path } of manifest.tables.flatMap(({ files }) => files)) named.add(path)
    // Databases are large, so only the databases of versions that the pointer names are kept.
    if (key === current || earlier.includes(key)) named.add(manifest.database.key)
    onKept(key, manifest)
  }
  return { listed, named: isDamaged ? null : named }
}

/** Returns how many objects were removed. If a kept manifest is damaged, nothing is removed, and a warning says so. */
export const cleanUp = async (options: CleanUpOptions, marked?: Marked): Promise<number> => {
  const { store, lease, signal, limits = CLEAN_UP_LIMITS } = options
  const { listed, named } = marked ?? (await mark(options))
  if (named === null) return 0
  const objects = listed.filter(({ key }) => isWrittenOnce(key) || isAddress(key))
  const swept = sweptKeys(objects, named, limits)
  const logs = await outlivedLogs(options, listed, swept)
  // One request deletes its keys in any order, so manifests are deleted in an earlier request than files: a kill never leaves a manifest
  // without its files.
  const groups = [...logs, swept.filter(isManifest), swept.filter((key) => !isManifest(key))]
  for (const keys of groups)
    for (let from = 0; from < keys.length; from += DELETED_AT_ONCE_MAX) {
      lease.assertHeld()
      await store.delete(keys.slice(from, from + DELETED_AT_ONCE_MAX), signal)
    }
  return groups.flat().length
}

/** The keys of Delta logs that have to be removed before these files. */
const outlivedLogs = async (
  { store, log, limits = CLEAN_UP_LIMITS, ...options }: CleanUpOptions,
  listed: readonly ListedObject[],
  swept: readonly string[],
): Promise<readonly (readonly string[])[]> => {
  const objects = listed.filter(({ key }) => key.startsWith(DATA))
  const going = new Set(swept)
  const own = objects.map(({ key }) => key).filter(isWrittenOnce)
  const directories = await logsToRemove({
    ...options,
    objects,
    own,
    kept: own.filter((key) => !going.has(key)),
    keepMs: limits.keepMs,
  })
  if (directories.length > 0)
    log.info(
      { storage: store.address, tables: directories },
      'the Delta logs of tables that are no longer published as Delta are removed, because their files go',
    )
  return removalGroups(objects, directories)
}

/** The keys of the manifests that are kept, from the oldest on: the manifests that the pointer names, and the young ones. */
const keptManifests = (
  objects: readonly ListedObject[],
  { manifest, earlier }: PointerContents,
  { keepMs }: CleanUpLimits,
): readonly string[] => {
  const listed = objects.filter(({ key }) => isManifest(key))
  const present = new Set(listed.map(({ key }) => key))
  const young = listed.filter(({ ageMs }) => ageMs === null || ageMs < keepMs).map(({ key }) => key)
  // An earlier manifest that was deleted protects nothing. The current manifest must exist.
  const older = earlier.filter((key) => present.has(key))
  const kept = new Set([...(manifest === null ? [] : [manifest]), ...older, ...young])
  return [...kept].toSorted((a, b) => versionOf(a) - versionOf(b))
}

const sweptKeys = (
  objects: readonly ListedObject[],
  named: ReadonlySet<string | null | undefined>,
  { sweepAfterMs }: CleanUpLimits,
): readonly string[] =>
  objects
    .filter(({ key, ageMs }) => !named.has(key) && ageMs !== null && ageMs >= sweepAfterMs)
    .map(({ key }) => key)
