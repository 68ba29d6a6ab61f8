/**
 * A warehouse directory holds one warehouse, or the shards of one number. Both at once, or shards of two numbers, would
 * hold the same accounts twice, and whoever reads all shards would see them twice: that is refused before anything begins.
 */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ConfigError } from '../../base/errors.js'
import { PUBLISHED_AS } from '../../model/publish-formats.js'
import type { Settings } from '../../settings/settings.js'
import { type Shard, shardDirectory, shardOfDirectory } from '../../settings/shards.js'
import { workFile } from '../../warehouse/lifecycle/files.js'

/** What is in the directory belongs to another number of shards. Exit 2. */
export class OtherShardsError extends ConfigError {
  readonly code = 'other_shards'
}

/** Throws `OtherShardsError`. A directory that cannot be read is left to whoever opens the warehouse. */
export const requireShardLayout = async ({
  warehouseDirectory,
  shard,
}: Pick<Settings, 'warehouseDirectory' | 'shard'>): Promise<void> => {
  const own = shardOfDirectory(basename(warehouseDirectory))
  if (shard === null && own !== null)
    throw new OtherShardsError(
      `${warehouseDirectory} is the warehouse of shard ${own.index} of ${own.count}: all accounts would be read into it. Give --warehouse ${dirname(warehouseDirectory)} --shard ${own.index}/${own.count}`,
    )
  const root = shard === null ? warehouseDirectory : dirname(warehouseDirectory)
  const wanted = shard === null ? 'a warehouse without shards' : `one of ${counted(shard)}`
  const others = (await shardsIn(root)).filter(({ count }) => count !== shard?.count).map(shardDirectory)
  if (shard !== null && (await holdsWarehouse(root))) others.push('a warehouse without shards')
  if (others.length > 0)
    throw new OtherShardsError(
      `${root} holds ${others.toSorted().join(', ')}, and this would be ${wanted}: the same accounts would be there twice, for everybody who reads all of it. Move what is there to another directory first, or keep the number of shards`,
    )
}

const counted = (shard: Shard): string =>
  `${shardDirectory({ ...shard, index: 0 })} to ${shardDirectory({ ...shard, index: shard.count - 1 })}`

/** The shards that have a warehouse below this directory. */
export const shardsIn = async (root: string): Promise<readonly Shard[]> => {
  const shards: Shard[] = []
  for (const name of await namesIn(root)) {
    const shard = shardOfDirectory(name)
    if (shard !== null && (await holdsWarehouse(join(root, name)))) shards.push(shard)
  }
  return shards
}

export const holdsWarehouse = async (directory: string): Promise<boolean> => {
  const names = await namesIn(directory)
  const places = [basename(workFile(directory)), ...Object.values(PUBLISHED_AS)]
  return places.some((path) => names.some((name) => path === name || path.startsWith(`${name}/`)))
}

const namesIn = (directory: string): Promise<readonly string[]> => readdir(directory).catch(() => [])
