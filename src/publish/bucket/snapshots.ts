/**
 * Saves the work database into the bucket now and then during a run. A pod that dies loses its disk, and then only what it committed after
 * the last snapshot is read again.
 */
import { isStop, messageOf } from '../../base/errors.js'
import { LeaseLostError, LostPublishError } from './errors.js'
import { saveSnapshot } from './publisher.js'
import type { BucketPublishing } from './publishing.js'

export interface Snapshots {
  /** Ends a snapshot that is under way, and waits for its end. */
  stop(): Promise<void>
}

/** A snapshot copies and uploads the whole database. A run of less than this makes none. */
export const SNAPSHOT_EVERY_MS = 15 * 60_000

export const startSnapshots = (publishing: BucketPublishing): Snapshots => {
  const ended = new AbortController()
  const loop = takeSnapshots(publishing, ended.signal)
  return {
    stop: async () => {
      ended.abort()
      await loop
    },
  }
}

const takeSnapshots = async (publishing: BucketPublishing, signal: AbortSignal): Promise<void> => {
  const { clock, log, store } = publishing
  for (let number = 1; !signal.aborted; number += 1) {
    try {
      await clock.sleep(SNAPSHOT_EVERY_MS, signal)
      await saveSnapshot(publishing, number, signal)
      log.info({ storage: store.address, number }, 'saved the work database in the bucket')
    } catch (error) {
      if (signal.aborted || isStop(error)) return
      // The run itself meets this error before its next request.
      if (error instanceof LeaseLostError || error instanceof LostPublishError) return
      log.warn({ problem: messageOf(error) }, 'the work database could not be saved; the run goes on')
    }
  }
}
