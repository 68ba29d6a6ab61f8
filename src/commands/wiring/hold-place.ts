/** Holds the place that the settings name: the warehouse directory, or a bucket. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../base/clock.js'
import { publishedPlaces, publishersOf } from '../../publish/formats.js'
import { bucketNoteFile } from '../../warehouse/lifecycle/files.js'
import { openWarehouse } from '../../warehouse/lifecycle/open.js'
import type { HoldPlace, Place } from './place.js'

/** Throws a `WarehouseError`, such as `WarehouseHeldError`. */
export const holdPlace = async (held: HoldPlace): Promise<Place> => {
  if (held.settings.storage === null) {
    await requireNoBucket(held.settings.warehouseDirectory)
    return directoryPlace(held)
  }
  const { bucketPlace } = await import('./bucket-place.js')
  return await bucketPlace(held, held.settings.storage)
}

/** A run without its bucket would be lost: the next run with it may restore another work database. */
const requireNoBucket = async (directory: string): Promise<void> => {
  if (!existsSync(bucketNoteFile(directory))) return
  const { refuseBucket } = await import('../../publish/bucket/local-state.js')
  await refuseBucket(directory)
}

/** The lock of the work database holds the directory, so nothing has to be done before it is opened or after it is closed. */
const directoryPlace = ({ settings, command, log, signal }: HoldPlace): Place => {
  const { warehouseDirectory: directory, publish, report } = settings
  const open = () =>
    openWarehouse({
      directory,
      clock: systemClock,
      log,
      command: `fieldwork-sync ${command}`,
      published: publishedPlaces(directory),
    })
  return {
    signal,
    requireHeld: () => undefined,
    openWarehouse: open,
    tryOut: async () => {
      const database = await open()
      return {
        found: [{ what: 'warehouse', detail: `${directory} is writable` }],
        [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
      }
    },
    publishers: (database) => publishersOf(publish, { database, directory, clock: systemClock, log, report }),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
