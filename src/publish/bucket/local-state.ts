/** Makes the local work database equal to the state of the bucket, before it is opened. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { ExpectedError, hasCode } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { bucketNoteFile } from '../../warehouse/lifecycle/files.js'
import { renameDurably, replaceFile, sweepTemporaries, syncToDisk, temporaryBeside } from '../replace-file.js'
import {
  type BucketNote,
  documentBody,
  noteSchema,
  type PointerContents,
  parseDocument,
  STATE_NOTHING,
  stateOf,
} from './documents.js'
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

// The note `bucket.json` in the local directory. It says from which state of which bucket the local work database is derived, and so
// whether the next run may use it.

/** The holder of incomplete ledgers. It is no id of a run. */
const NO_HOLDER = ''

/** Null if there is no note, or none that can be read. */
export const readNote = async (directory: string): Promise<BucketNote | null> => {
  try {
    return parseDocument(noteSchema, await readFile(bucketNoteFile(directory)))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

/** Throws an error `other_bucket` that names the bucket of the note. */
export const refuseBucket = async (directory: string): Promise<void> => {
  const note = await readNote(directory)
  throw new ExpectedError(
    'other_bucket',
    `the work database in ${directory} belongs to ${note?.storage ?? 'a bucket'}, but the settings have no storage.url. Set it, or use an empty directory`,
  )
}

/** A kill leaves the old note or the new one. */
export const writeNote = async (directory: string, note: Omit<BucketNote, 'format'>): Promise<void> => {
  const target = bucketNoteFile(directory)
  const temporary = temporaryBeside(target)
  await writeFile(temporary, documentBody({ format: 1, ...note }))
  await syncToDisk(temporary)
  await renameDurably(temporary, target)
}

/**
 * `keep`: the local work database is derived from the bucket's state. `adopt`: the bucket is empty, and the local work database becomes
 * its first state. `restore`: the bucket's state replaces the local one. `start`: there is nothing in either place.
 */
type LocalAction = 'keep' | 'adopt' | 'restore' | 'start'

interface LocalState {
  readonly note: BucketNote | null
  readonly hasWorkDatabase: boolean
  /** Of the store. */
  readonly address: string
  readonly directory: string
  readonly pointer: PointerContents
}

/** Throws an error `other_bucket` if the local work database belongs to another bucket, or to none while the bucket has a state. */
export const localAction = (local: LocalState): LocalAction => {
  const { note, hasWorkDatabase, address, directory, pointer } = local
  const state = stateOf(pointer)
  if (!hasWorkDatabase) return state === STATE_NOTHING ? 'start' : 'restore'
  if (note !== null && note.storage !== address)
    throw new ExpectedError(
      'other_bucket',
      `the work database in ${directory} belongs to ${note.storage}, not to ${address}. Use an empty directory for each bucket`,
    )
  if (note?.state === state) return 'keep'
  if (state === STATE_NOTHING) return 'adopt'
  if (note === null)
    throw new ExpectedError(
      'other_bucket',
      `${directory} holds a warehouse of its own, and ${address} holds another one. Use an empty directory, or an empty prefix to move the local warehouse into the bucket`,
    )
  return 'restore'
}

/** Whether the bucket lost the state that the note names: somebody emptied it. */
export const wasEmptied = (note: BucketNote | null, pointer: PointerContents): boolean =>
  note !== null && note.state !== STATE_NOTHING && stateOf(pointer) === STATE_NOTHING
