/** The status of a warehouse directory: its published state, and the process that holds the warehouse. */
import { ExpectedError } from '../../base/errors.js'
import { type Instant, instantFromMs } from '../../model/instant.js'
import { publishedPath, STATE_FORMATS } from '../../model/publish-formats.js'
import type { Published } from '../../publish/formats.js'
import { storageAddress } from '../../settings/storage.js'
import { lastRequestUsage } from '../../warehouse/history/request-usage.js'
import { readPublished, readStatus, type WarehouseStatus } from '../../warehouse/status.js'
import type { FoundState } from './place.js'
import { findState, type PublishedPlace } from './published.js'
import { shardsIn } from './shard-layout.js'

export interface StatusHead {
  /** Path of the published state. */
  readonly published: string
  readonly publishedAt: Instant
  /** Description of the process that holds the warehouse; null if there is none. */
  readonly holder: string | null
}

/** Throws `nothing_published`, or `WarehouseUnusableError` if the published state cannot be read. */
export const readWarehouseStatus = async (
  settings: PublishedPlace,
  signal: AbortSignal,
): Promise<{ readonly head: StatusHead; readonly status: WarehouseStatus }> => {
  const state = await findState(settings, signal)
  const { holder } = state
  const found = await requirePublished(settings, state)
  return {
    head: { published: found.path, publishedAt: instantFromMs(found.atMs), holder },
    status: await readPublished(found, signal, (database) => database.transaction(readStatus)),
  }
}

/** The request usage of the last run of each account. Throws like `readWarehouseStatus`. */
export const readLastRequestUsage = async (settings: PublishedPlace, signal: AbortSignal) =>
  readPublished(await requirePublished(settings, await findState(settings, signal)), signal, (database) =>
    database.transaction(lastRequestUsage),
  )

/** Throws `nothing_published` if nothing is published. */
export const requirePublished = async (
  { warehouseDirectory, storage }: PublishedPlace,
  { published, holder }: FoundState,
): Promise<Published> => {
  if (published !== null) return published
  if (storage !== null)
    throw new ExpectedError(
      'nothing_published',
      `nothing has been published in ${storageAddress(storage)} yet. ${holder === null ? 'Run fieldwork-sync sync, or check storage.url' : `It is in use by ${holder}: wait for it to end`}`,
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
    `there is no ${paths.join(' and no ')}: nothing has been published there yet. ${advice}`,
  )
}
