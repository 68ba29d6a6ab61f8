/**
 * The states of a bucket from which a damaged local work database is filled again. The database that a run restores at its start is a
 * file of its own, so this is only needed if the local one is damaged although it is up to date.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../base/log.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import type { PublishedPlace } from '../../warehouse/lifecycle/rebuild.js'
import { stateInFile } from '../duckdb-restore.js'
import type { PointerContents } from './documents.js'
import { downloadDatabase } from './restore.js'

export interface BucketStates {
  readonly store: ObjectStore
  readonly pointer: PointerContents
  /** The warehouse directory, in which the downloaded database is for a short time. */
  readonly directory: string
  readonly log: Log
  readonly signal: AbortSignal
}

export const bucketStates = ({ store, pointer, directory, log, signal }: BucketStates): PublishedPlace => ({
  path: store.address,
  find: (database) => {
    const file = join(directory, '.bucket.rebuilding')
    const state = stateInFile(database, file)
    const downloaded = async <Result>(read: () => Promise<Result>): Promise<Result> => {
      try {
        await downloadDatabase({ store, pointer, file, log, signal })
        return await read()
      } finally {
        await rm(file, { force: true })
      }
    }
    return Promise.resolve([
      {
        path: store.address,
        what: 'the bucket',
        countRuns: () => downloaded(state.countRuns),
        fill: () => downloaded(state.fill),
      },
    ])
  },
})
