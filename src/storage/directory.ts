/** A warehouse that lasts in its directory. */
import { readdir, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemClock } from '../base/clock.js'
import { ExpectedError } from '../base/errors.js'
import { humanBytes } from '../base/human.js'
import { PUBLISHED_AS } from '../model/publish-formats.js'
import { publishedPlaces, publishersOf } from '../publish/formats.js'
import type { Settings } from '../settings/settings.js'
import { type Shard, shardDirectory, shardOfDirectory } from '../settings/shards.js'
import type { Database } from '../warehouse/connection/database.js'
import { workFile } from '../warehouse/lifecycle/files.js'
import { cannotWrite, openWarehouse } from '../warehouse/lifecycle/open.js'
import { recordInDirectory } from './last-run.js'
import type { HoldStorage, Storage } from './storage.js'

/**
 * The lock of the work database holds the directory, so the storage has nothing to do before the database is opened or after it is closed.
 */
export const directoryStorage = ({ settings, command, runId, log, signal }: HoldStorage): Storage => {
  const { warehouseDirectory: directory, publish, report, accounts } = settings
  const clock = systemClock
  const lastRun = recordInDirectory({
    directory,
    recorder: { runId, accounts: accounts.map(({ name }) => name) },
    clock,
    log,
  })
  const open = () =>
    openWarehouse({
      directory,
      clock,
      log,
      command: `fieldwork-sync ${command}`,
      published: publishedPlaces(directory),
      // A sync of some surveys and a replay do not count as nightly runs.
      onHeld: async () =>
        command === 'sync' ? await lastRun.start().catch(cannotWrite(directory)) : undefined,
    })
  let tried: Database | null = null
  return {
    signal,
    requireHeld: () => undefined,
    openWarehouse: async () => {
      const database = await open()
      const publishing = { database, directory, clock, views: publish.views, log, report }
      return { database, publishers: publishersOf(publish.formats, publishing) }
    },
    recordEnd: async (ending) => (command === 'sync' ? await lastRun.end(ending) : undefined),
    tryOut: async () => {
      tried = await open()
      return [{ what: 'warehouse', detail: `${directory} is writable` }]
    },
    [Symbol.asyncDispose]: async () => {
      lastRun.stop()
      await tried?.close()
    },
  }
}

/** Why the disk has no room for the copy that a publish makes of the work database; null if it has, or nothing is copied. */
export const lackOfSpace = async ({
  storage,
  publish,
  warehouseDirectory: directory,
}: Pick<Settings, 'storage' | 'publish' | 'warehouseDirectory'>): Promise<string | null> => {
  if (storage !== null || !publish.formats.includes('duckdb')) return null
  const { size } = await stat(workFile(directory))
  const { blocks, bavail, bsize } = await statfs(directory)
  const free = bavail * bsize
  // A file system that does not say how large it is has no blocks.
  return blocks > 0 && free < size
    ? `the disk of ${directory} has ${humanBytes(free)} free, and a publish copies work.duckdb, which has ${humanBytes(size)}: free some space`
    : null
}

/** Whether there is a work database or a published state. */
export const holdsWarehouse = async (directory: string): Promise<boolean> => {
  const names = await namesIn(directory)
  const paths = [basename(workFile(directory)), ...Object.values(PUBLISHED_AS)]
  return paths.some((path) => names.some((name) => path === name || path.startsWith(`${name}/`)))
}

const namesIn = (directory: string): Promise<readonly string[]> => readdir(directory).catch(() => [])

// A directory holds one warehouse, or all shards of one division. With both, or with two divisions, the same accounts would be stored
// twice, and readers of all shards would see each row twice. So a command refuses such a directory before it starts.

/** Throws `other_shards`. A directory that cannot be read is accepted here, because opening the warehouse reports it. */
export const requireShardLayout = async ({
  warehouseDirectory,
  shard,
}: Pick<Settings, 'warehouseDirectory' | 'shard'>): Promise<void> => {
  const own = shardOfDirectory(basename(warehouseDirectory))
  if (shard === null && own !== null)
    throw new ExpectedError(
      'other_shards',
      `${warehouseDirectory} is the warehouse of shard ${own.index} of ${own.count}, but this run would store all accounts in it. Give --warehouse ${dirname(warehouseDirectory)} --shard ${own.index}/${own.count}`,
    )
  const root = shard === null ? warehouseDirectory : dirname(warehouseDirectory)
  const requested = shard === null ? 'a warehouse without shards' : `one of ${directoriesOf(shard)}`
  const others = (await shardsIn(root)).filter(({ count }) => count !== shard?.count).map(shardDirectory)
  if (shard !== null && (await holdsWarehouse(root))) others.push('a warehouse without shards')
  if (others.length > 0)
    throw new ExpectedError(
      'other_shards',
      `${root} holds ${others.toSorted().join(', ')}, but this run would write ${requested}, which would store the same accounts twice. Move the existing files to another directory first, or keep the number of shards`,
    )
}

const directoriesOf = (shard: Shard): string =>
  `${shardDirectory({ ...shard, index: 0 })} to ${shardDirectory({ ...shard, index: shard.count - 1 })}`

/** The shards whose warehouse is below this directory. */
export const shardsIn = async (root: string): Promise<readonly Shard[]> => {
  const shards: Shard[] = []
  for (const name of await namesIn(root)) {
    const shard = shardOfDirectory(name)
    if (shard !== null && (await holdsWarehouse(join(root, name)))) shards.push(shard)
  }
  return shards
}
