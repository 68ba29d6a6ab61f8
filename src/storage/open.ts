/** Opens the storage that the settings name: a run holds it, and commands that only read find its published state. */
import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.js'
import { ExpectedError } from '../base/errors.js'
import { type Instant, instantFromMs } from '../model/instant.js'
import { publishedPath, STATE_FORMATS } from '../model/publish-formats.js'
import { findPublished, type Published } from '../publish/formats.js'
import type { Settings } from '../settings/settings.js'
import { storageAddress } from '../settings/storage.js'
import type { Database } from '../warehouse/connection/database.js'
import { lastRequestUsage } from '../warehouse/history/runs.js'
import { bucketNoteFile } from '../warehouse/lifecycle/files.js'
import { describeHolder, isAlive, readHolder } from '../warehouse/lifecycle/holder.js'
import { readPublished } from '../warehouse/status.js'
import { directoryStorage, holdsWarehouse, shardsIn } from './directory.js'
import { type LastRun, type LastRuns, readLastRuns } from './last-run.js'
import type { HoldStorage, Storage } from './storage.js'

/** Holds the storage that the settings name. Throws a `WarehouseError`, such as `WarehouseHeldError`. */
export const holdStorage = async (held: HoldStorage): Promise<Storage> => {
  const { storage, warehouseDirectory: directory } = held.settings
  if (storage !== null) {
    const { bucketStorage } = await import('./bucket/bucket-storage.js')
    return await bucketStorage(held, storage)
  }
  // The results of a run without the bucket would be lost: the next run with the bucket may restore another work database.
  if (existsSync(bucketNoteFile(directory))) {
    const { refuseBucket } = await import('./bucket/restore.js')
    await refuseBucket(directory)
  }
  return directoryStorage(held)
}

// For commands that only read. They hold nothing.

type Where = Pick<Settings, 'warehouseDirectory' | 'publish' | 'storage'>

export interface FoundState {
  /** Null if nothing is published. */
  readonly published: Published | null
  /** Description of the process that holds the storage; null if there is none. */
  readonly holder: string | null
  readonly runs: LastRuns
}

/** Throws a `WarehouseError` if a bucket cannot be read. */
export const findState = async (where: Where, signal: AbortSignal): Promise<FoundState> => {
  const { warehouseDirectory: directory, publish, storage } = where
  if (storage !== null) {
    const { findInBucket } = await import('./bucket/published.js')
    return await findInBucket(storage, directory, signal)
  }
  const note = await readHolder(directory)
  const holder = note !== null && isAlive(note) ? describeHolder(note) : null
  const runs = await readLastRuns(directory, systemClock.nowMs())
  return { published: await findPublished(directory, publish.formats), holder, runs }
}

/** For commands that do not create a warehouse, because a path may be mistyped. Throws `no_warehouse` if there is none. */
export const requireWarehouse = async (
  { warehouseDirectory, storage }: Omit<Where, 'publish'>,
  signal: AbortSignal,
  command: string,
): Promise<void> => {
  if (await holdsWarehouse(warehouseDirectory)) return
  if (storage !== null && (await (await import('./bucket/published.js')).holdsState(storage, signal))) return
  const [place, setting] =
    storage === null ? [warehouseDirectory, '--warehouse'] : [storageAddress(storage), 'storage.url']
  throw new ExpectedError(
    'no_warehouse',
    `there is no warehouse in ${place}: nothing to ${command}. Check ${setting}, or run fieldwork-sync sync first`,
  )
}

/** Throws `nothing_published` if nothing is published. */
export const requirePublished = async (
  { warehouseDirectory, storage }: Omit<Where, 'publish'>,
  { published, holder, runs }: FoundState,
): Promise<Published> => {
  if (published !== null) return published
  const { last } = runs
  const ended =
    last === null || last.reason === null
      ? ''
      : `. The last run ended with exit ${last.exitCode}: ${last.reason}`
  if (storage !== null)
    throw new ExpectedError(
      'nothing_published',
      `nothing has been published in ${storageAddress(storage)} yet. ${holder === null ? 'Run fieldwork-sync sync, or check storage.url' : `It is in use by ${holder}: wait for it to end`}${ended}`,
    )
  const [shard] = await shardsIn(warehouseDirectory)
  const advice =
    holder !== null
      ? `The warehouse is held by ${holder}: wait for it to end`
      : shard === undefined
        ? 'Run fieldwork-sync sync, or check --warehouse'
        : `The warehouse is divided into ${shard.count} shards: choose one, such as --shard ${shard.index}/${shard.count}`
  const paths = STATE_FORMATS.map((format) => publishedPath(warehouseDirectory, format))
  throw new ExpectedError(
    'nothing_published',
    `there is no ${paths.join(' and no ')}: nothing has been published there yet. ${advice}${ended}`,
  )
}

export interface StatusHead {
  /** Path of the published state. */
  readonly published: string
  readonly publishedAt: Instant
  /** Description of the process that holds the warehouse; null if there is none. */
  readonly holder: string | null
  /** The last sync that is not under way, also if it could not publish; null if it left no record. */
  readonly lastRun: LastRun | null
  /** The sync that is under way; null if there is none. */
  readonly running: LastRun | null
}

/**
 * Reads the published state, and the holder of the storage. Throws `nothing_published`, or `WarehouseUnusableError` if it cannot be read.
 */
export const readWithHead = async <Result>(
  where: Where,
  state: FoundState,
  signal: AbortSignal,
  read: (database: Database, path: string) => Promise<Result>,
): Promise<{ readonly head: StatusHead; readonly result: Result }> => {
  const published = await requirePublished(where, state)
  const { holder, runs } = state
  const head: StatusHead = {
    published: published.path,
    publishedAt: instantFromMs(published.atMs),
    holder,
    lastRun: runs.last,
    running: runs.running,
  }
  return {
    head,
    result: await readPublished(published, signal, (database) => read(database, published.path)),
  }
}

/** The request usage of the last run of each account. Throws like `readWithHead`. */
export const readLastRequestUsage = async (where: Where, signal: AbortSignal) =>
  readPublished(await requirePublished(where, await findState(where, signal)), signal, (database) =>
    database.transaction(lastRequestUsage),
  )
