/** Makes the local work database equal to the state of the bucket, before it is opened. */
import { stat } from 'node:fs/promises'
import { hasCode } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { replaceFile, sweepTemporaries, temporaryBeside } from '../replace-file.js'
import { type BucketNote, type PointerContents, STATE_NOTHING, stateOf } from './documents.js'
import { type LocalAction, localAction, NO_HOLDER, readNote, wasEmptied, writeNote } from './note.js'
import { downloadDatabase } from './restore.js'

export interface LocalOptions {
  readonly store: ObjectStore
  readonly pointer: PointerContents
  readonly directory: string
  /** In `directory`. Nobody has it open. */
  readonly workDatabase: string
  readonly log: Log
  readonly signal: AbortSignal
}

export interface PreparedLocal {
  readonly action: LocalAction
  /** The state that the work database is derived from now. */
  readonly state: string
  /** The holder whose requests the local ledgers hold completely; null if there is none. */
  readonly ledgersOf: string | null
}

export interface FoundLocal {
  readonly note: BucketNote | null
  readonly hasWorkDatabase: boolean
  readonly action: LocalAction
  /** As in `PreparedLocal`. */
  readonly ledgersOf: string | null
}

/** Changes nothing. Throws an error `other_bucket` if the directory cannot be used for this bucket. */
export const findLocal = async ({
  store: { address },
  pointer,
  directory,
  workDatabase,
}: Omit<LocalOptions, 'log' | 'signal'>): Promise<FoundLocal> => {
  const note = await readNote(directory)
  const hasWorkDatabase = await exists(workDatabase)
  const action = localAction({ note, hasWorkDatabase, address, directory, pointer })
  return { note, hasWorkDatabase, action, ledgersOf: note?.storage === address ? note.holder : null }
}

/**
 * The note keeps its old holder. Write the new holder (`writeNote`) only after the request ledgers were handed over: the note says whose
 * requests the local ledgers hold completely.
 */
export const prepareLocal = async (options: LocalOptions): Promise<PreparedLocal> => {
  const { store, pointer, directory, log } = options
  const { note, hasWorkDatabase, action, ledgersOf } = await findLocal(options)
  if (hasWorkDatabase && wasEmptied(note, pointer))
    log.warn(
      { storage: store.address, state: note?.state },
      'the bucket was emptied since the last run here: it is filled again from the local work database',
    )
  const state = action === 'restore' ? await restore(options, note) : stateOf(pointer)
  await writeNote(directory, noteOf(store, note, state))
  return { action, state, ledgersOf }
}

const restore = async (options: LocalOptions, note: BucketNote | null): Promise<string> => {
  const { store, pointer, directory, workDatabase, log, signal } = options
  const temporary = temporaryBeside(workDatabase)
  // A killed restore leaves its file behind.
  await sweepTemporaries(workDatabase)
  const state = await downloadDatabase({ store, pointer, file: temporary, log, signal })
  if (state === null) return STATE_NOTHING
  // After a kill between these steps the next run restores again.
  await writeNote(directory, noteOf(store, note, REPLACING))
  await replaceFile(temporary, workDatabase)
  return state
}

/** The state while the work database is being replaced. It equals no state of a bucket. */
const REPLACING = 'replacing'

const noteOf = (store: ObjectStore, note: BucketNote | null, state: string): Omit<BucketNote, 'format'> => ({
  storage: store.address,
  state,
  holder: note?.storage === store.address ? note.holder : NO_HOLDER,
})

const exists = async (path: string): Promise<boolean> => {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}
