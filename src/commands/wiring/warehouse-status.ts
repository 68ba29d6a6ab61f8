/** The status of a warehouse directory: its published state, and the process that holds the warehouse. */
import { ConfigError } from '../../base/errors.js'
import { type Instant, instantFromMs } from '../../model/instant.js'
import { PUBLISH_FORMATS, publishedPath } from '../../model/publish-formats.js'
import { findPublished, type Published } from '../../publish/formats.js'
import type { Settings } from '../../settings/settings.js'
import { lastRequestUsage } from '../../warehouse/history/request-usage.js'
import { describeHolder, isAlive, readHolder } from '../../warehouse/lifecycle/holder.js'
import { readPublished, readStatus, type WarehouseStatus } from '../../warehouse/status.js'
import { shardsIn } from './shard-layout.js'

/** The configured directory holds no published state. Exit 2. */
class NothingPublishedError extends ConfigError {
  readonly code = 'nothing_published'
}

export interface StatusHead {
  /** Path of the published state. */
  readonly published: string
  readonly publishedAt: Instant
  /** Description of the process that holds the warehouse; null if there is none. */
  readonly holder: string | null
}

type Place = Pick<Settings, 'warehouseDirectory' | 'publish'>

/** Throws `NothingPublishedError`, or `WarehouseUnusableError` if the published state cannot be read. */
export const readWarehouseStatus = async (
  settings: Place,
): Promise<{ readonly head: StatusHead; readonly status: WarehouseStatus }> => {
  const note = await readHolder(settings.warehouseDirectory)
  const holder = note !== null && isAlive(note) ? describeHolder(note) : null
  const found = await requirePublished(settings, holder)
  return {
    head: { published: found.path, publishedAt: instantFromMs(found.atMs), holder },
    status: await readPublished(found, (database) => database.transaction(readStatus)),
  }
}

/** The request usage of the last run of each account. Throws like `readWarehouseStatus`. */
export const readLastRequestUsage = async (settings: Place) =>
  readPublished(await requirePublished(settings), (database) => database.transaction(lastRequestUsage))

/** Finds a published state, in the configured formats first. Throws `NothingPublishedError`. */
export const requirePublished = async (
  { warehouseDirectory, publish }: Place,
  holder: string | null = null,
): Promise<Published> => {
  const found = await findPublished(warehouseDirectory, publish)
  if (found !== null) return found
  const [shard] = await shardsIn(warehouseDirectory)
  const advice =
    holder !== null
      ? `The warehouse is held by ${holder}: wait for it to end`
      : shard === undefined
        ? 'Run fieldwork-sync sync, or check --warehouse'
        : `The warehouse is divided into ${shard.count} shards: choose one, such as --shard ${shard.index}/${shard.count}`
  const paths = PUBLISH_FORMATS.map((format) => publishedPath(warehouseDirectory, format))
  throw new NothingPublishedError(
    `there is no ${paths.join(' and no ')}: nothing has been published there yet. ${advice}`,
  )
}
