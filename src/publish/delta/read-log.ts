/** Reads the Delta log of a table from the object store: its keys and files, a commit, and the state that it describes. */
import pLimit from 'p-limit'
import { messageOf } from '../../base/errors.js'
import {
  type ListedObject,
  listAll,
  type ObjectStore,
  ObjectStoreError,
} from '../../object-store/object-store.js'
import type { Database } from '../../warehouse/connection/database.js'
import { type Action, PROTOCOL, parseActions } from './actions.js'
import { readCheckpoint, withTemporary } from './checkpoint.js'
import { type LogState, stateAfter } from './log.js'

export interface LogFile {
  readonly number: number
  readonly key: string
  readonly ageMs: number | null
}

/** Each in the order of the numbers. */
export interface LogFiles {
  readonly commits: readonly LogFile[]
  readonly checkpoints: readonly LogFile[]
}

/** How long a log shows earlier states, as long as manifests are kept. */
export const LOG_RETENTION_MS = 30 * 24 * 60 * 60 * 1000

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

export const logFilesOf = (objects: readonly ListedObject[]): LogFiles => {
  const matching = (pattern: RegExp): readonly LogFile[] =>
    objects
      .flatMap(({ key, ageMs }) => {
        const digits = pattern.exec(key)?.[1]
        return digits === undefined ? [] : [{ number: Number(digits), key, ageMs }]
      })
      .toSorted((a, b) => a.number - b.number)
  const checkpoints = matching(/\/_delta_log\/(\d{20})\.checkpoint\.parquet$/)
  return { commits: matching(/\/_delta_log\/(\d{20})\.json$/), checkpoints }
}

/** The next commit has the number after the highest: a put to a removed number would succeed again. */
export const nextNumber = ({ commits, checkpoints }: LogFiles): number =>
  Math.max(-1, commits.at(-1)?.number ?? -1, checkpoints.at(-1)?.number ?? -1) + 1

/**
 * The files from which no reader starts any more: those below the newest checkpoint that is older than the retention. The oldest are
 * deleted first, and a file of unknown age ends it, so that no gap appears between retained files.
 */
export const outdatedKeys = ({ commits, checkpoints }: LogFiles): readonly string[] => {
  const isOld = ({ ageMs }: LogFile): boolean => ageMs !== null && ageMs > LOG_RETENTION_MS
  const limit = checkpoints.findLast(isOld)?.number ?? 0
  const below = [...commits, ...checkpoints]
    .filter(({ number }) => number < limit)
    .toSorted((a, b) => a.number - b.number)
  const firstKept = below.findIndex((file) => !isOld(file))
  return (firstKept === -1 ? below : below.slice(0, firstKept)).map(({ key }) => key)
}

export interface LogReading {
  readonly store: ObjectStore
  /** Reads checkpoints; its own rows are not touched. */
  readonly database: Database
  /** A local directory for temporary files. */
  readonly scratch: string
  readonly signal: AbortSignal
}

export const listLog = async (
  { store, signal }: Pick<LogReading, 'store' | 'signal'>,
  directory: string,
): Promise<LogFiles> => logFilesOf(await listAll(store, logPrefix(directory), signal))

/** Null if there is no such commit. */
export const readCommit = async (
  { store, signal }: Pick<LogReading, 'store' | 'signal'>,
  directory: string,
  number: number,
): Promise<readonly Action[] | null> => {
  const found = await store.get(commitKey(directory, number), signal)
  if (found === null) return null
  try {
    return parseActions(found.body.toString())
  } catch (error) {
    throw unusable(store, directory, `commit ${number} is no commit (${messageOf(error)})`, error)
  }
}

/** The state after commit `number`: the newest checkpoint up to it, and the commits after that. */
export const readState = async (
  reading: LogReading,
  directory: string,
  { checkpoints }: LogFiles,
  number: number,
): Promise<LogState> => {
  const checkpoint = checkpoints.findLast((file) => file.number <= number)?.number ?? -1
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

/** The log is damaged, or somebody else has changed it. The store itself answers. */
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
