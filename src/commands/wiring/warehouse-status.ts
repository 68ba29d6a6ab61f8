/** The status of a warehouse directory: what is published there, and who holds it. */
import { ConfigError } from '../../base/errors.js'
import { type Instant, instantFromMs } from '../../model/instant.js'
import { PUBLISH_FORMATS, publishedPath } from '../../model/publish-formats.js'
import { findPublished, type Published } from '../../publish/formats.js'
import type { Settings } from '../../settings/settings.js'
import { lastRequestUsage } from '../../warehouse/history/request-usage.js'
import { describeHolder, isAlive, readHolder } from '../../warehouse/lifecycle/holder.js'
import { readPublished, readStatus, type WarehouseStatus } from '../../warehouse/status.js'
import { shardsIn } from './shard-layout.js'

/** Nothing is published in the directory that the settings name. */
class NothingPublishedError extends ConfigError {
  readonly code = 'nothing_published'
}

export interface StatusHead {
  /** Path of what is published. */
  readonly published: string
  readonly publishedAt: Instant
  /** Who holds the warehouse; null when nobody does. */
  readonly holder: string | null
}

type Place = Pick<Settings, 'warehouseDirectory' | 'publish'>

/** Throws `NothingPublishedError`, or `WarehouseUnusableError` when what is published cannot be read. */
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

/** Where the requests of the last run of each account went. Throws the same. */
export const readLastRequestUsage = async (settings: Place) =>
  readPublished(await requirePublished(settings), (database) => database.transaction(lastRequestUsage))

/** What the settings publish comes first. Throws `NothingPublishedError`. */
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
        : `It is divided into ${shard.count} shards: give one of them, such as --shard ${shard.index}/${shard.count}`
  const paths = PUBLISH_FORMATS.map((format) => publishedPath(warehouseDirectory, format))
  throw new NothingPublishedError(
    `there is no ${paths.join(' and no ')}: nothing has been published there yet. ${advice}`,
  )
}
