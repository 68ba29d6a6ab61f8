/** Reads the Delta log of a table from the object store: its keys and files, a commit, and the state that it describes. */
import pLimit from 'p-limit'
import { DAY_MS } from '../../base/durations.js'
import { messageOf } from '../../base/errors.js'
import {
  type ListedObject,
  listAll,
  type ObjectStore,
  ObjectStoreError,
} from '../../object-store/object-store.js'
import type { Database } from '../../warehouse/connection/database.js'
import { type Action, PROTOCOL, parseActions, readCheckpoint, withTemporary } from './actions.js'
import { type LogState, stateAfter } from './log.js'

export interface LogFile extends ListedObject {
  readonly number: number
  readonly isCheckpoint: boolean
}

/** Commits and checkpoints, in the order of the numbers. The commit comes before a checkpoint of the same number. */
export type LogFiles = readonly LogFile[]

/** How long a log shows earlier states: as long as manifests are kept. */
export const LOG_RETENTION_MS = 30 * DAY_MS

const padded = (number: number): string => String(number).padStart(20, '0')

export const logPrefix = (directory: string): string => `${directory}/_delta_log/`
export const commitKey = (directory: string, number: number): string =>
  `${logPrefix(directory)}${padded(number)}.json`
export const checkpointKey = (directory: string, number: number): string =>
  `${logPrefix(directory)}${padded(number)}.checkpoint.parquet`
export const lastCheckpointKey = (directory: string): string => `${logPrefix(directory)}_last_checkpoint`

/** The log of a table among listed objects. */
export const logIn = (objects: readonly ListedObject[], directory: string): LogFiles =>
  logFilesOf(objects.filter(({ key }) => key.startsWith(logPrefix(directory))))

export const logFilesOf = (objects: readonly ListedObject[]): LogFiles =>
  objects
    .flatMap((object) => {
      const [, digits, form] = /\/_delta_log\/(\d{20})\.(json|checkpoint\.parquet)$/.exec(object.key) ?? []
      return digits === undefined ? [] : { ...object, number: Number(digits), isCheckpoint: form !== 'json' }
    })
    .toSorted((a, b) => a.number - b.number || Number(a.isCheckpoint) - Number(b.isCheckpoint))

/** The next commit has the number after the highest: a put to a removed number would succeed again. */
export const nextNumber = (files: LogFiles): number => (files.at(-1)?.number ?? -1) + 1

/** The newest checkpoint for which `isWanted` is true; -1 if there is none. */
export const checkpointIn = (files: LogFiles, isWanted: (file: LogFile) => boolean = () => true): number =>
  files.findLast((file) => file.isCheckpoint && isWanted(file))?.number ?? -1

/**
 * The files from which no reader starts any more: the files below the newest checkpoint that is older than the retention. The oldest come
 * first, and a file of unknown age ends the list, so that no gap appears between retained files.
 */
export const outdatedKeys = (files: LogFiles): readonly string[] => {
  const isOld = ({ ageMs }: LogFile): boolean => ageMs !== null && ageMs > LOG_RETENTION_MS
  const limit = checkpointIn(files, isOld)
  const below = files.filter(({ number }) => number < limit)
  const firstKept = below.findIndex((file) => !isOld(file))
  return (firstKept === -1 ? below : below.slice(0, firstKept)).map(({ key }) => key)
}

export interface LogReading {
  readonly store: ObjectStore
  /** Reads checkpoints. The rows of this database are not used. */
  readonly database: Database
  /** A local directory for temporary files. */
  readonly scratch: string
  readonly signal: AbortSignal
}

export const listLog = async ({ store, signal }: LogReading, directory: string): Promise<LogFiles> =>
  logFilesOf(await listAll(store, logPrefix(directory), signal))

/** Null if there is no such commit. */
export const readCommit = async (
  { store, signal }: Pick<LogReading, 'store' | 'signal'>,
  directory: string,
  number: number,
): Promise<readonly Action[] | null> => {
  const object = await store.get(commitKey(directory, number), signal)
  if (object === null) return null
  try {
    return parseActions(object.body.toString())
  } catch (error) {
    throw unusable(store, directory, `commit ${number} is no commit (${messageOf(error)})`, error)
  }
}

/** The state after commit `number`: the newest checkpoint up to it, and the commits after that. */
export const readState = async (
  reading: LogReading,
  directory: string,
  files: LogFiles,
  number: number,
): Promise<LogState> => {
  const checkpoint = checkpointIn(files, (file) => file.number <= number)
  const start = checkpoint === -1 ? [] : await download(reading, directory, checkpoint)
  const limit = pLimit(READS_AT_ONCE)
  const numbers = Array.from({ length: number - checkpoint }, (_, index) => checkpoint + 1 + index)
  const commits = await Promise.all(
    numbers.map((commit) => limit(() => requireCommit(reading, directory, commit))),
  )
  const state = stateAfter([start, ...commits].flat())
  const { minReaderVersion, minWriterVersion } = state.protocol ?? PROTOCOL
  if (state.metaData === null) throw unusable(reading.store, directory, 'it has no metadata')
  if (minReaderVersion > PROTOCOL.minReaderVersion || minWriterVersion > PROTOCOL.minWriterVersion)
    throw unusable(
      reading.store,
      directory,
      `another writer changed its protocol to reader ${minReaderVersion}, writer ${minWriterVersion}`,
    )
  return state
}

const READS_AT_ONCE = 8

export const requireCommit = async (reading: LogReading, directory: string, number: number) => {
  const actions = await readCommit(reading, directory, number)
  if (actions === null) throw unusable(reading.store, directory, `commit ${number} is missing`)
  return actions
}

const download = ({ store, database, scratch, signal }: LogReading, directory: string, number: number) =>
  withTemporary(scratch, async (file) => {
    if (!(await store.getToFile(checkpointKey(directory, number), file, signal)))
      throw unusable(store, directory, `checkpoint ${number} is missing`)
    try {
      return await readCheckpoint(database, file)
    } catch (error) {
      throw unusable(store, directory, `checkpoint ${number} cannot be read (${messageOf(error)})`, error)
    }
  })

/** The log is damaged, or another program has changed it. The store itself works. */
export class UnusableLogError extends ObjectStoreError {}

export const unusable = (
  { address }: Pick<ObjectStore, 'address'>,
  directory: string,
  why: string,
  cause?: unknown,
): UnusableLogError =>
  new UnusableLogError(
    `the Delta log ${address}/${logPrefix(directory)} cannot be continued: ${why}. Delete the log, and the next run writes it anew; the data files stay`,
    { cause },
  )
