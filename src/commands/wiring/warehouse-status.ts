/** The status of a warehouse directory: what is published there, and who holds it. */
import { stat } from 'node:fs/promises'
import { ConfigError } from '../../base/errors.js'
import { type Instant, instantFromMs } from '../../model/instant.js'
import { manifestFile } from '../../publish/parquet/manifest.js'
import { openParquet } from '../../publish/parquet/reader.js'
import { currentPath } from '../../publish/parquet/versions.js'
import { PUBLISH_FORMATS } from '../../settings/schema.js'
import type { Settings } from '../../settings/settings.js'
import { lastRequestUsage } from '../../warehouse/history/request-usage.js'
import { parquetDirectory, publishedFile } from '../../warehouse/lifecycle/files.js'
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

/** Throws `NothingPublishedError`, or `WarehouseUnusableError` when what is published cannot be read. */
export const readWarehouseStatus = async (
  directory: string,
  publish: Settings['publish'],
): Promise<{ readonly head: StatusHead; readonly status: WarehouseStatus }> => {
  const note = await readHolder(directory)
  const holder = note !== null && isAlive(note) ? describeHolder(note) : null
  const found = await findPublished(directory, publish)
  if (found === null) throw await nothingPublished(directory, holder)
  return {
    head: { published: found.path, publishedAt: instantFromMs(found.atMs), holder },
    status: await readStatus(found.path, found.open),
  }
}

/** Where the requests of the last run of each account went. Throws the same. */
export const readLastRequestUsage = async (directory: string, publish: Settings['publish']) => {
  const found = await findPublished(directory, publish)
  if (found === null) throw await nothingPublished(directory, null)
  return await readPublished(found.path, (database) => database.transaction(lastRequestUsage), found.open)
}

export const nothingPublished = async (
  directory: string,
  holder: string | null,
): Promise<NothingPublishedError> => {
  const [shard] = await shardsIn(directory)
  const advice =
    holder !== null
      ? `The warehouse is held by ${holder}: wait for it to end`
      : shard === undefined
        ? 'Run fieldwork-sync sync, or check --warehouse'
        : `It is divided into ${shard.count} shards: give one of them, such as --shard ${shard.index}/${shard.count}`
  return new NothingPublishedError(
    `there is no ${publishedFile(directory)} and no ${currentPath(parquetDirectory(directory))}: nothing has been published there yet. ${advice}`,
  )
}

/** What the settings publish comes first; what they do not is better than nothing. */
export const findPublished = async (directory: string, publish: Settings['publish']) => {
  const [file, current] = [publishedFile(directory), currentPath(parquetDirectory(directory))]
  const places = {
    duckdb: { path: file, dated: file, open: undefined },
    parquet: { path: current, dated: manifestFile(current), open: openParquet },
  }
  for (const format of [...publish, ...PUBLISH_FORMATS]) {
    const { path, dated, open } = places[format]
    const atMs = await stat(dated).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    )
    if (atMs !== null) return { path, open, atMs }
  }
  return null
}
