/**
 * Keeps a Delta log short: a checkpoint after ten commits or a few more, from which readers start, and the deletion of what no
 * reader needs. The commit stands without it. So a failure is logged, and the next run tries again.
 */

import type { Clock } from '../../base/clock.js'
import { isStop, messageOf } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { withTemporary, writeCheckpoint } from './checkpoint.js'
import { checkpointActions } from './log.js'
import {
  checkpointKey,
  LOG_RETENTION_MS,
  type LogFiles,
  lastCheckpointKey,
  outdatedKeys,
} from './log-files.js'
import { type LogReading, readState } from './read-log.js'

export interface KeepingUp extends LogReading {
  readonly clock: Clock
  readonly log: Log
  readonly checkpoints: CheckpointAllowance
}

/** How many checkpoints the tables of a publish may still get. */
export interface CheckpointAllowance {
  left: number
}

/** Logs that grow together need no checkpoints in the same night. Other tables get theirs in the next nights. */
export const checkpointAllowance = (): CheckpointAllowance => ({ left: CHECKPOINTS_A_PUBLISH_MAX })

/** Enough for 30 tables of which each is changed by every publish. A checkpoint takes two puts. */
const CHECKPOINTS_A_PUBLISH_MAX = 3

/** `number` is the last commit; `files` were listed before it. */
export const keepUp = async (
  given: KeepingUp,
  directory: string,
  files: LogFiles,
  number: number,
): Promise<void> => {
  try {
    const isDue = number - (files.checkpoints.at(-1)?.number ?? 0) >= COMMITS_PER_CHECKPOINT
    if (isDue && given.checkpoints.left > 0) {
      given.checkpoints.left -= 1
      await addCheckpoint(given, directory, files, number)
    }
    const outdated = outdatedKeys(files)
    if (outdated.length > 0) await given.store.delete(outdated, given.signal)
  } catch (error) {
    if (isStop(error) || given.signal.aborted) throw error
    given.log.warn(
      { directory, problem: messageOf(error) },
      'the Delta log got no checkpoint, or old commits could not be deleted; the next run tries again',
    )
  }
}

const COMMITS_PER_CHECKPOINT = 10

const addCheckpoint = async (
  given: KeepingUp,
  directory: string,
  files: LogFiles,
  number: number,
): Promise<void> => {
  const { store, database, scratch, clock, signal } = given
  const state = await readState(given, directory, files, number)
  const actions = checkpointActions(state, clock.nowMs(), LOG_RETENTION_MS)
  await withTemporary(scratch, async (file) => {
    await writeCheckpoint(database, actions, file)
    // A lost put is no failure: then another run has written the same checkpoint.
    await store.putIfAbsent(checkpointKey(directory, number), { file }, signal)
  })
  const key = lastCheckpointKey(directory)
  const pointer = Buffer.from(JSON.stringify({ version: number, size: actions.length }))
  const found = await store.get(key, signal)
  if (found === null) await store.putIfAbsent(key, pointer, signal)
  else await store.putIfMatch(key, pointer, found.etag, signal)
}
