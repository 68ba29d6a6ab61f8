/** The status of a warehouse directory: its published file, and who holds it. */
import { stat } from 'node:fs/promises'
import { ConfigError } from '../../base/errors.js'
import { type Instant, instantFromMs } from '../../model/instant.js'
import { publishedFile } from '../../warehouse/files.js'
import { describeHolder, isAlive, readHolder } from '../../warehouse/holder.js'
import { readStatus, type WarehouseStatus } from '../../warehouse/status.js'

/** There is no published file in the directory that the settings name. */
export class NothingPublishedError extends ConfigError {
  readonly code = 'nothing_published'
}

export interface StatusHead {
  readonly published: string
  readonly publishedAt: Instant
  readonly holder: string | null
}

/** Throws `NothingPublishedError`, or `WarehouseUnusableError` when the published file cannot be read. */
export const readWarehouseStatus = async (
  directory: string,
): Promise<{ readonly head: StatusHead; readonly status: WarehouseStatus }> => {
  const published = publishedFile(directory)
  const note = await readHolder(directory)
  const holder = note !== null && isAlive(note) ? describeHolder(note) : null
  const found = await stat(published).catch((error: unknown) => {
    const advice =
      holder === null
        ? 'Run fieldwork-sync sync, or check --warehouse'
        : `The warehouse is held by ${holder}: wait for it to end`
    throw new NothingPublishedError(
      `there is no ${published}: nothing has been published there yet. ${advice}`,
      { cause: error },
    )
  })
  return {
    head: {
      published,
      publishedAt: instantFromMs(found.mtimeMs),
      holder,
    },
    status: await readStatus(published),
  }
}
