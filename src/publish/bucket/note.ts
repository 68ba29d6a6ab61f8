/**
 * The note `bucket.json` in the local directory. It says from which state of which bucket the local work database is derived, and so
 * whether the next run may use it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { ExpectedError, hasCode } from '../../base/errors.js'
import { bucketNoteFile } from '../../warehouse/lifecycle/files.js'
import { renameDurably, syncToDisk, temporaryBeside } from '../replace-file.js'
import {
  type BucketNote,
  documentBody,
  noteSchema,
  type PointerContents,
  parseDocument,
  STATE_NOTHING,
  stateOf,
} from './documents.js'

/** The holder of incomplete ledgers. It is no id of a run. */
export const NO_HOLDER = ''

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
export type LocalAction = 'keep' | 'adopt' | 'restore' | 'start'

export interface LocalState {
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
