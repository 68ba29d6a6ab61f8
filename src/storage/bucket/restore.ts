/**
 * Makes the local work database equal to the state of the bucket, before it is opened. The note `bucket.json` in the local directory says
 * from which state of which bucket the local database is derived, and so whether the next run may use it.
 */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ExpectedError, WarehouseError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { parseJson } from '../../base/parse.js'
import { readOwnText } from '../../base/text-file.js'
import type { ObjectStore } from '../../object-store/object-store.js'
import { documentBody } from '../../object-store/owned-document.js'
import { stateInFile } from '../../publish/duckdb.js'
import { checksum, parseManifest } from '../../publish/parquet/manifest.js'
import {
  ifMissing,
  replaceContent,
  replaceFile,
  sweepTemporaries,
  syncToDisk,
  temporaryBeside,
} from '../../publish/replace-file.js'
import type { Database } from '../../warehouse/connection/database.js'
import { bucketNoteFile, workFile } from '../../warehouse/lifecycle/files.js'
import type { PublishedPlace } from '../../warehouse/lifecycle/rebuild.js'
import { isNewer } from '../../warehouse/lifecycle/version.js'
import {
  type BucketNote,
  manifestSchema,
  type NamedObject,
  noteSchema,
  type PointerContents,
  STATE_NOTHING,
  stateOf,
} from './documents.js'

interface Restoring {
  readonly store: ObjectStore
  readonly pointer: PointerContents
  /** The warehouse directory. Nobody has its work database open. */
  readonly directory: string
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * `ledgersOf` is the last run whose requests are all in the local ledgers; null if the directory was never used with this bucket. Changes
 * nothing. Throws an error `other_bucket` if the directory cannot be used for this bucket.
 */
export const findLocal = async ({
  store,
  pointer,
  directory,
}: Pick<Restoring, 'store' | 'pointer' | 'directory'>) => {
  const note = await readNote(directory)
  const hasWorkDatabase = (await stat(workFile(directory)).catch(ifMissing)) !== null
  const action = localAction(store, pointer, directory, note, hasWorkDatabase)
  return { note, action, ledgersOf: note?.storage === store.address ? note.holder : null }
}

/**
 * Also returns the state from which the work database is now derived. The note keeps its old holder, because it says whose requests are all
 * in the local ledgers. Write the new holder (`writeNote`) only after the request ledgers were handed over.
 */
export const prepareLocal = async (options: Restoring) => {
  const { store, pointer, directory, log } = options
  const { note, action, ledgersOf } = await findLocal(options)
  if (action === 'adopt' && note !== null)
    log.warn(
      { storage: store.address, state: note.state },
      'the bucket was emptied since the last run here: it is filled again from the local work database',
    )
  const state = action === 'restore' ? await restore(options, note) : stateOf(pointer)
  await writeNote(directory, noteOf(store, note, state))
  return { action, state, ledgersOf }
}

const restore = async (options: Restoring, note: BucketNote | null): Promise<string> => {
  const { store, directory } = options
  const workDatabase = workFile(directory)
  const temporary = temporaryBeside(workDatabase)
  // A killed restore leaves a temporary file.
  await sweepTemporaries(workDatabase)
  const state = await downloadDatabase(options, temporary)
  // After a kill between these steps the next run restores again.
  await writeNote(directory, noteOf(store, note, REPLACING))
  await replaceFile(temporary, workDatabase)
  return state
}

/** The state while the work database is being replaced. It equals no state of a bucket. */
const REPLACING = 'replacing'

/** The holder in the note while the ledgers are incomplete. It is no id of a run. */
const NO_HOLDER = ''

const noteOf = (store: ObjectStore, note: BucketNote | null, state: string): Omit<BucketNote, 'format'> => ({
  storage: store.address,
  state,
  holder: note?.storage === store.address ? note.holder : NO_HOLDER,
})

/** Null without a readable note. */
export const readNote = async (directory: string): Promise<BucketNote | null> => {
  const text = await readOwnText(bucketNoteFile(directory)).catch(ifMissing)
  return text === null ? null : parseJson(noteSchema, text)
}

/** A kill leaves the old note or the new one. */
export const writeNote = async (directory: string, note: Omit<BucketNote, 'format'>): Promise<void> => {
  await sweepTemporaries(bucketNoteFile(directory))
  await replaceContent(bucketNoteFile(directory), documentBody({ format: 1, ...note }))
}

/** Throws an error `other_bucket` that names the bucket of the note. */
export const refuseBucket = async (directory: string): Promise<void> => {
  const note = await readNote(directory)
  throw new ExpectedError(
    'other_bucket',
    `the work database in ${directory} belongs to ${note?.storage ?? 'a bucket'}, but the settings have no storage.url. Set it, or use an empty directory`,
  )
}

/**
 * `keep`: the local work database is derived from the bucket's state. `adopt`: the bucket is empty, and the local work database becomes its
 * first state. `restore`: the bucket's state replaces the local one. `start`: neither the directory nor the bucket has a state.
 */
type LocalAction = 'keep' | 'adopt' | 'restore' | 'start'

/** Throws an error `other_bucket` if the local work database belongs to another bucket, or to none while the bucket has a state. */
export const localAction = (
  { address }: Pick<ObjectStore, 'address'>,
  pointer: PointerContents,
  directory: string,
  note: BucketNote | null,
  hasWorkDatabase: boolean,
): LocalAction => {
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

// Downloads. Each copy is verified. If a copy is missing or damaged, the previous one is used, and a warning says so. A store that cannot
// be reached is no damage: its error ends the restore.

/**
 * Writes the newest work database of the bucket, which has a state, to `file`. Returns the state of the file, as `stateOf` names it. Throws
 * an error `bucket_damaged` if no copy is usable; then the file does not exist. Throws `warehouse_is_newer`.
 */
const downloadDatabase = async (
  { store, pointer, log, signal }: Omit<Restoring, 'directory'>,
  file: string,
): Promise<string> => {
  const { snapshot, manifest, earlier } = pointer
  const damages: string[] = []
  // The newest state first.
  for (const state of [snapshot?.key, manifest, ...earlier]) {
    if (state === undefined || state === null) continue
    const isSnapshot = snapshot !== null && state === snapshot.key
    const contents = isSnapshot ? { database: snapshot } : await readManifest(store, state, signal)
    const damage =
      typeof contents === 'string' ? contents : await downloadVerified(store, contents.database, file, signal)
    if (damage === null) {
      if (damages.length > 0)
        log.warn(
          { restored: state, damaged: damages },
          'the newest state of the bucket is damaged: an older one was restored, and what is missing is read again',
        )
      return state
    }
    damages.push(damage)
    log.warn({ storage: store.address }, damage)
  }
  throw new WarehouseError(
    'bucket_damaged',
    `no state in ${store.address} can be restored: ${damages.join('; ')}. Restore one of these objects from the bucket's own versions`,
  )
}

/** The manifest, or what is wrong with it. Throws `warehouse_is_newer`. */
export const readManifest = async (store: ObjectStore, key: string, signal: AbortSignal) => {
  const stored = await store.get(key, signal)
  if (stored === null) return `${key} is missing`
  return parseManifest(manifestSchema, `${store.address}/${key}`, stored.body) ?? `${key} is damaged`
}

/** As `readManifest`, of another version than the current one: somebody may have gone back from a newer fieldwork-sync. */
export const readOtherManifest: typeof readManifest = (...of) =>
  readManifest(...of).catch((error: unknown) => {
    if (isNewer(error)) return error.message
    throw error
  })

/** Writes a verified copy to `file`. Returns null, or what is wrong with the object; then there is no file. */
export const downloadVerified = async (
  store: ObjectStore,
  { key, bytes, sha256 }: NamedObject,
  file: string,
  signal: AbortSignal,
): Promise<string | null> => {
  await rm(file, { force: true })
  if (!(await store.getToFile(key, file, signal))) return `${key} is missing`
  const { size } = await stat(file)
  if (size === bytes && (await checksum(file)) === sha256) {
    await syncToDisk(file)
    return null
  }
  await rm(file, { force: true })
  return size === bytes ? `${key} has another checksum` : `${key} has ${size} bytes instead of ${bytes}`
}

/**
 * The states from which a damaged local work database is filled again. This is needed only if the local database is damaged although it is
 * up to date: any other database is restored as a whole file at the start.
 */
export const bucketStates = (options: Restoring): PublishedPlace => {
  const { address: path } = options.store
  const fill = async (database: Database): Promise<void> => {
    const file = join(options.directory, '.bucket.rebuilding')
    try {
      await downloadDatabase(options, file)
      await stateInFile(database, file).fill()
    } finally {
      await rm(file, { force: true })
    }
  }
  // This is the only state, so its runs need not be counted, and it is not downloaded for a comparison.
  const countRuns = () => Promise.resolve(0)
  const find: PublishedPlace['find'] = (database) =>
    Promise.resolve([{ path, what: 'the bucket', countRuns, fill: () => fill(database) }])
  return { path, find }
}
